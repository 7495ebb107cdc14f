"""hwloc's synthetic strings: `pack:2 [numa(memory=64GB)] core:8 pu:2` is a machine, as `lstopo -i` reads it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Cache, CacheKind, Cpu, Machine, NumaNode
from numaproof.fake_sysfs.sizes import parse_size
from numaproof.fake_sysfs.validate import MAX_CPUS
from numaproof.near import did_you_mean

_ALIASES = {
    "numa": "numa",
    "numanode": "numa",
    "node": "numa",
    "pack": "pack",
    "package": "pack",
    "socket": "pack",
    "die": "die",
    "group": "group",
    "core": "core",
    "pu": "pu",
}
_CACHE = re.compile(r"l([1-5])([diu]?)(?:cache)?")
# What hwloc takes levels for when all types are left out, by the number of levels.
_UNTYPED = {
    1: "pu",
    2: "numa pu",
    3: "pack numa pu",
    4: "pack numa core pu",
    5: "pack numa l2u core pu",
    6: "pack numa l2u l1d core pu",
    7: "pack numa l3u l2u l1d core pu",
    8: "pack numa l3u l2u l1d l1i core pu",
}
_TOKEN = re.compile(
    r"""\s*(?: \[(?P<attached>[A-Za-z0-9]+)(?:\((?P<attached_attributes>[^()\]]*)\))?\]
             | (?:(?P<type>[A-Za-z][A-Za-z0-9]*):)?(?P<arity>\d{1,9})(?:\((?P<attributes>[^()]*)\))?
        )\s*""",
    re.VERBOSE,
)
_KINDS: Mapping[str, CacheKind] = {"d": "Data", "i": "Instruction", "u": "Unified"}
_LEVEL_MEMORY = 1 << 30  # of a NUMA level that gives none; an attached node that gives none has none
_INSIDE = ("pack", "die", "core", "pu")


@dataclass(slots=True)
class _Given:
    """The attributes in brackets, and how many of its indexes have been used."""

    values: Mapping[str, str]
    used: int = 0


@dataclass(slots=True)
class _Level:
    type: str
    arity: int
    given: _Given
    attached: list[_Given] = field(default_factory=list)


def is_synthetic(text: str) -> bool:
    """Whether a text is meant as a synthetic string: it begins with a level or an attached node."""
    match = _TOKEN.match(text)
    if not match:
        return False
    name = match["attached"] or match["type"]
    return name is None or _type(name) is not None


def parse_synthetic(text: str) -> Machine:
    """The machine of a synthetic string; NUMA nodes that share their CPUs with a nearer one become CPU-less."""
    levels = _levels(text)
    return _Building(text, levels).machine()


def _levels(text: str) -> list[_Level]:
    root = _Level("machine", 1, _Given({}))
    levels = [root]
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if not match:
            raise _wrong(text, f"cannot be read from {text[position : position + 20]!r} on")
        position = match.end()
        if match["attached"]:
            if _type(match["attached"]) != "numa":
                raise _wrong(text, f"[{match['attached']}]: only NUMA nodes can be attached, as in [numa]")
            levels[-1].attached.append(_attributes(text, match["attached_attributes"], ("memory", "indexes")))
            continue
        name = _type(match["type"]) if match["type"] else ""
        if name is None:
            known = "pack, die, numa, group, l1..l5, core, pu"
            meant = did_you_mean(match["type"], _ALIASES)
            raise _wrong(text, f"{match['type']}: no such level; the known ones are {known}{meant}")
        arity = int(match["arity"])
        if arity < 1:
            raise _wrong(text, f"{match[0].strip()}: a level has at least one object")
        levels.append(_Level(name, arity, _attributes(text, match["attributes"], ("memory", "size", "indexes"))))
    _name_levels(text, levels)
    _check_levels(text, levels)
    return levels


def _type(name: str) -> str | None:
    lower = name.lower()
    cache = _CACHE.fullmatch(lower)
    if cache:
        return f"l{cache[1]}{cache[2] or ('d' if cache[1] == '1' else 'u')}"
    return _ALIASES.get(lower) or ("group" if re.fullmatch(r"group\d*", lower) else None)


def _attributes(text: str, inside: str | None, known: tuple[str, ...]) -> _Given:
    found = {}
    for word in (inside or "").split():
        name, equals, value = word.partition("=")
        if not equals or name not in known:
            raise _wrong(
                text, f"({word}): no such attribute; the known ones are {', '.join(known)}{did_you_mean(name, known)}"
            )
        found[name] = value
    return _Given(found)


def _name_levels(text: str, levels: list[_Level]) -> None:
    nameless = [level for level in levels if not level.type]
    if not nameless:
        return
    if nameless == levels[-1:]:
        levels[-1].type = "pu"
        return
    if len(nameless) != len(levels) - 1:
        raise _wrong(text, "types must be given for all levels or for none (the last one is always pu)")
    if len(nameless) not in _UNTYPED:
        raise _wrong(text, f"{len(nameless)} levels without types: give types beyond {max(_UNTYPED)}")
    for level, name in zip(nameless, _UNTYPED[len(nameless)].split(), strict=True):
        level.type = name


def _check_levels(text: str, levels: list[_Level]) -> None:
    types = [level.type for level in levels]
    if types[-1] != "pu":
        raise _wrong(text, "the last level must be pu")
    for name in set(types) - {"group"}:
        if types.count(name) > 1:
            raise _wrong(text, f"{name}: there can be only one such level")
    order = [name for name in types if name in _INSIDE]
    if order != sorted(order, key=_INSIDE.index):
        raise _wrong(text, f"{' '.join(order)}: a pack holds dies, a die cores, a core pus")
    if "numa" in types and any(level.attached for level in levels):
        raise _wrong(text, "NUMA nodes are either a level or attached, not both")
    total = 1
    for level in levels:
        total *= level.arity
    if total > MAX_CPUS:
        raise _wrong(text, f"{total} CPUs: at most {MAX_CPUS}")


class _Building:
    """One walk over the objects of all levels, from the machine down to its PUs."""

    def __init__(self, text: str, levels: list[_Level]) -> None:
        self.text = text
        self.levels = levels
        self.counts: dict[str, int] = {}  # objects met so far, by type, and within a package
        self.cpus: list[tuple[int, int, int, int]] = []  # id, core, die, package
        self.node_of: dict[int, int] = {}
        self.nodes: list[NumaNode] = []
        self.caches: list[Cache] = []
        if not any(level.attached or level.type == "numa" for level in levels):
            levels[0].attached.append(_Given({"memory": str(_LEVEL_MEMORY)}))

    def machine(self) -> Machine:
        self._walk(0, {"pack": 0, "die": 0})
        cpus = tuple(Cpu(cpu, core, die, package, self.node_of[cpu]) for cpu, core, die, package in self.cpus)
        try:
            return Machine(self.text, cpus, tuple(self.nodes), tuple(self.caches))
        except MachineError as error:
            raise _wrong(self.text, str(error).removeprefix(f"machine {self.text}: ")) from error

    def _walk(self, depth: int, inside: dict[str, int]) -> list[int]:
        """Build one object of a level and all below it; its CPUs."""
        level = self.levels[depth]
        here = dict(inside)
        self._enter(level, here)
        if level.type == "pu":
            cpus = [self._number("pu", level.given)]
            # Without cores in the string, each PU is a core.
            core = here["core"] if "core" in here else self._count(f"core in {here['pack']}")
            self.cpus.append((cpus[0], core, here["die"], here["pack"]))
        else:
            below = self.levels[depth + 1]
            cpus = [cpu for _ in range(below.arity) for cpu in self._walk(depth + 1, here)]
        self._leave(level, cpus)
        return cpus

    def _enter(self, level: _Level, here: dict[str, int]) -> None:
        if level.type == "pack":
            here["pack"] = self._count("pack")
        elif level.type in ("die", "core"):
            here[level.type] = self._count(f"{level.type} in {here['pack']}")

    def _leave(self, level: _Level, cpus: list[int]) -> None:
        if level.type[0] == "l":
            number, kind = int(level.type[1]), level.type[2]
            size = self._size(level.given, "size", 32 << 10 if number == 1 else 256 << 10 << 2 * number)
            self.caches.append(Cache(number, _KINDS[kind], size, tuple(cpus), self._count(level.type)))
        elif level.type == "numa":
            self._add_node(level.given, _LEVEL_MEMORY, cpus)
        for given in level.attached:
            self._add_node(given, 0, cpus)

    def _add_node(self, given: _Given, memory: int, cpus: list[int]) -> None:
        number = self._number("numa", given)
        self.nodes.append(NumaNode(number, self._size(given, "memory", memory)))
        for cpu in cpus:
            self.node_of.setdefault(cpu, number)

    def _size(self, given: _Given, name: str, default: int) -> int:
        if name not in given.values:
            return default
        try:
            return parse_size(given.values[name]) // 1024 * 1024
        except ValueError as error:
            raise _wrong(self.text, f"{name}: {error}") from error

    def _number(self, kind: str, given: _Given) -> int:
        """The id of the next object: from `indexes` where they are given, else counted on."""
        number = self._count(kind)
        if "indexes" not in given.values:
            return number
        words = given.values["indexes"].split(",")
        if not all(word.isascii() and word.isdigit() and len(word) < 8 for word in words):
            raise _wrong(self.text, f"indexes={given.values['indexes']}: write the list out, as in indexes=0,2,1,3")
        if given.used >= len(words):
            raise _wrong(
                self.text, f"indexes={given.values['indexes']}: {len(words)} indexes for more objects than that"
            )
        given.used += 1
        return int(words[given.used - 1])

    def _count(self, what: str) -> int:
        number = self.counts.get(what, 0)
        self.counts[what] = number + 1
        return number


def _wrong(text: str, why: str) -> MachineError:
    return MachineError(f"hwloc string {text!r}: {why}")
