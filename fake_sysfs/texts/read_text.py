"""Whatever text a machine is told in, read by the one that knows it."""

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.paste import LARGEST, cleaned
from numaproof.fake_sysfs.texts.completion import completed
from numaproof.fake_sysfs.texts.read_lscpu import read_lscpu
from numaproof.fake_sysfs.texts.read_lscpu_rows import read_lscpu_rows
from numaproof.fake_sysfs.texts.read_numactl import read_numactl
from numaproof.fake_sysfs.texts.told import Told


def read_text(text: str, where: str, name: str) -> Machine | None:
    """The machine that a text tells of: numactl's or lscpu's, or both in one, or lstopo's XML; None: it is no such."""
    if len(text) > LARGEST:
        raise MachineError(f"{where}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    try:
        return _read(cleaned(text, where), name)
    except MachineError as error:
        raise MachineError(f"{where}: {str(error).removeprefix(f'machine {name}: ')}") from None


def _read(text: str, name: str) -> Machine | None:
    told = Told()
    read_numactl(text, told)
    read_lscpu(text, told)
    read_lscpu_rows(text, told)
    return completed(told, name) if told != Told() else None
