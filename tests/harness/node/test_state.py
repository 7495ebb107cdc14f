"""The state files: the kubelet's own texts and checksums, and no trust in what is damaged."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.assignment import Assignment
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.harness.node.state import affinity, cpus, devices, memory, pods
from numaproof.harness.node.state.affinity import AffinityState
from numaproof.harness.node.state.cpus import CpuState
from numaproof.harness.node.state.devices import DeviceEntry, DeviceState
from numaproof.harness.node.state.memory import MemoryState
from numaproof.harness.node.state.pods import SavedPod
from numaproof.harness.pods.manifest import pod_from
from numaproof.harness.pods.taints import Taint
from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block, MemoryTable, NodeState
from numaproof.harness.topology.bitmask import NodeMask
from numaproof.harness.topology.hints import TopologyHint
from tests.places import short_directory

# Texts that real kubelets wrote, as found in bug reports and tutorials; their checksums are the judges of ours.
WRITTEN_BY_KUBELETS_CPU = (
    '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    '{"policyName":"static","defaultCpuSet":"0-27","checksum":273146150}',
    '{"policyName":"static","defaultCpuSet":"0,13","entries":{"55784671-0e4e-49e2-b4d6-c0377ca14c81":{"app":"1-12"},'
    '"6c5f3038-adfc-485d-9943-3fd5e825300d":{"app":"14-27"}},"checksum":3558029577}',
)
WRITTEN_BY_KUBELET_MEMORY_NONE = '{"policyName":"None","machineState":{},"checksum":4236770233}'
WRITTEN_BY_KUBELET_MEMORY = (
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,'
    '"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":'
    '[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}'
)
WRITTEN_BY_KUBELET_DEVICES = (
    '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check",'
    '"ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},'
    '"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],'
    '"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}'
)


def write(place: Path, text: str) -> Path:
    path = place / "state"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", WRITTEN_BY_KUBELETS_CPU)
def test_cpu_state_is_written_as_the_kubelet_writes_it(text: str) -> None:
    with short_directory() as place:
        state = cpus.load(write(place, text), json.loads(text)["policyName"])
    assert state is not None
    assert cpus.dump(state) == text


@pytest.mark.parametrize(
    ("text", "policy"), [(WRITTEN_BY_KUBELET_MEMORY_NONE, "None"), (WRITTEN_BY_KUBELET_MEMORY, "static")]
)
def test_memory_state_is_written_as_the_kubelet_writes_it(text: str, policy: str) -> None:
    with short_directory() as place:
        state = memory.load(write(place, text), policy)
    assert state is not None
    assert memory.dump(state) == text


def test_device_state_is_written_as_the_kubelet_writes_it() -> None:
    with short_directory() as place:
        state = devices.load(write(place, WRITTEN_BY_KUBELET_DEVICES))
    assert state is not None
    assert state.entries[0].ids == {-1: ("tegra",)}
    assert devices.dump(state) == WRITTEN_BY_KUBELET_DEVICES


def test_what_is_dumped_is_loaded() -> None:
    cpu = CpuState("static", frozenset({0, 3}), {("u", "c"): frozenset({1, 2})})
    tables = {"memory": MemoryTable(100, 10, 90, 20, 70)}
    held = MemoryState(
        "Static",
        {0: NodeState(1, (0, 1), tables), 10: NodeState(0, (10,), tables)},
        {("u", "c"): (Block((0, 1), "memory", 7),)},
    )
    device = DeviceState((DeviceEntry("u", "c", "a/b", {0: ("x",), 10: ("x", "y")}, b"\x00\xff"),), {"a/b": ("x", "y")})
    with short_directory() as place:
        assert cpus.load(write(place, cpus.dump(cpu)), "static") == cpu
        assert memory.load(write(place, memory.dump(held)), "Static") == held
        assert devices.load(write(place, devices.dump(device))) == device


def test_no_file_is_no_state() -> None:
    with short_directory() as place:
        assert cpus.load(place / "none", "static") is None
        assert memory.load(place / "none", "Static") is None
        assert devices.load(place / "none") is None
        assert pods.load(place) == []


def damaged(text: str) -> list[str]:
    return ["", "{", "[]", "null", "garbage", "{}", text[:-10], text.replace('"checksum":', '"checksum":1'), text + "x"]


@pytest.mark.parametrize("text", [*damaged(WRITTEN_BY_KUBELETS_CPU[2]), WRITTEN_BY_KUBELETS_CPU[1].replace("27", "26")])
def test_a_damaged_cpu_state_is_refused(text: str) -> None:
    with short_directory() as place, pytest.raises(UserError, match=r"state: .*delete this file"):
        cpus.load(write(place, text), "static")


@pytest.mark.parametrize(
    "text",
    [
        *damaged(WRITTEN_BY_KUBELET_MEMORY),
        WRITTEN_BY_KUBELET_MEMORY.replace("512}]", "513}]"),
        WRITTEN_BY_KUBELET_MEMORY.replace('"cells":[]', '"cells":null'),
        WRITTEN_BY_KUBELET_MEMORY.replace('"numaAffinity":[0],', ""),
    ],
)
def test_a_damaged_memory_state_is_refused(text: str) -> None:
    with short_directory() as place, pytest.raises(UserError, match=r"state: .*delete this file"):
        memory.load(write(place, text), "static")


@pytest.mark.parametrize(
    "text",
    [
        *damaged(WRITTEN_BY_KUBELET_DEVICES.replace("Checksum", "checksum")),
        WRITTEN_BY_KUBELET_DEVICES.replace("tegra", "tegrb"),
        WRITTEN_BY_KUBELET_DEVICES.replace("Ch8K", "!!!!"),
        WRITTEN_BY_KUBELET_DEVICES.replace('"DeviceIDs":{"-1":["tegra"]}', '"DeviceIDs":["tegra"]'),
    ],
)
def test_a_damaged_device_state_is_refused(text: str) -> None:
    with short_directory() as place, pytest.raises(UserError, match=r"state: .*delete this file"):
        devices.load(write(place, text))


def test_another_policys_state_is_refused() -> None:
    with short_directory() as place:
        with pytest.raises(UserError, match='configured policy "none" differs from state checkpoint policy "static"'):
            cpus.load(write(place, WRITTEN_BY_KUBELETS_CPU[1]), "none")
        with pytest.raises(UserError, match='configured policy "Static" differs from state checkpoint policy "None"'):
            memory.load(write(place, WRITTEN_BY_KUBELET_MEMORY_NONE), "Static")


@pytest.mark.parametrize("uid", ["u", "..", "a b%c", "x" * 5000, "\u00fc\u0142"])
def test_pods_have_a_file_each_whatever_their_uid(uid: str) -> None:
    manifest = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
    pod = pod_from({"metadata": {"name": "p", "uid": uid}, "spec": manifest["spec"]})
    listed = (Device("x", None, healthy=False), Device("y", (10,), healthy=False), Device("z", (1, 10), healthy=False))
    full = Assignment(
        TopologyHint(NodeMask(3), True), frozenset({1, 7}), (Block((0, 1), "memory", 5),), {"a/b": listed}
    )
    saved = SavedPod(pod, manifest, {"c": full, "d": Assignment()}, {("c", "a/b"): b"\x00\xff"})
    with short_directory() as place:
        pods.save(place, saved)
        assert pods.load(place) == [saved]
        pods.delete(place, uid)
        pods.delete(place, uid)
        assert list(place.iterdir()) == []


def test_a_damaged_pod_file_is_refused_and_a_half_written_one_is_nobodys() -> None:
    manifest = {"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [{"name": "c"}]}}
    with short_directory() as place:
        pods.save(place, SavedPod(pod_from(manifest), manifest, {}, {}))
        (place / ".pod-v.json.new").write_text('{"manif')
        assert [saved.pod.uid for saved in pods.load(place)] == ["u"]
        file = place / "pod-u.json"
        whole = file.read_text()
        for text in (
            "",
            "{}",
            whole[:-1],
            whole.replace('"name":"c"', '"name":"d"'),
            "[]",
            whole.replace('"uid"', '"x"'),
        ):
            file.write_text(text)
            with pytest.raises(UserError, match=r"pod-u.json: .*delete this file"):
                pods.load(place)


DEDICATED = Taint("CPUAffinity", "dedicated", "NoScheduleNoAdmitNoExecute")
AFFINITY = AffinityState((DEDICATED, Taint("own", "", "NoExecute")), {"team": Fraction(5, 2), "default": Fraction(4)})


def summed(content: dict[str, Any]) -> str:
    """A file of ours whose checksum is right, whatever it says: sha256 over sorted JSON."""
    text = json.dumps(content, sort_keys=True)
    return json.dumps(content | {"checksum": hashlib.sha256(text.encode()).hexdigest()})


def test_taints_and_quotas_that_are_dumped_are_loaded() -> None:
    with short_directory() as place:
        for state in (AFFINITY, AffinityState()):
            assert affinity.load(write(place, affinity.dump(state))) == state
        assert affinity.load(place / "none") is None
        same = {"taints": [{"key": "own", "effect": "NoExecute"}], "quotas": {"team": "2500m"}}
        assert affinity.load(write(place, summed(same))) == AffinityState(
            (Taint("own", "", "NoExecute"),), {"team": Fraction(5, 2)}
        )


WHOLE = affinity.dump(AFFINITY)
CORRUPT_AFFINITY = (
    *damaged(WHOLE),
    WHOLE.replace("dedicated", "dedicates"),
    WHOLE.replace('"own"', '"one"'),
    WHOLE.replace("2500m", "2501m"),
    WHOLE.replace("team", "teem"),
    summed({"taints": []}),
    summed({"quotas": {}}),
    summed({"taints": {}, "quotas": {}}),
    summed({"taints": None, "quotas": {}}),
    summed({"taints": ["x"], "quotas": {}}),
    summed({"taints": [{"key": "CPUAffinity", "value": "x", "effect": "NoExecute"}], "quotas": {}}),
    summed({"taints": [{"key": "", "value": "", "effect": "NoExecute"}], "quotas": {}}),
    summed({"taints": [{"key": "own", "value": "", "effect": "x"}], "quotas": {}}),
    summed({"taints": [{"key": "own", "value": 1, "effect": "NoExecute"}], "quotas": {}}),
    summed({"taints": [{"key": "own", "value": "", "effect": "NoExecute"}] * 2, "quotas": {}}),
    summed({"taints": [], "quotas": []}),
    summed({"taints": [], "quotas": None}),
    summed({"taints": [], "quotas": {"team": "x"}}),
    summed({"taints": [], "quotas": {"team": "-1"}}),
    summed({"taints": [], "quotas": {"team": None}}),
    summed({"taints": [], "quotas": {"team": ["1"]}}),
)


@pytest.mark.parametrize("text", CORRUPT_AFFINITY)
def test_damaged_taints_and_quotas_are_refused(text: str) -> None:
    with short_directory() as place, pytest.raises(UserError, match=r"state: .*delete this file"):
        affinity.load(write(place, text))


def test_a_node_does_not_start_on_damaged_taints_and_leaves_them_alone() -> None:
    with short_directory() as root:
        config = node_config({"registerWithTaints": [{"key": "own", "effect": "NoExecute"}]})
        node = Node(config, parse_machine("pack:1 [numa(memory=1GiB)] core:2 pu:1"), root, log=lambda _line: None)
        with node:
            assert node.admit({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}).reason
        whole = (root / "affinity_state").read_text()
        assert json.loads(whole)["taints"] == [{"key": "own", "value": "", "effect": "NoExecute"}]
        for text in CORRUPT_AFFINITY:
            (root / "affinity_state").write_text(text)
            before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
            with pytest.raises(UserError) as caught, node:
                pass
            assert str(caught.value).startswith(f"{root / 'affinity_state'}: ")
            assert "\n" not in str(caught.value)
            assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
        (root / "affinity_state").write_text(whole)
        with node:
            assert [taint.key for taint in node.snapshot().topology.taints] == ["own"]


def test_a_pod_that_waits_has_a_file_and_its_fields_are_trusted_no_more_than_others() -> None:
    spec = {"containers": [{"name": "c"}], "tolerations": [{"key": "CPUAffinity", "operator": "Exists"}]}
    manifest = {"metadata": {"name": "p", "uid": "u"}, "spec": spec}
    saved = SavedPod(replace(pod_from(manifest), numa_memory="strict"), manifest, {}, {}, waits=True)
    with short_directory() as place:
        pods.save(place, saved)
        assert pods.load(place) == [saved]
        file = place / "pod-u.json"
        content = json.loads(file.read_text())
        del content["checksum"]
        faults: list[dict[str, Any]] = [{"waits": 5}, {"waits": "yes"}, {"waits": []}, {"numaMemoryPolicy": "loose"}]
        for wrong in faults:
            file.write_text(summed(content | wrong))
            with pytest.raises(UserError, match=r"pod-u.json: .*delete this file"):
                pods.load(place)
        bound = content | {"manifest": manifest | {"spec": spec | {"cpuAffinity": "x"}}}
        file.write_text(summed(bound))
        with pytest.raises(UserError, match=r"pod-u.json: .*delete this file"):
            pods.load(place)
