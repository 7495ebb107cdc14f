"""Sockets among others that come and go."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from numaproof.harness.socket_files import wipe_sockets
from tests.places import short_directory


def put_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


def test_wiping_takes_sockets_only() -> None:
    with short_directory() as root:
        put_socket(root / "a.sock")
        put_socket(root / ".b")
        (root / "file").write_text("")
        (root / "link").symlink_to("file")
        (root / "dir").mkdir()
        put_socket(root / "dir" / "c.sock")
        wipe_sockets(root)
        assert sorted(path.name for path in root.rglob("*")) == ["c.sock", "dir", "file", "link"]


def test_wiping_survives_owners_that_tidy_up_at_the_same_time() -> None:
    with short_directory() as root, ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            paths = [root / f"{n}.sock" for n in range(200)]
            for path in paths:
                put_socket(path)
            together = threading.Barrier(3)

            def tidy_up(mine: list[Path], together: threading.Barrier = together) -> None:
                together.wait(60)
                for path in mine:
                    path.unlink(missing_ok=True)

            tidying = [pool.submit(tidy_up, mine) for mine in (paths[::2], paths[:0:-2])]
            together.wait(60)
            wipe_sockets(root)
            for done in tidying:
                done.result(timeout=60)
            assert list(root.iterdir()) == []
