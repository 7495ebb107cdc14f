"""How the instances of resources are called: `intel.com/fpga/fpga1`, `cpu/cpu7`, `memory/node1`, and ranges of them."""

import re

from numaproof.errors import UserError

LARGEST_RANGE = 65_536  # instances that one range may stand for: more than any machine has CPUs

_RANGE = re.compile(r"(?P<prefix>.*?)(?P<first>\d+)-(?P<last>\d+)")


def parse_names(text: str) -> tuple[str, tuple[str, ...]]:
    """The resource and the ids of `cpu/cpu0-20` or `intel.com/fpga/fpga1`; a UserError says what is wrong with it."""
    resource, slash, name = text.rpartition("/")
    if not slash or not resource or not name or any(character.isspace() for character in text):
        raise UserError(f'"{text}" names no instance; write RESOURCE/ID, such as cpu/cpu0-3 or example.com/gpu/gpu1')
    found = _RANGE.fullmatch(name)
    if found is None:
        return resource, (name,)
    first, last = int(found["first"]), int(found["last"])
    if last < first:
        raise UserError(f'"{text}": the range runs backwards; write {found["prefix"]}{last}-{first}')
    if last - first >= LARGEST_RANGE:
        raise UserError(f'"{text}": is a range of {last - first + 1} instances; at most {LARGEST_RANGE} are possible')
    # gpu08-11 is gpu08, gpu09, gpu10, gpu11.
    width = len(found["first"]) if found["first"].startswith("0") else 0
    return resource, tuple(f"{found['prefix']}{number:0{width}}" for number in range(first, last + 1))
