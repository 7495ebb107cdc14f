"""Texts as people paste them: without colours, quote marks and fences, and with the marks of what was left out."""

import re

from numaproof.errors import UserError

LARGEST = 16 << 20  # characters of a text
_MOST_LINES = 1 << 20
SHOWN = 60  # characters that a message repeats of a text

# `...`, `[...]`, `[snip]`, `<snip>`, `<2 more pods>`, `-- snip --`
ELISION = re.compile(
    r"\.{3,}|…+|\[\s?(?:\.{3,}|…|snip|snipped|cut|truncated|omitted)\s?\]|<[^<>\"'{}\[\]\n]{0,60}>"
    r"|-{2,8}\s?(?:snip|cut|8<)[-\s]{0,20}",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\([A-B0-2]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[=>]")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)[\w+.-]*[ \t]*")
_QUOTED = re.compile(r"[ \t]*>[ \t]?")
# `$ `, `# `, `[root@node ~]# `, `core@node:/var/lib$ `, `core@node ~ $ `, `sh-5.1# `, `node:~ # `
_PROMPT = (
    r"(?:\[[\w.-]+@[^\]\n]{0,80}\][#$%>]|[\w.-]{1,80}@[\w.-]{1,80}(?:(?::|[ ])[^\s#$%>]{0,80})?[ ]?[#$%>]"
    r"|(?:sh|bash)-[0-9.]{1,9}[#$]|[\w.-]{1,80}:(?:[~/][^\s#$%>]{0,80}[ ]?)?[#$]|[$%#>])"
)
_COMMANDS = (
    "cat|jq|less|more|head|tail|kubectl|oc|curl|ssh|grep|ps|systemctl|journalctl|talosctl|minikube|docker|nvidia-smi|"
    "numactl|lscpu|python3?"
)
_AT_PROMPT = re.compile(rf"[ \t]*{_PROMPT}(?:[ \t]*|[ \t]+(?:sudo[ \t]+)?(?:{_COMMANDS})\b[^\n]*)")


def cleaned(text: str, where: str) -> str:
    """The text with as many lines as before: colours, fences, quote marks and commands at a prompt are gone."""
    if len(text) > LARGEST:
        raise UserError(f"{where}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    if text.count("\n") > _MOST_LINES or text.count("\r") > _MOST_LINES:
        raise UserError(f"{where}: has more than {_MOST_LINES} lines; give the part that matters")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ").replace("\u00a0", " ").lstrip("\ufeff")
    text = _COLOUR.sub("", text) if "\x1b" in text else text
    lines = text.split("\n")
    for _ in range(4):
        told = [line for line in lines if line.strip()]
        if not told or not all(_QUOTED.match(line) for line in told):
            break
        lines = [_QUOTED.sub("", line, count=1) for line in lines]
    return "\n".join("" if _FENCE.fullmatch(line) or is_prompt(line) else line for line in lines)


def is_prompt(line: str) -> bool:
    """Whether a line is a shell's prompt, alone or with the command that shows what follows."""
    return _AT_PROMPT.fullmatch(line) is not None


def is_elision(text: str) -> bool:
    """Whether a text, blanks aside, is nothing but a mark of something left out."""
    return ELISION.fullmatch(text.strip()) is not None


def shown(text: object) -> str:
    """What a message repeats of a text."""
    told = str(text)
    return repr(told if len(told) <= SHOWN else told[: SHOWN - 3] + "...")
