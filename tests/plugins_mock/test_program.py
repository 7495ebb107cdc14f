"""A fake plugin as a program: kinds, signals, the health file, and bad input."""

import json
import signal
from pathlib import Path

import pytest

from numaproof.harness import cli
from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.plugins_mock.answers import listed
from numaproof.plugins_mock.choose import machine_devices, machine_links, parse_device, preference, read_devices
from numaproof.plugins_mock.devices import MockDevice
from numaproof.plugins_mock.errors import PluginError
from numaproof.plugins_mock.kinds import KINDS
from tests.places import short_directory
from tests.plugins_mock.kubelet import dial, kubelet
from tests.plugins_mock.serving import SECONDS, program


def add_pci(root: Path, address: str, **files: str) -> Path:
    """A PCI function in a small sysfs tree."""
    directory = root / "sys/bus/pci/devices" / address
    directory.mkdir(parents=True)
    for name, text in files.items():
        (directory / name.removesuffix("_")).write_text(text + "\n")
    return directory


def small_machine(root: Path) -> None:
    """A network card with two virtual functions on different nodes, a GPU pair, an FPGA and a QAT of no known node."""
    card = add_pci(root, "0000:3b:00.0", vendor="0x8086", device="0x1592", class_="0x020000", numa_node="0")
    for number, node in ((1, "0"), (2, "1")):
        function = add_pci(root, f"0000:3b:01.{number}", class_="0x020000", numa_node=node)
        (function / "physfn").symlink_to(card)
        (function / "net" / f"ens{number}").mkdir(parents=True)
    add_pci(root, "0000:06:00.0", class_="0x030200", numa_node="1")
    add_pci(root, "0000:07:00.0", class_="0x030200", numa_node="1")
    add_pci(root, "0000:08:00.0", class_="0x120000", numa_node="1")
    add_pci(root, "0000:09:00.0", class_="0x0b4000", numa_node="-1")
    extra = root / "sys/devices/system/numaproof.json"
    extra.parent.mkdir(parents=True)
    extra.write_text(json.dumps({"links": [["0000:06:00.0", "0000:07:00.0", 4]]}))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("nic", [("0000:3b:01.1", (0,)), ("0000:3b:01.2", (1,))]),
        ("gpu", [("0000:06:00.0", (1,)), ("0000:07:00.0", (1,))]),
        ("fpga", [("0000:08:00.0", (1,))]),
        ("qat", [("0000:09:00.0", None)]),
        ("generic", []),
    ],
)
def test_devices_come_from_the_machine(
    tmp_path: Path, kind: str, expected: list[tuple[str, tuple[int, ...] | None]]
) -> None:
    small_machine(tmp_path)
    assert [(device.id, device.numa) for device in machine_devices(KINDS[kind], tmp_path)] == expected


def test_links_come_from_the_machine(tmp_path: Path) -> None:
    assert machine_links(tmp_path) == {}
    small_machine(tmp_path)
    assert machine_links(tmp_path) == {("0000:06:00.0", "0000:07:00.0"): 4}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_answers_with_absolute_paths_that_differ(kind: str) -> None:
    response = KINDS[kind].respond(KINDS[kind].resource)(["0", "1"])
    paths = [spec.container_path for spec in response.devices]
    assert len(paths) == len(set(paths)) == 2
    assert all(path.startswith("/") for path in paths)
    assert all(spec.host_path == "/dev/null" for spec in response.devices)


def test_a_program_from_registration_to_sigterm() -> None:
    with short_directory() as directory, kubelet(directory) as seen:
        small_machine(directory)
        health, record = directory / "sick", directory / "calls"
        nic = ("nic", "--dir", str(directory), "--sysfs-root", str(directory))
        with program(*nic, "--health-file", str(health), "--record", str(record)) as process:
            request = seen.wait_for(1)
            assert request.resource_name == "intel.com/sriov_netdevice"
            with dial(directory / request.endpoint) as channel:
                stub = api_grpc.DevicePluginStub(channel)
                stream = iter(stub.ListAndWatch(api.Empty(), timeout=SECONDS))
                assert [(d.ID, d.health) for d in next(stream).devices] == [
                    ("0000:3b:01.1", "Healthy"),
                    ("0000:3b:01.2", "Healthy"),
                ]
                health.write_text("0000:3b:01.2\n")
                assert [d.health for d in next(stream).devices] == ["Healthy", "Unhealthy"]
                health.unlink()
                assert [d.health for d in next(stream).devices] == ["Healthy", "Healthy"]
                asked = api.ContainerAllocateRequest(devices_ids=["0000:3b:01.1"])
                [answer] = stub.Allocate(
                    api.AllocateRequest(container_requests=[asked]), timeout=SECONDS
                ).container_responses
                assert answer.envs == {"PCIDEVICE_INTEL_COM_SRIOV_NETDEVICE": "0000:3b:01.1"}
                process.send_signal(signal.SIGTERM)
                output, _ = process.communicate(timeout=SECONDS)
            assert process.returncode == 0, output
            assert not (directory / request.endpoint).exists()
            lines = [json.loads(line) for line in record.read_text().splitlines()]
            assert [line["call"] for line in lines] == ["ListAndWatch", "Allocate"]
            assert lines[1]["request"] == {"containerRequests": [{"devicesIds": ["0000:3b:01.1"]}]}


