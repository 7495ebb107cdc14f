"""The file of --plugins: devices one by one or counted, or the table of nvidia-smi; each fault is a line."""

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.plugins_file import MOST_DEVICES, read_plugins
from numaproof.harness.providers.devices import Device

GPU = "nvidia.com/gpu"


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        read_plugins(text, "f")
    told = str(caught.value)
    assert "\n" not in told
    assert len(told) < 300
    return told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nvidia.com/gpu: [{id: gpu0, numa: [0]}]", {GPU: (Device("gpu0", (0,)),)}),
        ("nvidia.com/gpu:\n- id: gpu0\n  numa: 1\n", {GPU: (Device("gpu0", (1,)),)}),
        ('{"nvidia.com/gpu": [{"id": "gpu0", "numa": [1, 0, 1]}]}', {GPU: (Device("gpu0", (0, 1)),)}),
        ("nvidia.com/gpu: [{id: gpu0}]", {GPU: (Device("gpu0", None),)}),
        ("nvidia.com/gpu: [{id: gpu0, numa: null}]", {GPU: (Device("gpu0", None),)}),
        ("nvidia.com/gpu: [{id: gpu0, numa: []}]", {GPU: (Device("gpu0", ()),)}),  # a kubelet knows both
        ("nvidia.com/gpu: [{id: gpu0, numa: [63], healthy: false}]", {GPU: (Device("gpu0", (63,), False),)}),
        (
            "nvidia.com/gpu: {1: 1, 0: 2}",
            {GPU: (Device("gpu-0-0", (0,)), Device("gpu-0-1", (0,)), Device("gpu-1-0", (1,)))},
        ),
        ('{"nvidia.com/gpu": {"0": 1}}', {GPU: (Device("gpu-0-0", (0,)),)}),
        ("nvidia.com/gpu: {0: 0}", {GPU: ()}),
        ("nvidia.com/gpu: []", {GPU: ()}),
        ("nvidia.com/gpu: {}", {GPU: ()}),
        ("{}", {}),
        (
            "intel.com/sriov: {0: 1}\nexample.com/a: [{id: x}]",
            {"intel.com/sriov": (Device("sriov-0-0", (0,)),), "example.com/a": (Device("x", None),)},
        ),
    ],
)
def test_devices(text: str, expected: dict[str, tuple[Device, ...]]) -> None:
    assert read_plugins(text, "f") == (expected, ())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "",
            "f: does not tell devices by resource; write `nvidia.com/gpu: [{id: gpu0, numa: [0]}]` or `nvidia.com",
        ),
        ("gpu0", "f:1: does not tell devices by resource; write"),
        ("- {id: gpu0}", "f:1: does not tell devices by resource; write"),
        ("a: [", "f:1: is not YAML: "),
        (
            "gpu: {0: 1}",
            "f:1: 'gpu': is not the name of a resource: has 0 slashes, not one; name one such as nvidia.com/gpu",
        ),
        ("a: b\nc: d", "f:1: 'a': is not the name of a resource: "),
        (f"{'a' * 1000}: 1", "f:1: 'aaaaaaaaaa"),
        ("kubernetes.io/gpu: {0: 1}", "f:1: 'kubernetes.io/gpu': is not the name of a resource: "),
        ("a.b/c: {0: 1}\na.b/c: {0: 1}", "f:2: 'a.b/c' is there twice in one mapping; keep one"),
        ("a.b/c: 3", "f:1: a.b/c: 3 does not tell devices; write `nvidia.com/gpu: "),
        ("a.b/c:", "f:1: a.b/c: None does not tell devices; write"),
        ("a.b/c: {64: 1}", "f:1: '64': is not a NUMA node from 0 to 63; write"),
        ("a.b/c: {-1: 1}", "f:1: '-1': is not a NUMA node from 0 to 63"),
        ("a.b/c: {01: 1}", "f:1: '01': is not a NUMA node from 0 to 63"),
        ("a.b/c:\n  node0: 1", "f:2: 'node0': is not a NUMA node from 0 to 63"),
        ("a.b/c: {0: many}", "f:1: a.b/c.0: 'many' is not a number of devices; write 0 or more"),
        ("a.b/c: {0: -1}", "f:1: a.b/c.0: -1 is not a number of devices; write 0 or more"),
        ("a.b/c: {0: 1.5}", "f:1: a.b/c.0: 1.5 is not a number of devices; write 0 or more"),
        ("a.b/c: {0: true}", "f:1: a.b/c.0: True is not a number of devices; write 0 or more"),
        ("a.b/c: {0: 99999999999}", "f:1: a.b/c.0: these are more than 100000 devices in all; tell fewer"),
        ("a.b/c: [gpu0]", "f:1: a.b/c[0]: 'gpu0' is not a device; write {id: gpu0, numa: [0]}"),
        ("a.b/c:\n- id: x\n- numa: [0]", "f:3: a.b/c[1].id: is missing; name each device"),
        ("a.b/c: [{id: ''}]", "f:1: a.b/c[0].id: is missing; name each device"),
        ("a.b/c: [{id: 0}]", "f:1: a.b/c[0].id: 0 is not a text; quote it"),
        ("a.b/c: [{id: x}, {id: x}]", "f:1: a.b/c[1].id: 'x' is there twice; ids differ within a resource"),
        ("a.b/c: [{id: x, nuam: [0]}]", "f:1: 'nuam': unknown key; did you mean numa?"),
        ("a.b/c: [{id: x, foo: [0]}]", "f:1: 'foo': unknown key; known are id, numa, healthy"),
        (
            "a.b/c: [{id: x, numa: [64]}]",
            "f:1: a.b/c[0].numa: 64 is not a NUMA node from 0 to 63; write [0], or drop it",
        ),
        (
            "a.b/c: [{id: x, numa: '0'}]",
            "f:1: a.b/c[0].numa: '0' is not a NUMA node from 0 to 63; write [0], or drop it",
        ),
        ("a.b/c: [{id: x, numa: [true]}]", "f:1: a.b/c[0].numa: True is not a NUMA node"),
        ("a.b/c: [{id: x, numa: {0: 1}}]", "f:1: a.b/c[0].numa: {'0': 1} is not a NUMA node"),
        ("a.b/c: [{id: x, healthy: maybe}]", "f:1: a.b/c[0].healthy: 'maybe' is neither true nor false; write one"),
        ("a.b/c: &a [{id: x}]", "f:1: &a: anchors are not read; drop it"),
        ("GPU 0: NVIDIA H100 (UUID: GPU-1)", "f: is another output of nvidia-smi; give that of `nvidia-smi topo -m`"),
        ("| NVIDIA-SMI 550.1  Driver Version: 550.1 |\n", "f: is another output of nvidia-smi; give that of"),
        ("a" * (4 << 20) + "a", "f: is longer than 4194304 characters; give the file that was meant"),
    ],
)
def test_each_fault_is_a_line_with_its_place(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


def test_devices_of_all_resources_are_counted_together() -> None:
    half = MOST_DEVICES // 2
    found, _notes = read_plugins(f"a.b/c: {{0: {half}}}\na.b/d: {{0: {half}}}", "f")
    assert [len(one) for one in found.values()] == [half, half]
    assert refusal(f"a.b/c: {{0: {half}}}\na.b/d: {{0: {half}, 1: 1}}").startswith("f:2: a.b/d.1: these are more than")
    listed = ", ".join(f"{{id: x{i}}}" for i in range(2))
    assert refusal(f"a.b/c: {{0: {MOST_DEVICES - 1}}}\na.b/d: [{listed}]").startswith("f:2: a.b/d: these are more than")


TOPO = (
    "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tSYS\tPIX\t0-15\t0\tN/A\n"
    "GPU1\tSYS\t X \tSYS\t16-31\tN/A\tN/A\nNIC0\tPIX\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n"
)


def test_the_table_of_nvidia_smi_is_gpus_and_what_is_left_out_is_said() -> None:
    devices, notes = read_plugins(TOPO, "f", {0: range(16), 1: range(16, 32)})
    assert devices == {GPU: (Device("GPU0", (0,)), Device("GPU1", (1,)))}
    assert notes == (
        "f: GPU1: the NUMA node is that of the CPU Affinity",
        "f: mlx5_0: left out, since nvidia-smi does not tell the resource of a NIC",
    )
    devices, _notes = read_plugins(TOPO, "f")
    assert devices == {GPU: (Device("GPU0", (0,)), Device("GPU1", None))}


@pytest.mark.parametrize("text", ["a.b/c:\n- {id: x, numa: [0]}\n- {id: y}\na.b/d: {0: 4, 1: 4}\n", TOPO])
def test_any_beginning_is_read_or_refused_in_a_line(text: str) -> None:
    for length in range(len(text)):
        told: tuple[str, ...] = ()
        try:
            _devices, told = read_plugins(text[:length], "f")
        except UserError as error:
            told = (str(error),)
        assert all(one.startswith("f") and "\n" not in one for one in told)
