"""What operators copy of a kubelet's root, in every form, and how one configuration is made of its files."""

import bz2
import gzip
import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest

from numaproof.harness.intake.kubelet_root import read_kubelet_root
from tests.harness.intake.kubelet_roots import CONFIG, FLAT, ROOT, is_whole, packed, refusal, values, written
from tests.harness.intake.state_files import CPU, cpu_file, device_file, memory_file
from tests.places import short_directory


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


@pytest.mark.parametrize("files", [ROOT, FLAT], ids=["as it lies", "flat"])
@pytest.mark.parametrize("below", ["", "var/lib/kubelet/", "./node-1/var/lib/kubelet/"])
def test_a_directory_and_a_tar_say_the_same(place: Path, files: dict[str, str], below: str) -> None:
    there = {below + name: text for name, text in files.items()}
    directory = read_kubelet_root(written(place / "copy", there))
    assert is_whole(directory)
    assert (directory.notes, directory.state.notes) == ((), ())
    data = packed(place / "node.tar", there)
    for name, content in {
        "node.tar": data,
        "node.tar.gz": gzip.compress(data),
        "node.tar.bz2": bz2.compress(data),
        "node.tar.xz": lzma.compress(data),
        "no-suffix": data,
        "packed": gzip.compress(data),
    }.items():
        (place / name).write_bytes(content)
        archive = read_kubelet_root(str(place / name))
        assert is_whole(archive), name
        assert (archive.notes, archive.state) == ((), directory.state)


def test_a_tar_with_absolute_names(place: Path) -> None:
    packed(place / "node.tar", {f"/var/lib/kubelet/{name}": text for name, text in ROOT.items()})
    assert is_whole(read_kubelet_root(str(place / "node.tar")))


def test_a_text_with_the_files_one_after_the_other(place: Path) -> None:
    # As `cat` prints them: a state file does not end its last line, so the prompt, or the next file, stands behind it.
    cpu, memory, devices = ROOT["cpu_manager_state"], ROOT["memory_manager_state"], FLAT["kubelet_internal_checkpoint"]
    texts = {
        "cat": f"{CONFIG}{cpu}{memory}{devices}",
        "a row": f"{cpu}{memory}{devices}\n{CONFIG}",
        "prompts": f"$ cat config.yaml\n{CONFIG}\n$ sudo cat cpu_manager_state\n{cpu}\n"
        f"$ sudo cat memory_manager_state\n{memory}\n"
        f"$ sudo cat device-plugins/kubelet_internal_checkpoint\n{devices}\n$ ",
        "head": f"==> cpu_manager_state <==\n{cpu}\n==> config.yaml <==\n{CONFIG}\n==> memory_manager_state <==\n"
        f"{memory}\n==> device-plugins/kubelet_internal_checkpoint <==\n{devices}\n",
        "quoted": "".join(f"> {line}\n" for line in f"{CONFIG}\n{cpu}\n{memory}\n{devices}".split("\n")),
        "windows": f"{CONFIG}\n{cpu}\n{memory}\n{devices}\n".replace("\n", "\r\n"),
    }
    for name, text in texts.items():
        path = place / name
        path.write_text(text)
        root = read_kubelet_root(str(path))
        assert is_whole(root), name
        assert (root.notes, root.state.notes) == ((), ()), name
    (place / "utf-16").write_text(texts["cat"], encoding="utf-16")  # `>` in PowerShell
    assert is_whole(read_kubelet_root(str(place / "utf-16")))


@pytest.mark.parametrize("missing", ["cpu_manager_state", "memory_manager_state", "kubelet_internal_checkpoint"])
def test_what_is_missing_is_said(place: Path, missing: str) -> None:
    root = read_kubelet_root(written(place, {name: text for name, text in FLAT.items() if name != missing}))
    (note,) = root.notes
    assert note.endswith(f"{missing} is not there; what it would tell is not known")


def test_a_configuration_alone_and_states_alone(place: Path) -> None:
    root = read_kubelet_root(written(place / "a", {"config.yaml": CONFIG}))
    assert (values(root)["cpuManagerPolicy"], root.state.cpus) == ("static", {})
    root = read_kubelet_root(written(place / "b", {"cpu_manager_state": cpu_file()}))
    assert root.settings is None
    assert root.state.cpu_policy == "static"


def test_other_names_are_known_by_what_they_say(place: Path) -> None:
    names = {"cpu.json": cpu_file(), "mem.txt": memory_file(), "node/dev": device_file(), "kubelet.txt": CONFIG}
    root = read_kubelet_root(written(place, {**names, "notes.txt": "cpuManagerPolicy is static, I think"}))
    assert is_whole(root)
    assert sorted(note.split(": ", 1)[1] for note in root.notes) == [
        "is taken for a kubelet's configuration, by what it says",
        "is taken for a kubelet's cpu_manager_state, by what it says",
        "is taken for a kubelet's kubelet_internal_checkpoint, by what it says",
        "is taken for a kubelet's memory_manager_state, by what it says",
    ]


def test_names_count_before_content(place: Path) -> None:
    old = cpu_file(CPU | {"defaultCpuSet": "1-7", "entries": {"uid-9": {"app": "0"}}})
    root = read_kubelet_root(written(place, {**FLAT, "cpu_manager_state.bak": old, "old": old}))
    assert is_whole(root)
    assert root.notes == ()


