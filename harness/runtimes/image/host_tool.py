"""Tools of the host that make parts of the image: they end with us, however we end, and fail with a line."""

from pathlib import Path

from numaproof.errors import UserError
from numaproof.harness.runtimes.program import CannotStartError, Program, Runtime
from numaproof.harness.waiting import WaitTimeoutError

_SECONDS = 3600  # a mirror far away is slow, not wrong


def run_tool(runtime: Runtime, command: tuple[str, ...], directory: Path, what: str) -> None:
    """Run a command to its end, with scratch files below `directory`; UserError, which says `what`, when it fails."""
    scratch = directory / "scratch"
    scratch.mkdir(exist_ok=True)
    scratch.chmod(0o755)  # a tool may go on as a user of its own, as apt does
    try:
        with runtime.start(Program(command, environment={"TMPDIR": str(scratch)})) as running:
            code, printed = running.wait(_SECONDS), running.output()
    except (CannotStartError, WaitTimeoutError) as error:
        raise UserError(f"{what}: {error}") from error
    if code != 0:
        raise UserError(f"{what}: {_reason(printed)}")


def _reason(printed: str) -> str:
    """The line that says why: that of a full disk, else the first error, else the last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()] or ["it said nothing"]
    full = [line for line in lines if "No space left on device" in line]
    errors = [line for line in lines if line.startswith(("E:", "ERROR:"))]
    return [*full, *errors, lines[-1]][0]
