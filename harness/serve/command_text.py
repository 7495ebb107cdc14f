"""The command that answers the same as the playground: lines for a shell, with the texts in them."""

import shlex

from numaproof.fake_sysfs import preset_names
from numaproof.fake_sysfs.hwloc_string import is_synthetic
from numaproof.fake_sysfs.texts.words import are_words
from numaproof.harness.intake.pasted import Texts

_LONGEST_ARGUMENT = 200  # characters; what is longer goes into a file


def command_text(texts: Texts) -> str:
    """Files by here-documents, and `numaproof explain` with them."""
    files = [("pod.yaml", texts.pod)]
    arguments = ["pod.yaml"]
    bare = texts.machine.strip()
    if "\n" not in bare and len(bare) <= _LONGEST_ARGUMENT and _is_argument(bare):
        arguments += ["--machine", bare]
    else:
        files.append(("machine.yaml", texts.machine))
        arguments += ["--machine", "machine.yaml"]
    for name, text in (("config", texts.config), ("plugins", texts.plugins), ("running", texts.running)):
        if text.strip():
            files.append((f"{name}.yaml", text))
            arguments += [f"--{name}", f"{name}.yaml"]
    if texts.semantics != "current":
        arguments += ["--semantics", texts.semantics]
    written = [_written(name, text) for name, text in files]
    return "\n".join([*written, f"numaproof explain {shlex.join(arguments)}\n"])


def _is_argument(text: str) -> bool:
    return text in preset_names() or is_synthetic(text) or are_words(text)


def _written(name: str, text: str) -> str:
    end = "EOF"
    while end in text.splitlines():
        end += "_"
    return f"cat > {name} <<'{end}'\n{text.rstrip()}\n{end}"