def test_the_nearest_counts_and_two_nodes_are_refused(place: Path) -> None:
    other = cpu_file(CPU | {"entries": {"uid-9": {"app": "1"}}})
    root = read_kubelet_root(written(place / "a", {**FLAT, "backup/cpu_manager_state": other}))
    assert is_whole(root)
    assert root.notes == (
        f"{place}/a/backup/cpu_manager_state: is passed over, as {place}/a/cpu_manager_state is nearer to the top",
    )
    both = {"node-1/cpu_manager_state": cpu_file(), "node-2/cpu_manager_state": other}
    assert refusal(written(place / "b", both)) == (
        f"{place}/b/node-2/cpu_manager_state: is of another node than {place}/b/node-1/cpu_manager_state, or of "
        "another time; give the root of one node"
    )
    both = {"node-1/config.yaml": CONFIG, "node-2/config.yaml": CONFIG.replace("static", "none")}
    assert "node-2/config.yaml: is of another node than " in refusal(written(place / "c", both))
    same = {f"node-{number}/{name}": text for number in (1, 2) for name, text in ROOT.items()}
    assert is_whole(read_kubelet_root(written(place / "d", same)))


# How a kubelet makes one configuration of many files. The expectations are of its documentation: drop-ins in the order
# of their names, with .conf at the end; maps are merged, lists and single values replaced; flags win, gate by gate.


def test_drop_ins_are_merged_in_their_order(place: Path) -> None:
    head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
    base = f"""{head}cpuManagerPolicy: none
topologyManagerPolicy: best-effort
kubeReserved: {{cpu: 500m, memory: 1Gi}}
reservedMemory:
- {{numaNode: 0, limits: {{memory: 1Gi}}}}
- {{numaNode: 1, limits: {{memory: 1Gi}}}}
featureGates: {{A: true, B: true}}
"""
    files = {
        "config.yaml": base,
        "kubelet.conf.d/20-b.conf": f"{head}topologyManagerPolicy: restricted\nkubeReserved: {{cpu: '2'}}\n",
        "kubelet.conf.d/10-a.conf": f"{head}topologyManagerPolicy: none\ncpuManagerPolicy: static\n"
        "featureGates: {B: false}\nkubeReserved: {cpu: '1', pid: '100'}\n",
        "kubelet.conf.d/30-c.conf": '{"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1",'
        '"reservedMemory":[{"numaNode":1,"limits":{"memory":"2Gi"}}],"evictionHard":{"nodefs.available":"5%"}}',
        "kubelet.conf.d/40-d.yaml": f"{head}topologyManagerPolicy: single-numa-node\n",
    }
    root = read_kubelet_root(written(place, files))
    assert values(root) == {
        "cpuManagerPolicy": "static",
        "topologyManagerPolicy": "restricted",
        "kubeReserved": {"cpu": "2", "memory": "1Gi", "pid": "100"},
        "reservedMemory": [{"numaNode": 1, "limits": {"memory": "2Gi"}}],
        "featureGates": {"A": True, "B": False},
        # The kubelet's own thresholds are there before drop-ins are.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "5%"},
    }
    assert f"{place}/kubelet.conf.d/40-d.yaml: does not end in .conf: a kubelet passes it over" in root.notes


def test_flags_win_over_files(place: Path) -> None:
    flags = 'KUBELET_KUBEADM_ARGS="--cpu-manager-policy=none --feature-gates=A=false --pod-infra-container-image=x"\n'
    files = {
        "var/lib/kubelet/config.yaml": CONFIG + "featureGates: {A: true, B: true}\n",
        "var/lib/kubelet/kubeadm-flags.env": flags,
        "etc/default/kubelet": "KUBELET_EXTRA_ARGS=--cpu-manager-policy=static --topology-manager-policy=restricted\n",
        "etc/systemd/system/kubelet.service.d/10-kubeadm.conf": "[Service]\nExecStart=/usr/bin/kubelet "
        "$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS --topology-manager-policy=none --topology-manager-scope=pod\n",
    }
    root = values(read_kubelet_root(written(place, files)))
    # kubeadm's unit has the extra arguments last, of which the last counts.
    assert (root["cpuManagerPolicy"], root["topologyManagerPolicy"]) == ("static", "restricted")
    assert root["topologyManagerScope"] == "pod"
    assert root["featureGates"] == {"A": "false", "B": True}


def test_an_environment_without_flags_says_nothing(place: Path) -> None:
    root = read_kubelet_root(written(place, {**ROOT, "kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS=""\n'}))
    assert is_whole(root)
    assert root.notes == ()


def test_configz_is_what_is_in_force(place: Path) -> None:
    configz = '{"kubeletconfig":{"cpuManagerPolicy":"none","topologyManagerPolicy":"none"}}'
    root = read_kubelet_root(written(place, {**ROOT, "configz.json": configz}))
    assert values(root) == {"cpuManagerPolicy": "none", "topologyManagerPolicy": "none"}
    assert root.notes == (f"{place}/configz.json: is the configuration in force; passed over: {place}/config.yaml",)


def test_a_kubeconfig_is_no_configuration(place: Path) -> None:
    files = {**ROOT, "kubelet.conf": "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\n"}
    root = read_kubelet_root(written(place, files))
    assert is_whole(root)
    assert root.notes == (f"{place}/kubelet.conf: is not a kubelet's configuration, and is passed over",)


def test_a_broken_configuration_is_refused(place: Path) -> None:
    text = refusal(written(place, {**ROOT, "config.yaml": 'kind: KubeletConfiguration\nevictionHard: "\n'}))
    assert text.startswith(f"{place}/config.yaml:")


def test_a_named_configuration_that_is_missing(place: Path) -> None:
    root = read_kubelet_root(
        written(place, {"kubeadm-flags.env": 'A="--config=/etc/k.yaml --cpu-manager-policy=static"'})
    )
    assert root.notes == ("the configuration /etc/k.yaml is named by flags, and is not among the files",)
