"""A machine of a text alone: a preset's name, an hwloc string, a machine file's YAML, a tool's text, words; no path."""

from numaproof.fake_sysfs.catalogue import preset, preset_description, preset_names
from numaproof.fake_sysfs.describe import KEYS, describe
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.hwloc_string import is_synthetic, parse_synthetic
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.paste import cleaned, shown
from numaproof.fake_sysfs.section import load_yaml
from numaproof.fake_sysfs.texts.read_text import read_text
from numaproof.fake_sysfs.texts.words import are_words
from numaproof.near import did_you_mean

FORMS = (
    "paste a machine file, an hwloc string, the text of `numactl -H` or `lscpu`, lstopo's XML,"
    " or a few words such as `2 nodes x 16 CPUs, 125Gi`"
)
_LONGEST_NAME = 60


def machine_of_text(text: str, where: str) -> Machine:
    """The machine that a text tells of; whatever it says, no file is looked for and nothing of this host is read."""
    bare = text.strip()
    if bare in preset_names():
        return preset(bare)
    if not bare:
        raise MachineError(f"{where}: is empty; name a preset, or {FORMS}")
    if "\n" not in bare and is_synthetic(bare) and not are_words(bare):
        return _of_string(bare, where)
    keys = tuple(f"{key}:" for key in KEYS)
    if any(line.startswith(keys) for line in cleaned(text, where).splitlines()):
        return describe(load_yaml(text, where), preset_description)
    name = " ".join(bare.split()) if "\n" not in bare else where
    told = read_text(text, where, name[:_LONGEST_NAME])
    if told is None:
        raise MachineError(
            f"{where}: {shown(bare)} is neither a preset ({', '.join(preset_names())}) nor a text that tells of a"
            f" machine; files and hosts are not read here: {FORMS}{did_you_mean(bare, preset_names())}"
        )
    return told


def _of_string(text: str, where: str) -> Machine:
    try:
        return parse_synthetic(text)
    except MachineError as error:
        raise MachineError(f"{where}: {error}") from None