def test_faults_of_the_end() -> None:
    with short_directory() as directory, kubelet(directory) as seen:
        faults = ("--fault", "Stop=leave-socket", "--fault", "Stop=exit:7")
        with program("generic", "--dir", str(directory), *faults) as process:
            request = seen.wait_for(1)
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)
        assert process.returncode == 7
        assert (directory / request.endpoint).exists()


def test_a_call_that_kills() -> None:
    with short_directory() as directory, kubelet(directory) as seen:
        with program("generic", "--dir", str(directory), "--fault", "Allocate=die:9") as process:
            with dial(directory / seen.wait_for(1).endpoint) as channel:
                api_grpc.DevicePluginStub(channel).Allocate.future(api.AllocateRequest(), timeout=SECONDS).exception()
            process.communicate(timeout=SECONDS)
        assert process.returncode == 9


def test_dry_run_shows_the_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["plugin", "gpu", "--board", "dgx1-v100", "--dry-run"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()][3:5] == [["3", "node0"], ["4", "node1"]]
    assert cli.main(["plugin", "generic", "--count", "5", "--numa", "0,3", "--dry-run"]) == 0
    shown = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert shown == ["node0", "node0", "node0", "node3", "node3"]


@pytest.mark.parametrize(("text", "numa"), [("a", None), ("a=", ()), ("a=1", (1,)), ("a=0,1!", (0, 1))])
def test_a_device_in_words(text: str, numa: tuple[int, ...] | None) -> None:
    assert parse_device(text) == MockDevice("a", numa, not text.endswith("!"))


def test_a_topology_without_nodes_is_not_none(tmp_path: Path) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text("- {id: a}\n- {id: b, numa: []}\n- {id: c, numa: [1]}\n- {id: d, numa: null}\n")
    listed_now = listed(read_devices(path)[0])
    assert [one.HasField("topology") for one in listed_now] == [False, True, True, False]
    assert [[node.ID for node in one.topology.nodes] for one in listed_now] == [[], [], [1], []]


def test_devices_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "devices.yaml"
    path.write_text("- {id: a, numa: [0, 1]}\n- {id: b, healthy: false}\n- {id: 7, numa: 2}\n")
    assert cli.main(["plugin", "generic", "--devices", str(path), "--dry-run"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["a", "node0", "node1"],
        ["b", "unhealthy"],
        ["7", "node2"],
    ]


def test_links_from_a_file(tmp_path: Path) -> None:
    place = tmp_path / "devices.yaml"
    place.write_text("- {id: a, links: {b: 2}}\n- {id: b, links: {c: 1}}\n- {id: c}\n")
    devices, links = read_devices(place)
    prefer = preference("links", links, devices)
    assert prefer is not None
    assert prefer(["a", "b", "c"], [], 2) == [["a", "b"]]
    assert prefer(["b", "c"], [], 2) == [["b", "c"]]
    place.write_text("- {id: a, links: [b]}\n")
    with pytest.raises(PluginError, match=r"devices\.yaml:1: \[0\]\.links: \['b'\] is not a mapping"):
        read_devices(place)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--count", "-1"], "--count -1"),
        (["--numa", "x"], "--numa x"),
        (["--device", "a=zero"], "--device a=zero"),
        (["--board", "dgx9"], "known: dgx1-v100"),
        (["--fault", "Allocate"], "fault 'Allocate'"),
        (["--devices", "{directory}/none.yaml"], "none.yaml: cannot be read"),
        (["--devices", "{directory}/odd.yaml"], "odd.yaml:2: [1]: unknown key 'nuna'"),
        (["--sysfs-root", "{directory}"], "no such directory"),
        (["--dir", "{directory}/none"], "cannot serve there"),
        (["--record", "{directory}/none/record"], "--record"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with short_directory() as directory:
        (directory / "odd.yaml").write_text("- {id: a}\n- {id: b, nuna: [0]}\n")
        given = [argument.format(directory=directory) for argument in arguments]
        where = [] if "--dir" in given else ["--dir", str(directory)]
        assert cli.main(["plugin", "generic", *where, *given]) == 2
        assert sorted(at.name for at in directory.iterdir()) == ["odd.yaml"]
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("numaproof: ")]
    assert len(lines) == 1
    assert said in lines[0]
