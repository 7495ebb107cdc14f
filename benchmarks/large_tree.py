"""The largest machine as a tree: how much smaller and faster than a plain write, how fast to read. Exit code 1: missed.

All figures are ratios of things measured in the same run, in turns, so that a slow or busy machine slows both.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from numaproof import fake_sysfs
from numaproof.fake_sysfs.content import FileContent, Link

ROUNDS = 3
MACHINE = "big-64"
MOST_BYTES = 0.1  # of a plain write's
LEAST_SPEED_UP = 2.0
MOST_READING_TIME = 1.0  # of lstopo's


def main() -> int:
    machine = fake_sysfs.preset(MACHINE)
    found = fake_sysfs.files(machine)
    with tempfile.TemporaryDirectory(prefix="numaproof-", dir=_roomy_place()) as scratch:
        plain, linked = Path(scratch, "plain"), Path(scratch, "linked")
        writing: dict[str, list[float]] = {"plain": [], "linked": []}
        for _ in range(ROUNDS):
            for name, path, write in (("plain", plain, _write_plainly), ("linked", linked, fake_sysfs.write)):
                shutil.rmtree(path, ignore_errors=True)
                writing[name].append(_seconds(lambda path=path, write=write: write(found, path)))  # type: ignore[misc]
        bytes_ratio = _bytes_on_disk(linked) / _bytes_on_disk(plain)
        shutil.rmtree(plain)
        reading: dict[str, list[float]] = {"ours": [], "lstopo": []}
        for _ in range(ROUNDS):
            reading["ours"].append(_seconds(lambda: fake_sysfs.read(linked)))
            reading["lstopo"].append(_seconds(lambda: _lstopo(linked)))
        if fake_sysfs.read(linked) != machine:
            print("the tree that was read back is another machine's")
            return 1
    speed_up = statistics.median(writing["plain"]) / statistics.median(writing["linked"])
    reading_time = statistics.median(reading["ours"]) / statistics.median(reading["lstopo"])
    print(f"{machine.name}: {len(machine.nodes)} NUMA nodes, {len(machine.cpu_ids)} CPUs, {len(found)} files")
    results = [
        _verdict("bytes on disk / plain", bytes_ratio, bytes_ratio < MOST_BYTES, f"< {MOST_BYTES}"),
        _verdict("plain writing time / ours", speed_up, speed_up >= LEAST_SPEED_UP, f">= {LEAST_SPEED_UP}"),
        _verdict(
            "our reading time / lstopo's", reading_time, reading_time <= MOST_READING_TIME, f"<= {MOST_READING_TIME}"
        ),
    ]
    return 0 if all(results) else 1


def _verdict(what: str, ratio: float, good: bool, wanted: str) -> bool:
    print(f"{what}: {ratio:.3f} (wanted {wanted}){'' if good else ': MISSED'}")
    return good


def _roomy_place() -> str | None:
    """Memory, where there is room for a gigabyte of small files; else where TMPDIR says."""
    memory = "/dev/shm"
    if not os.access(memory, os.W_OK):
        return None
    room = os.statvfs(memory)
    return memory if room.f_bavail * room.f_frsize > 4 << 30 and room.f_favail > 1_000_000 else None


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _write_plainly(found: Mapping[str, FileContent], root: Path) -> None:
    """What one writes without thinking of links: every file opened, written, closed."""
    made: set[str] = set()
    for path, content in found.items():
        full = f"{root}/{path}"
        above = os.path.dirname(full)  # noqa: PTH120
        if above not in made:
            os.makedirs(above, exist_ok=True)  # noqa: PTH103
            made.add(above)
        if isinstance(content, bytes):
            with open(full, "wb") as file:  # noqa: PTH123 (as the other calls: plain paths, nothing slower)
                file.write(content)
        elif isinstance(content, Link):
            os.symlink(content.target, full)  # noqa: PTH211
        else:
            os.makedirs(full, exist_ok=True)  # noqa: PTH103


def _bytes_on_disk(root: Path) -> int:
    """What the files take, each once however many names it has; directories and links are the same in both trees."""
    seen: dict[tuple[int, int], int] = {}
    for directory, _, names in os.walk(root):
        for name in names:
            status = os.lstat(f"{directory}/{name}")
            seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def _lstopo(root: Path) -> None:
    subprocess.run(
        ["lstopo-no-graphics", "--disallowed", "--of", "xml", "-"],
        env={**os.environ, "HWLOC_FSROOT": str(root)},
        stdout=subprocess.DEVNULL,
        check=True,
    )


if __name__ == "__main__":
    sys.exit(main())
