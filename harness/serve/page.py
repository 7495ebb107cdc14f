"""The playground's page: the form, the examples and the presets, as data for its script."""

from functools import cache
from importlib.resources import files
from typing import Any

from numaproof.fake_sysfs import preset, preset_names, strict_yaml
from numaproof.fake_sysfs.sizes import format_bytes
from numaproof.harness.intake.pasted import FIELDS
from numaproof.harness.report.pages.render import render
from numaproof.harness.serve.inputs import LARGEST_BODY
from numaproof.harness.vocabulary import SEMANTICS


def playground(opened: dict[str, str] | None = None) -> str:
    """The page; `opened`: the texts that it starts with, or else the first example's."""
    stories = examples()
    data = {
        "fields": [*FIELDS, "semantics"],
        "examples": [{name: one.get(name, "") for name in FIELDS} for one in stories],
        "opened": opened,
        "largest": LARGEST_BODY,
    }
    return render(
        "playground.html",
        title="numaproof playground",
        stories=stories,
        presets=presets(),
        semantics=SEMANTICS,
        data=data,
    )


@cache
def examples() -> tuple[dict[str, Any], ...]:
    """Stories to start from: a name, why it is one, and the texts."""
    text = files("numaproof.harness.serve").joinpath("examples.yaml").read_text(encoding="utf-8")
    return tuple(strict_yaml.load(text, "examples.yaml").value)


@cache
def presets() -> tuple[tuple[str, str], ...]:
    """Every preset, with what makes it out."""
    found = []
    for name in preset_names():
        machine = preset(name)
        devices = sum(not device.is_bridge for device in machine.devices())
        told = f"{len(machine.nodes)} NUMA nodes, {len(machine.cpu_ids)} CPUs, "
        told += f"{format_bytes(sum(node.memory for node in machine.nodes))}, {devices} devices"
        found.append((name, told))
    return tuple(found)
