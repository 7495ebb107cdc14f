"""The first process of a launched program: makes its mounts, starts it, and ends with everything that it started.

Run as a script by `local.py`, below `unshare` (a namespace of its own) or plainly. Standard input carries the
order, one JSON line, and then lines that change something: `term`, or `show` and a machine. Its end means that
whoever ordered is gone, however that happened: everything is killed. This file imports nothing of ours, so that it
starts quickly.
"""

import contextlib
import ctypes
import errno
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18
MNT_DETACH = 2
# The report's lines when all is well; any other line is a failure.
STARTED = "started"
SHOWN = "shown"
NOT_STARTED = 125  # the exit code for a program that never ran, as docker has it
PR_SET_CHILD_SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)
_shown: list[str] = []  # where the parts of a machine are mounted


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """The system call, with an error that names the target."""
    words = [word.encode() if word else None for word in (source, target, kind, options)]
    if _libc.mount(*words[:3], flags, words[3]) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), f"{source} -> {target}")


def bind(source: str, target: str, read_only: bool) -> None:
    """Show a file or directory at another path, which is made when it does not exist."""
    if not Path(target).exists():
        grow(target, is_directory=Path(source).is_dir())
    mount(source, target, None, MS_BIND | MS_REC)
    if read_only:
        mount(source, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | locked_flags(target))


def locked_flags(path: str) -> int:
    """The flags that a remount in a user namespace must repeat, because the host's mount carries them."""
    flags = os.statvfs(path).f_flag
    return flags & (os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC)


def grow(target: str, is_directory: bool) -> None:
    """Make a path exist, not on the host: a tmpfs over its nearest directory, with what was there bound back."""
    path = Path(target)
    ancestor = next(parent for parent in path.parents if parent.is_dir())
    if ancestor == Path("/"):
        # The root itself cannot be covered without losing the namespace's own mounts.
        raise OSError(
            errno.ENOENT, "its first part does not exist on the host; take a path below one that does", target
        )
    before = os.open(ancestor, os.O_RDONLY | os.O_DIRECTORY)
    try:
        entries = list(os.scandir(before))
        # As open as before, and no more: where all may write, the kernel lets nobody open others' devices to write.
        mode = os.fstat(before).st_mode & 0o7777
        mount("numaproof", str(ancestor), "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode:o}")
        for entry in entries:
            # An entry that vanishes meanwhile is simply not there, as it is on the host.
            with contextlib.suppress(FileNotFoundError):
                restore(before, entry, ancestor)
    finally:
        os.close(before)
    if is_directory:
        path.mkdir(parents=True, mode=0o755)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def restore(before: int, entry: "os.DirEntry[str]", ancestor: Path) -> None:
    """Bind one entry of a covered directory back to where it was."""
    target = ancestor / entry.name
    if entry.is_symlink():
        target.symlink_to(os.readlink(entry.name, dir_fd=before))
        return
    if entry.is_dir(follow_symlinks=False):
        target.mkdir()
    else:
        target.touch()
    mount(f"/proc/self/fd/{before}/{entry.name}", str(target), None, MS_BIND | MS_REC)


def descendants(root: int) -> Iterator[int]:
    """Every process below one, children first asked of the kernel at this moment."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{root}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from descendants(child)


def end_everything(isolated: bool) -> None:
    """Kill all that the program started: in a namespace of its own the kernel does it, else the tree is walked."""
    if isolated:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        return
    while alive := list(descendants(os.getpid())):
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        reap()


def reap() -> dict[int, int]:
    """Exit codes of the children that have ended."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            code = os.waitstatus_to_exitcode(status)
            ended[pid] = code if code >= 0 else 128 - code
    return ended


def surround(order: dict[str, Any]) -> None:
    """Make the mounts of a program in the namespace that we are in."""
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", 0)
    show(order["machine"])
    for one in order["binds"]:
        bind(**one)


def show(parts: list[dict[str, Any]]) -> None:
    """Put a machine in the place of the one that the namespace shows; without parts it is the host's own."""
    while _shown:
        unmount(_shown.pop())
    for part in parts:
        bind(**part)
        _shown.append(part["target"])


def unmount(target: str) -> None:
    """Take away what was mounted last at a path; whoever still reads there reads on."""
    if _libc.umount2(target.encode(), MNT_DETACH) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def start(order: dict[str, Any]) -> tuple[int, str]:
    """Fork the program: its number, and why it could not be executed (empty: it runs)."""
    failure, failure_end = os.pipe()  # both ends close on exec: a silent end means success
    pid = os.fork()
    if pid:
        os.close(failure_end)
        with os.fdopen(failure) as told:
            return pid, told.read()
    command = order["command"]
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and an ignored signal survives exec
        os.setsid()
        if order["cpus"]:
            os.sched_setaffinity(0, order["cpus"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(order["directory"])
        os.execvpe(command[0], command, order["environment"])
    except OSError as error:
        os.write(failure_end, f"cannot start {command[0]}: {error.strerror}".encode())
    os._exit(NOT_STARTED)


def read_line() -> bytes:
    """The order, byte by byte up to its newline: what follows it is for `obey`."""
    line = bytearray()
    while (byte := os.read(0, 1)) not in (b"\n", b""):
        line += byte
    return bytes(line)


def obey(program: int, isolated: bool, report: int) -> None:
    """Carry out what standard input says; kill everything when it ends."""
    with os.fdopen(0, "rb") as lines:
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"show":
                os.write(report, f"{tried(show, json.loads(rest)) or SHOWN}\n".encode())
            else:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(program, signal.SIGTERM)
        end_everything(isolated)
        os._exit(128 + signal.SIGKILL)


def tried(mounting: Callable[[Any], None], what: Any) -> str:
    """Why something cannot be mounted; empty: it was."""
    try:
        mounting(what)
    except OSError as error:
        return f"cannot mount {error.filename}: {error.strerror}"
    return ""


def main() -> int:
    """Carry out the order; the answer is the program's exit code."""
    # A Ctrl-C at the terminal is for whoever ordered, who then ends us in order.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT})
    order = json.loads(read_line())
    isolated, report = order["isolated"], order["report"]
    os.set_inheritable(report, False)
    if isolated:
        if failure := tried(surround, order):
            os.write(report, f"{failure}\n".encode())
            return NOT_STARTED
    else:
        # What the program leaves behind becomes our child, so that the walk of `end_everything` finds it.
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program, failure = start(order)
    os.write(report, f"{failure or STARTED}\n".encode())
    if failure:
        return NOT_STARTED
    threading.Thread(target=obey, args=(program, isolated, report), daemon=True).start()
    while True:
        signal.sigwait({signal.SIGCHLD})
        ended = reap()
        if program in ended:
            end_everything(isolated)
            return ended[program]


if __name__ == "__main__":
    # Not sys.exit: the thread that obeys sits in a read, and nothing is left to be tidied up.
    os._exit(main())
