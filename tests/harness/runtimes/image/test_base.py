"""The image's base: which tool makes it, from where, and the one line when it cannot be made.

The real tools take minutes (test_docker.py builds on what mmdebstrap made): here scripts of their names stand in.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from numaproof.errors import UserError
from numaproof.harness.runtimes.image.base import make_base, mirrors

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a base")


def tool(folder: Path, name: str, script: str) -> None:
    """A program in a folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the PATH, with no more than these tools need."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("unshare", "sh", "cat", "cp", "mkdir", "rm", "tar"):
        (folder / name).symlink_to(str(shutil.which(name)))
    monkeypatch.setenv("PATH", str(folder))
    return folder


@root_only
def test_without_a_tool_it_is_told_which_to_install(tools: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"mmdebstrap or debootstrap, and neither is here: apt-get install mmdebstrap"):
        make_base(tmp_path)


def test_without_root_it_is_told(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from numaproof.errors import UserError\n"
        "from numaproof.harness.runtimes.image.base import make_base\n"
        "if os.geteuid() == 0:\n"
        "    os.setgid(65534)\n"
        "    os.setuid(65534)\n"
        "try:\n"
        "    make_base(Path(sys.argv[1]))\n"
        "except UserError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("the image's base can be made by root only")


@root_only
def test_mmdebstrap_goes_first_and_its_scratch_files_are_below_the_place(tools: Path, tmp_path: Path) -> None:
    tool(tools, "mmdebstrap", 'echo "$TMPDIR" > "$4"')
    tool(tools, "debootstrap", "exit 1")
    archive = make_base(tmp_path)
    assert Path(archive.read_text().strip()).is_relative_to(tmp_path)


@root_only
def test_debootstrap_does_it_where_mmdebstrap_is_missing(tools: Path, tmp_path: Path) -> None:
    tool(tools, "debootstrap", 'mkdir -p "$4/etc" "$4/var/lib/apt/lists"; echo "$@" > "$4/etc/asked"')
    seen = tmp_path / "seen"
    seen.mkdir()
    subprocess.run(["tar", "-xf", make_base(tmp_path), "-C", seen], check=True)
    variant, include, suite, root, mirror = (seen / "etc/asked").read_text().split()
    assert (variant, suite, root) == ("--variant=minbase", "bookworm", str(tmp_path / "root"))
    assert {"python3", "util-linux", "numactl", "hwloc-nox"} <= set(include.removeprefix("--include=").split(","))
    assert mirror.startswith(("http://", "https://"))


@root_only
def test_where_apt_names_no_mirror_debootstrap_takes_its_own(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numaproof.harness.runtimes.image.base._APT", tmp_path / "no-apt")
    tool(tools, "debootstrap", 'mkdir -p "$4/etc" "$4/var/lib/apt/lists"; echo $# > "$4/etc/asked"')
    seen = tmp_path / "seen"
    seen.mkdir()
    subprocess.run(["tar", "-xf", make_base(tmp_path), "-C", seen], check=True)
    assert (seen / "etc/asked").read_text() == "4\n"  # variant, packages, suite, root


@root_only
def test_a_full_disk_is_what_is_told(tools: Path, tmp_path: Path) -> None:
    tool(tools, "mmdebstrap", "echo I: unpacking; cp /dev/zero /dev/full; echo E: setup failed; exit 1")
    with pytest.raises(UserError, match=r"^the image's base cannot be made: cp: .*No space left on device$"):
        make_base(tmp_path)


@root_only
def test_else_the_first_error_is_told(tools: Path, tmp_path: Path) -> None:
    tool(tools, "mmdebstrap", "echo I: unpacking; echo E: no such package; echo E: setup failed; exit 1")
    with pytest.raises(UserError, match=r"^the image's base cannot be made: E: no such package$"):
        make_base(tmp_path)


def test_the_mirror_of_a_paragraph() -> None:
    sources = """
Types: deb
# a comment
URIs: http://mirror.example/security
Suites: bookworm-security
Components: main

Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
"""
    assert list(mirrors(sources)) == ["http://mirror.example/debian"]


def test_the_mirror_of_a_line() -> None:
    sources = """
# deb http://old.example/debian bookworm main
deb https://vendor.example/apt vendor-bookworm main
deb [arch=amd64 signed-by=/a/key.gpg] http://mirror.example/debian bookworm main contrib
deb-src http://mirror.example/sources bookworm main
"""
    assert list(mirrors(sources)) == ["http://mirror.example/debian"]
