"""Copies of a kubelet's root that are hostile, damaged, unreadable or very large: nothing hangs, follows or bursts."""

import bz2
import gzip
import lzma
import os
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.kubelet_root import KubeletRoot, read_kubelet_root
from tests.harness.intake.kubelet_roots import CONFIG, FLAT, ROOT, linked, packed, refusal, values, written
from tests.harness.intake.state_files import ALL, CPU, MEMORY, cpu_file, memory_file
from tests.places import short_directory


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


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
