"""`numaproof.explain`: a pod explained to a program, from files and from values alike."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.cli import main
from numaproof.harness.intake.explain_pod import explain

MACHINE = "2 nodes x 8 CPUs, 64Gi"
CONFIG = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "topologyManagerPolicy": "single-numa-node",
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0",
}
PLUGINS = {"example.com/gpu": [{"id": "gpu0", "numa": [0]}, {"id": "gpu1", "numa": [1]}]}


def pod(name: str = "main", **limits: int | str) -> dict[str, Any]:
    containers = [{"name": "app", "resources": {"limits": {"memory": "1Gi", **limits}}}]
    return {"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}


def test_a_pod_that_no_numa_node_can_hold_is_refused_and_what_would_help_is_told() -> None:
    # 10 CPUs of nodes with 8 each: single-numa-node has to refuse it, best-effort would not.
    told = explain(pod(cpu=10), MACHINE, config=CONFIG)
    assert not told.trace.verdict.admitted
    assert told.trace.verdict.reason == "TopologyAffinityError"
    assert told.remedies
    admitted = {cell.policy: cell.trace.verdict.admitted for cell in told.matrix if cell.trace and cell.scope == "pod"}
    assert (admitted["best-effort"], admitted["single-numa-node"]) == (True, False)


def test_devices_and_those_who_hold_them_count() -> None:
    wanted: dict[str, Any] = {"example.com/gpu": 1}
    there = [pod("first", cpu=2, **wanted), pod("second", cpu=2, **wanted)]
    asked = pod(cpu=2, **wanted)
    assert explain(asked, MACHINE, config=CONFIG, plugins=PLUGINS, running=there[:1]).trace.verdict.admitted
    assert not explain(asked, MACHINE, config=CONFIG, plugins=PLUGINS, running=there).trace.verdict.admitted


def test_files_values_and_the_command_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"pod": pod(cpu=10), "config": CONFIG, "plugins": PLUGINS}
    for name, value in files.items():
        (tmp_path / name).write_text(yaml.safe_dump(value))
    by_values = explain(pod(cpu=10), parse_machine(MACHINE), config=CONFIG, plugins=PLUGINS)
    by_files = explain(str(tmp_path / "pod"), MACHINE, config=tmp_path / "config", plugins=tmp_path / "plugins")
    assert by_values.trace.verdict == by_files.trace.verdict
    assert [one.change.text for one in by_values.remedies] == [one.change.text for one in by_files.remedies]
    words = ["--config", str(tmp_path / "config"), "--plugins", str(tmp_path / "plugins")]
    assert main(["explain", str(tmp_path / "pod"), "--machine", MACHINE, *words, "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert by_values.trace.verdict.message in json.dumps(said)


@pytest.mark.parametrize(
    ("arguments", "more", "said"),
    [
        (({"kind": "Pod"}, MACHINE), {}, "pod"),
        (("/no/such/pod.yaml", MACHINE), {}, "/no/such/pod.yaml: cannot be read"),
        ((pod(), "no-such-machine"), {}, "no-such-machine"),
        ((pod(), MACHINE), {"config": {"topologyManagerPolicy": "strictest"}}, "config"),
        ((pod(), MACHINE), {"plugins": {"gpu": 1}}, "plugins"),
        ((pod(), MACHINE), {"running": [pod("a"), pod("a")]}, "pod default/a is there twice"),
        ((pod(cpu={1}), MACHINE), {}, "pod: is not what YAML can hold"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_one_line(arguments: tuple[Any, ...], more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        explain(*arguments, **more)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
