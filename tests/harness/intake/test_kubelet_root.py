"""What operators copy of a kubelet's root, in every form, whole and hostile."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.kubelet_root import KubeletRoot, read_kubelet_root
from tests.harness.intake.state_files import ALL, CPU, MEMORY, cpu_file, device_file, memory_file
from tests.places import short_directory

CONFIG = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
kubeReserved: {cpu: 500m, memory: 1Gi}
"""
ROOT = {
    "config.yaml": CONFIG,
    "cpu_manager_state": cpu_file(),
    "memory_manager_state": memory_file(),
    "device-plugins/kubelet_internal_checkpoint": device_file(),
}
FLAT = {name.rpartition("/")[2]: text for name, text in ROOT.items()}


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


def written(place: Path, files: Mapping[str, str | bytes]) -> str:
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return str(place)


def packed(path: Path, files: Mapping[str, str | bytes | tarfile.TarInfo]) -> bytes:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path.read_bytes()


def linked(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def refusal(path: str | Path) -> str:
    with pytest.raises(UserError) as caught:
        read_kubelet_root(str(path))
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 500
    return text


def values(root: KubeletRoot) -> dict[str, Any]:
    return {key: one.value for key, one in (root.settings or {}).items()}


def is_whole(root: KubeletRoot) -> bool:
    """Whether all of ROOT was read."""
    return (
        values(root)["reservedSystemCPUs"] == "0"
        and root.state.cpus["uid-1", "app"] == {1, 2}
        and root.state.memory["uid-1", "app"][0].nodes == (0,)
        and [one.numa for one in root.state.devices["uid-1", "app"]["example.com/gpu"]] == [(0,), (1,)]
        and root.state.registered == {"example.com/gpu": ("gpu0", "gpu1", "gpu2")}
    )


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


# What must not do any harm


def test_links_that_stay_inside_are_read_and_others_are_not(place: Path) -> None:
    secret = place / "secret"
    secret.write_text(cpu_file())
    copy = place / "copy"
    written(copy, {"..data/config.yaml": CONFIG, "memory_manager_state": memory_file()})
    (copy / "config.yaml").symlink_to("..data/config.yaml")
    (copy / "cpu_manager_state").symlink_to(secret)
    (copy / "kubelet.conf.d").symlink_to("/etc")
    (copy / "circle").symlink_to("circle")
    (copy / "up").symlink_to("..")
    root = read_kubelet_root(str(copy))
    assert values(root)["cpuManagerPolicy"] == "static"
    assert root.state.cpus == {}
    note = f"{copy}: links that lead out of it are not followed: 'cpu_manager_state', 'kubelet.conf.d', 'up'"
    assert note in root.notes


def test_links_in_a_tar(place: Path) -> None:
    files: dict[str, str | bytes | tarfile.TarInfo] = {
        "..data/config.yaml": CONFIG,
        "config.yaml": linked("config.yaml", "..data/config.yaml"),
        "states": linked("states", "real"),
        "real/cpu": cpu_file(),
        "cpu_manager_state": linked("cpu_manager_state", "states/../states/cpu"),
        "memory_manager_state": linked("memory_manager_state", "/etc/passwd"),
        "kubelet_internal_checkpoint": linked("kubelet_internal_checkpoint", "../../etc/passwd"),
        "a": linked("a", "b"),
        "b": linked("b", "a"),
        "hard": linked("hard", "real/cpu", tarfile.LNKTYPE),
    }
    packed(place / "node.tar", files)
    root = read_kubelet_root(str(place / "node.tar"))
    assert values(root)["cpuManagerPolicy"] == "static"
    assert root.state.cpus["uid-1", "app"] == {1, 2}
    assert root.state.memory == {}
    (note,) = [note for note in root.notes if "links" in note]
    assert "'memory_manager_state', 'kubelet_internal_checkpoint'" in note


def test_devices_and_fifos_are_never_opened(place: Path) -> None:
    copy = place / "copy"
    written(copy, {"cpu_manager_state": cpu_file()})
    os.mkfifo(copy / "memory_manager_state")
    os.mkfifo(copy / "other")
    (copy / "config.yaml").symlink_to("/dev/zero")
    answers: list[KubeletRoot] = []
    reading = threading.Thread(target=lambda: answers.append(read_kubelet_root(str(copy))), daemon=True)
    reading.start()
    reading.join(60)
    assert answers
    assert answers[0].state.cpus["uid-1", "app"] == {1, 2}
    for path in (copy / "other", Path("/dev/zero")):
        assert refusal(path) == (
            f"{path}: is neither a directory nor a regular file; give a copy of the kubelet's root"
        )
    special = tarfile.TarInfo("memory_manager_state")
    special.type = tarfile.FIFOTYPE
    packed(place / "node.tar", {"memory_manager_state": special, "cpu_manager_state": cpu_file()})
    assert read_kubelet_root(str(place / "node.tar")).state.cpus


def test_a_tar_that_would_leave_its_place(place: Path) -> None:
    packed(place / "node.tar", {"../../cpu_manager_state": cpu_file(), "memory_manager_state": memory_file()})
    root = read_kubelet_root(str(place / "node.tar"))
    assert (root.state.cpus, root.state.memory_policy) == ({}, "Static")


def test_bombs_and_damage_are_refused(place: Path) -> None:
    bomb = place / "bomb.tar.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(400):
            file.write(bytes(1 << 20))
    assert "unpacks to more than " in refusal(bomb)
    data = packed(place / "node.tar", ROOT)
    for name, content in {
        "cut.tar": data[:1000],
        "cut.tar.gz": gzip.compress(data)[:-20],
        "cut.tar.bz2": bz2.compress(data)[:-20],
        "cut.tar.xz": lzma.compress(data)[:-20],
        "not.tar.gz": gzip.compress(b"nothing of the kind"),
        "node.zip": b"PK\x03\x04" + data,
        "node.tar.zst": b"\x28\xb5\x2f\xfd" + data,
    }.items():
        (place / name).write_bytes(content)
        assert refusal(place / name).startswith(f"{place / name}: "), name


def test_a_huge_file_is_left_and_a_huge_text_refused(place: Path) -> None:
    copy = place / "copy"
    written(copy, {"cpu_manager_state": cpu_file()})
    with (copy / "memory_manager_state").open("wb") as file:
        file.truncate(1 << 40)  # without a block on the disk
    root = read_kubelet_root(str(copy))
    assert f"{copy}/memory_manager_state: is larger than 16 MiB, and is passed over" in root.notes
    assert "is larger than 16 MiB" in refusal(copy / "memory_manager_state")


def test_volumes_and_secrets_are_not_looked_into(place: Path) -> None:
    files = {f"{name}/deep/cpu_manager_state": cpu_file() for name in ("pods", "plugins", "pki")}
    assert "holds nothing of a kubelet" in refusal(written(place, files))


def test_a_directory_of_very_many_entries(place: Path) -> None:
    written(place, {"cpu_manager_state": cpu_file()})
    deep = place / "deep"
    deep.mkdir()
    for number in range(20_100):
        (deep / str(number)).touch()
    root = read_kubelet_root(str(place))
    assert root.state.cpus
    assert f"{place}: has more than 20000 entries; the others are not looked at" in root.notes


def test_a_path_without_anything_of_a_kubelet(place: Path) -> None:
    for path in (place, Path(written(place / "other", {"a.txt": "hello", "b.json": '{"a": 1}'}))):
        assert refusal(path) == (
            f"{path}: holds nothing of a kubelet; looked for cpu_manager_state, memory_manager_state, "
            "device-plugins/kubelet_internal_checkpoint, config.yaml, kubeadm-flags.env, kubelet.conf.d"
        )
    packed(place / "node.tar", {"a.txt": "hello"})
    packed(place / "empty.tar", {})
    for name in ("node.tar", "empty.tar", "other/a.txt", "other/b.json"):
        assert "holds nothing of a kubelet; looked for " in refusal(place / name)
    assert refusal(place / "nowhere") == f"{place}/nowhere: cannot be read (No such file or directory)"
    assert "cannot be read" in refusal("a\0b")


def test_an_empty_file_is_noted(place: Path) -> None:
    root = read_kubelet_root(written(place, {**FLAT, "cpu_manager_state": "\n"}))
    assert root.notes[0] == f"{place}/cpu_manager_state: is empty"


@contextmanager
def unprivileged() -> Iterator[None]:
    """Not as root, who may read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_what_may_not_be_read_is_noted(place: Path) -> None:
    written(place, ROOT)
    place.chmod(0o755)
    (place / "cpu_manager_state").chmod(0)
    (place / "device-plugins").chmod(0)
    with unprivileged():
        root = read_kubelet_root(str(place))
        assert f"{place}/cpu_manager_state: cannot be read (Permission denied); copy it as root" in root.notes
        assert f"{place}/device-plugins: cannot be read (Permission denied); what lies there is not known" in root.notes
        assert "cannot be read (Permission denied)" in refusal(place / "cpu_manager_state")
        assert "cannot be read (Permission denied)" in refusal(place / "device-plugins")


def test_files_that_contradict_each_other(place: Path) -> None:
    # CPU 2 belongs to both pods and CPU 3 is shared, too; of NUMA node 0's 7 GiB pods hold 9, and node 4 is not there.
    cpu = CPU | {"defaultCpuSet": "0,3,5-7", "entries": {"uid-1": {"app": "1-2"}, "uid-2": {"app": "2-3"}}}
    blocks = {
        "uid-1": {"app": [{"numaAffinity": [0], "type": "memory", "size": 9 << 30}]},
        "uid-2": {"app": [{"numaAffinity": [4], "type": "memory", "size": 1 << 30}]},
    }
    memory = MEMORY | {"entries": blocks}
    root = read_kubelet_root(
        written(place, {"cpu_manager_state": cpu_file(cpu), "memory_manager_state": memory_file(memory)})
    )
    assert root.state.notes == (
        "CPUs 2: are held by uid-1/app and uid-2/app; one entry is wrong",
        "CPUs 3: are held by uid-2/app, and in defaultCpuSet; they count as held",
        "NUMA nodes 4: hold memory of uid-2/app; machineState has none such",
        "NUMA nodes 0: pods hold 9 GiB of memory, and machineState has 7 GiB; one of the two is wrong",
    )


@pytest.mark.parametrize("name", ALL)
def test_every_prefix_is_a_value_or_one_line(place: Path, name: str) -> None:
    text = f"{CONFIG}{ALL[name]}"
    path = place / "pasted"
    for length in range(0, len(text), 3):
        path.write_text(text[:length])
        try:
            read_kubelet_root(str(path))
        except UserError as error:
            assert "\n" not in str(error)  # noqa: PT017 (either is right)
