"""Files of Kubernetes objects as commands take them: Pod manifests, lists of them, and what holds a pod's template."""

import sys
from collections.abc import Iterator
from pathlib import Path

from numaproof.errors import UserError
from numaproof.fake_sysfs import strict_yaml
from numaproof.harness.intake.manifests import pods_among
from numaproof.harness.pods.pod import Pod

LARGEST = 256 << 20  # bytes of a file: the objects of some ten thousand nodes


def pods_of(name: str, *, templates: bool = False, running: bool = False) -> Iterator[Pod]:
    """The pods of a file, or of stdin (`-`), as `pods_among` finds them."""
    return pods_among(documents(name), name, templates=templates, running=running)


def documents(name: str) -> list[strict_yaml.Document]:
    """The documents of a file, or of stdin (`-`)."""
    if name == "-":
        try:
            text = sys.stdin.read(LARGEST + 1)
            text.encode()  # some locales decode what is no text into surrogates, which nobody can write again
        except UnicodeError as error:
            start = f" (byte {error.start})" if isinstance(error, UnicodeDecodeError) else ""
            raise UserError(f"stdin: is not UTF-8 text{start}; write YAML") from None
        if len(text) > LARGEST:
            raise UserError(f"stdin: is longer than {LARGEST} characters; give it in parts, as files")
        return strict_yaml.load_all(text, "stdin")
    return strict_yaml.read_all(Path(name), largest=LARGEST)
