"""The commands that people type, in a directory that holds their files."""

import os
import subprocess
import sys
from pathlib import Path

from numaproof.harness.intake.pasted import FIELDS, Texts


def explained(texts: Texts, place: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    """What `numaproof explain` says of texts: of a machine in a line as it is, of all others in files.

    Each file has the name of its field, as messages say it, but for a machine's, which is known by its ending.
    """
    arguments = ["pod"]
    for name in FIELDS:
        text = getattr(texts, name)
        if name == "machine" and "\n" not in text:
            arguments += ["--machine", text]
            continue
        file = "machine.yaml" if name == "machine" else name
        (place / file).write_text(text, encoding="utf-8", newline="")
        if text and name != "pod":
            arguments += [f"--{name}", file]
    command = [sys.executable, "-m", "numaproof", "explain", *arguments, "--semantics", texts.semantics, *more]
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)


def typed(lines: str, place: Path) -> "subprocess.CompletedProcess[str]":
    """What a shell says of lines."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["/bin/sh", "-c", lines],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
