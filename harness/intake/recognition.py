"""What a file of a node is: by its name first, by what it says second."""

import re
from collections.abc import Iterator
from typing import Any, Literal

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import cleaned
from numaproof.harness.decision.kubelet_keys import USED
from numaproof.harness.intake.command_line import names_flags
from numaproof.harness.intake.loose_json import object_spans

Kind = Literal["cpu", "memory", "devices", "configz", "config", "drop-in", "flags"]

STATE_FILES: dict[Kind, str] = {
    "cpu": "cpu_manager_state",
    "memory": "memory_manager_state",
    "devices": "device-plugins/kubelet_internal_checkpoint",
}
_NAMES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("cpu", re.compile(r"cpu_manager_state(\.json|\.txt)?")),
    ("memory", re.compile(r"memory_manager_state(\.json|\.txt)?")),
    ("devices", re.compile(r"kubelet_internal_checkpoint(\.json|\.txt)?")),
    ("configz", re.compile(r"(kubelet[-_.]?)?configz(\.json|\.txt)?")),
    (
        "flags",
        re.compile(
            r"kubeadm-flags\.env|kubelet\.env|kubelet[-_.]flags[\w.-]*|kubelet\.service|kubelet\.cmdline|cmdline"
        ),
    ),
    (
        "config",
        re.compile(r"config(\.ya?ml|\.json)|kubelet[-_.]?config(uration)?[\w.-]*|kubelet\.(ya?ml|json|conf)|config"),
    ),
)
_DROP_INS = re.compile(r"(kubelet|config)[\w.-]*\.d")
_SERVICE = re.compile(r"[\w.-]+\.service\.d")
_WORDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("cpu", re.compile(r'"defaultCpuSet"\s*:')),
    ("memory", re.compile(r'"machineState"\s*:')),
    ("devices", re.compile(r'"(?:PodDeviceEntries|RegisteredDevices)"\s*:')),
    ("configz", re.compile(r'"kubeletconfig"\s*:')),
    ("config", re.compile(r"\bkind[\"']?[ \t]*:[ \t]*[\"']?KubeletConfiguration\b")),
    ("flags", re.compile(r"KUBELET_\w*ARGS=|--(?:topology|cpu|memory)-manager-policy\b")),
)
_KEY = re.compile(rf"(?:^|[\s{{,])[\"']?(?:{'|'.join(sorted(USED))})[\"']?\s*:")
_MOST_FILES = 20  # in one text
# `==> cpu_manager_state <==`, which head and tail print
_TITLE = re.compile(r"[ \t]*==> [^\n]{1,300} <==[ \t]*")


def kind_by_name(path: str) -> Kind | None:
    """What the file at a path is, by its name and the directory it lies in."""
    *above, name = path.split("/")
    if any(_SERVICE.fullmatch(one) for one in above):
        return "flags" if name.endswith(".conf") else None
    if any(_DROP_INS.fullmatch(one) for one in above):
        return "drop-in"
    if name == "kubelet" and above[-1:] in (["default"], ["sysconfig"]):
        return "flags"
    found = next((kind for kind, pattern in _NAMES if pattern.fullmatch(name)), None)
    return "config" if found is None and above[-1:] == ["config"] else found


def kinds_by_words(text: str) -> set[Kind]:
    """What a text may be, or hold, by the words in it."""
    return {kind for kind, pattern in _WORDS if pattern.search(text)}


def is_configuration(text: str) -> bool:
    """Whether a text has words of a kubelet's configuration, so that a fault in it matters."""
    return "KubeletConfiguration" in text or _KEY.search(text) is not None


def flags_order(path: str) -> tuple[object, ...]:
    """Flags in the order in which a kubelet gets them: kubeadm's unit names /etc/default/kubelet last."""
    *above, name = path.split("/")
    ranks = (name.endswith(".service"), any(one.endswith(".service.d") for one in above), name != "kubelet")
    return (ranks.index(True) if True in ranks else len(ranks), path.split("/"))


def parts_of(text: str, where: str) -> Iterator[tuple[Kind, str]]:
    """The files that a text holds one after the other: every state file by itself, then all that is left.

    Each is as many lines into its text as it is in the whole.
    """
    text = cleaned(text, where)
    left, end, found = [], 0, 0
    for value, begin, stop in object_spans(text, where):
        kind = _kind_of(value)
        if kind is not None:
            found += 1
            if found > _MOST_FILES:
                raise UserError(f"{where}: holds more than {_MOST_FILES} state files; give those of one node")
            yield kind, "\n" * text.count("\n", 0, begin) + text[begin:stop]
            left += [text[end:begin], "\n" * text.count("\n", begin, stop)]
            end = stop
    rest = "\n".join("" if _TITLE.fullmatch(line) else line for line in "".join([*left, text[end:]]).split("\n"))
    if not found:  # the beginning may be missing: then there are no objects
        state = [kind for kind, _pattern in _WORDS[:3] if kind in kinds_by_words(rest)]
        if state:
            yield state[0], rest
            return
    if _KEY.search(rest) or '"kubeletconfig"' in rest or names_flags(rest):
        yield "configz" if '"kubeletconfig"' in rest else "config", rest


def _kind_of(value: Any) -> Kind | None:
    if not isinstance(value, dict):
        return None
    if "defaultCpuSet" in value:
        return "cpu"
    if "machineState" in value:
        return "memory"
    if not value.keys().isdisjoint(("PodDeviceEntries", "RegisteredDevices", "Data")):
        return "devices"
    if "policyName" in value and value.keys() <= {"policyName", "entries", "checksum", "data", "dataChecksum"}:
        return "memory" if str(value["policyName"])[:1].isupper() else "cpu"  # Static, None; static, none
    return None
