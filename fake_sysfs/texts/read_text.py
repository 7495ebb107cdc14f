"""Whatever text a machine is told in, read by the one that knows it."""

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.paste import LARGEST, cleaned
from numaproof.fake_sysfs.texts.completion import completed
from numaproof.fake_sysfs.texts.read_lscpu import read_lscpu
from numaproof.fake_sysfs.texts.read_lscpu_rows import read_lscpu_rows
from numaproof.fake_sysfs.texts.read_lstopo import read_lstopo
from numaproof.fake_sysfs.texts.read_numactl import read_numactl
from numaproof.fake_sysfs.texts.told import Told
from numaproof.fake_sysfs.texts.topology_xml import is_topology
from numaproof.fake_sysfs.texts.words import are_words, read_words


def read_text(text: str, where: str, name: str) -> Machine | None:
    """The machine of lstopo's XML, of numactl's or lscpu's text or both in one, or of a few words; None: it is no such.

    MachineError, with `where`, when it is one of these, but no machine.
    """
    try:
        bare = _bare(text, where)
        if is_topology(bare):
            return read_lstopo(bare, name)
        told = _told(bare)
        if told != Told():
            return completed(told, name)
        return read_words(bare, name) if are_words(bare) else None
    except MachineError as error:
        what = str(error).removeprefix(f"machine {name}: ").removeprefix(f"{where}: ")
        raise MachineError(f"{where}: {what}") from None


def is_of_a_tool(text: str) -> bool:
    """Whether a text is one that `numactl -H`, `lscpu` or lstopo writes, whole or damaged."""
    try:
        bare = _bare(text, "text")
        return is_topology(bare) or _told(bare) != Told()
    except MachineError:
        return True


def _bare(text: str, where: str) -> str:
    if len(text) > LARGEST:
        raise MachineError(f"{where}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    return cleaned(text, where)


def _told(bare: str) -> Told:
    told = Told()
    read_numactl(bare, told)
    read_lscpu(bare, told)
    read_lscpu_rows(bare, told)
    return told
