"""The command that answers the same as the playground: lines for a shell, with the texts in them."""

import re
import shlex
from dataclasses import replace

from numaproof.fake_sysfs import preset_names
from numaproof.fake_sysfs.hwloc_string import is_synthetic
from numaproof.fake_sysfs.paste import cleaned
from numaproof.fake_sysfs.texts.words import are_words
from numaproof.harness.intake.pasted import FIELDS, Texts

_LONGEST_ARGUMENT = 200  # characters; what is longer goes into a file
# What a terminal takes as keys when it is pasted there, all but ends of lines and tabs: a shared link may hold them.
_KEYS = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f]")


def command_text(texts: Texts) -> str:
    """Files by here-documents, and `numaproof explain` with them."""
    texts = replace(texts, **{name: _typed(getattr(texts, name)) for name in FIELDS})  # type: ignore[arg-type]
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


def _typed(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _KEYS.sub("", cleaned(text, "text") if "\x1b" in text else text)


def _is_argument(text: str) -> bool:
    return text in preset_names() or is_synthetic(text) or are_words(text)


def _written(name: str, text: str) -> str:
    end = "EOF"
    while end in text.splitlines():
        end += "_"
    return f"cat > {name} <<'{end}'\n{text.rstrip()}\n{end}"
