"""The explanation of a pod on a node, for programs: what `numaproof explain` takes as files, as values too."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine, parse_machine
from numaproof.fake_sysfs.strict_yaml import load_all
from numaproof.harness.explain.explanation import Explanation
from numaproof.harness.intake.configuration import read_configuration
from numaproof.harness.intake.manifests import distinct, pods_among, the_pod
from numaproof.harness.intake.plugins_file import read_plugins
from numaproof.harness.intake.question import Question, answer
from numaproof.harness.intake.text_file import text_of
from numaproof.harness.pods.pod import Pod
from numaproof.harness.vocabulary import Semantics

Told: TypeAlias = Mapping[str, Any] | str | Path  # what a file holds, or the file


def explain(
    pod: Told,
    machine: Machine | str = "host",
    *,
    config: Told | None = None,
    plugins: Told | None = None,
    running: Sequence[Told] = (),
    semantics: Semantics = "current",
) -> Explanation:
    """Why a node admits or refuses a pod, and what would help; what is not told is assumed as `numaproof explain` does.

    `pod` and `running` are manifests, `config` is a KubeletConfiguration, `plugins` devices by resource; a machine is
    what `parse_machine` takes. Bad input is a UserError.
    """
    node = parse_machine(machine) if isinstance(machine, str) else machine
    found = the_pod(_pods(pod, "pod"), _name(pod, "pod"), "as `running`")
    settings = read_configuration(*_text(config, "config"))[0] if config is not None else None
    devices = read_plugins(*_text(plugins, "plugins"), node.cpus_by_node())[0] if plugins is not None else None
    others = (one for told in running for one in _pods(told, "running", running=True))
    there = tuple(distinct(others, "running", "give each a name and uid of its own"))
    return answer(Question(found, node, settings, devices, there, semantics=semantics)).explanation


def _pods(told: Told, name: str, *, running: bool = False) -> list[Pod]:
    text, place = _text(told, name)
    return list(pods_among(load_all(text, place), place, templates=True, running=running))


def _text(told: Told, name: str) -> tuple[str, str]:
    """A text that the readers take, and what messages call it."""
    if not isinstance(told, Mapping):
        return text_of(str(told)), str(told)
    try:
        return json.dumps(told), name
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{name}: is not what YAML can hold ({error}); give mappings, lists, texts and numbers"
        ) from None


def _name(told: Told, name: str) -> str:
    return name if isinstance(told, Mapping) else str(told)
