"""A machine in a few words: `2 nodes x 16 CPUs, 125Gi`, `2 sockets, 8 NUMA nodes, 256 CPUs, 1TiB`."""

import re
from dataclasses import dataclass, field

from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.sizes import parse_size
from numaproof.fake_sysfs.texts.completion import completed
from numaproof.fake_sysfs.texts.told import MOST_CPUS, MOST_NODES, Told

_MOST_THREADS = 8  # of a core
LONGEST = 1000  # characters
EXAMPLE = "2 sockets, 4 NUMA nodes, 32 cores with HT, 256GiB"

# From the outside to the inside; what is not a name here is how people write it.
_NOUNS = {
    "socket": r"(?:cpu[ -])?sockets?|packages?|processors?",
    "node": r"numa[ -]?(?:nodes?|domains?|zones?)|nodes?|numas?",
    "core": r"(?:physical |cpu )?cores?",
    "thread": r"threads?",
    "cpu": r"(?:logical |v)?cpus?|vcores?|hyper-?threads|pus?",
}
_NOUN = "|".join(f"(?P<{name}>{words})" for name, words in _NOUNS.items())
_PLAIN_NOUN = "|".join(_NOUNS.values())
_ORDER = [*_NOUNS, "memory"]
_HOLDERS = ("socket", "node")
_MACHINE = "machine"  # that an amount is the whole machine's, said in so many words
_FIGURES = {
    "a": 1,
    "an": 1,
    "one": 1,
    "single": 1,
    "two": 2,
    "dual": 2,
    "three": 3,
    "four": 4,
    "quad": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "ten": 10,
    "twelve": 12,
    "sixteen": 16,
    "thirty-two": 32,
    "sixty-four": 64,
}
_FIGURE = rf"\d{{1,9}}|(?:{'|'.join(_FIGURES)})\b"
_COUNT = re.compile(rf"(?P<count>{_FIGURE})[ -]?(?:{_NOUN})(?![\w:(])")
_LONE_COUNT = re.compile(r"(?P<count>\d{1,9})(?= ?x ?\d)")  # `2x24 cores`
_SIZE = re.compile(r"(?P<size>\d{1,9}(?:\.\d{1,9})?) ?(?P<unit>[kmgt]i?b?)\b(?: (?:of )?(?:memory|ram|mem|dram))?")
_EACH = re.compile(
    rf"(?:per|/|in each|on each|for each|a|each) ?(?P<whose>{_PLAIN_NOUN})(?![\w:(])|(?P<each>each|apiece)\b"
)
_ALL = re.compile(r"(?:in )?(?:total|altogether|overall)\b")
_THREADS = re.compile(
    r"(?P<no>no |without |w/o )?(?:hyper-?threading|smt|ht)\b[ :=-]?(?P<off>off|disabled|on|enabled)?"
)
_TIMES = re.compile(r"x(?![a-z])|times\b")
_OF = re.compile(r"(?:with|w/|of|having|has)\b ?")
_FILLING = re.compile(
    r"[ ,;.:()+&/\n]|and\b|the\b|a\b|machine\b|server\b|host\b|memory\b|ram\b|mem\b|total\b|in\b|all\b|on\b"
)
_BEGINNING = re.compile(rf"(?<![\w.:(/-])(?:{_FIGURE})[ -]?(?:{_PLAIN_NOUN})(?![\w:(]|\.\w)")


@dataclass(slots=True)
class _Said:
    """Amounts, and of what each was said: a noun, the machine, or "" where that is not said."""

    amounts: dict[str, int] = field(default_factory=dict)
    whose: dict[str, str] = field(default_factory=dict)
    outer: str = ""  # the last socket or NUMA node that was counted
    last: str = ""
    hyperthreading: bool | None = None

    def put(self, noun: str, amount: int, whose: str) -> None:
        """Note an amount; nobody says twice what a machine has."""
        if noun in self.amounts:
            raise MachineError(f"tells of {noun}s twice; say it once")
        if amount < 1:
            raise MachineError(f"{amount} {noun}s: a machine has one at least")
        self.amounts[noun], self.whose[noun] = amount, whose
        self.last = noun
        if noun in _HOLDERS:
            self.outer = noun


def are_words(text: str) -> bool:
    """Whether a text is meant as a machine in words: somewhere in it, there is a number of what machines have."""
    return len(text) <= LONGEST and _BEGINNING.search(_plain(text)) is not None


def read_words(text: str, name: str) -> Machine:
    """The machine that the words mean; MachineError names the first word that says nothing of a machine."""
    said = _said(_plain(text))
    told = Told()
    _add_up(said, told)
    return completed(told, name)


def _plain(text: str) -> str:
    return re.sub(r"[ \t]+", " ", text.lower().replace("\u00d7", "x").replace("*", "x")).strip()


def _said(text: str) -> _Said:
    said = _Said()
    position = 0
    joined = ""  # how the next amount belongs to the one before: "x", "of"
    while position < len(text):
        if match := _COUNT.match(text, position):
            noun = next(name for name in _NOUNS if match[name])
            _count(said, noun, _figure(match["count"]), joined)
            joined = ""
        elif match := _SIZE.match(text, position):
            said.put("memory", _bytes(match), said.outer if joined == "x" else "")
            joined = ""
        elif match := _LONE_COUNT.match(text, position):
            said.put("socket", int(match["count"]), "")
        elif match := _EACH.match(text, position):
            _belongs(said, match)
        elif match := _ALL.match(text, position):
            if said.last:
                said.whose[said.last] = _MACHINE
        elif match := _THREADS.match(text, position):
            said.hyperthreading = not match["no"] and match["off"] not in ("off", "disabled")
            joined = ""
        elif match := _TIMES.match(text, position):
            joined = "x"
        elif match := _OF.match(text, position):
            joined = "of"
        elif match := _FILLING.match(text, position):
            joined = "" if match[0] in ",;\n" else joined
        else:
            words = re.split(r"[,;\n]", text[position : position + 40])[0].strip()
            raise MachineError(
                f"{words!r}: says nothing of a machine here; write sockets, NUMA nodes, cores or CPUs, threads and"
                f" memory, as in `{EXAMPLE}`"
            )
        position = match.end()
    return said


def _count(said: _Said, noun: str, amount: int, joined: str) -> None:
    """`2 nodes x 16 CPUs` is `16 CPUs x 2 nodes`, but `with` has the whole first."""
    before = said.last if joined else ""
    if joined == "x" and before and noun in _HOLDERS and _ORDER.index(noun) < _ORDER.index(before):
        said.whose[before], before = noun, ""
    said.put(noun, amount, before)


def _belongs(said: _Said, match: re.Match[str]) -> None:
    """`each` is said of the sockets or NUMA nodes before, `per core` of what it names."""
    if not said.last or not (match["whose"] or said.outer):
        raise MachineError(f"{match[0]!r}: follows nothing that has it; write as in `2 nodes, 16 CPUs each`")
    whose = said.outer
    if match["whose"]:
        whose = next(name for name, words in _NOUNS.items() if re.fullmatch(words, match["whose"]))
    elif whose == said.last:
        raise MachineError(f"{match[0]!r}: say what each has, as in `2 nodes, 16 CPUs each`")
    said.whose[said.last] = whose


def _figure(text: str) -> int:
    return _FIGURES[text] if text in _FIGURES else int(text)


def _bytes(match: re.Match[str]) -> int:
    """A size in whatever case; a lone `g` counts by 1024, `gb` by 1000."""
    unit = match["unit"]
    spelled = unit[0].upper() + ("i" if "i" in unit else "") + ("B" if unit.endswith("b") else "")
    return parse_size(f"{match['size']}{spelled}") // 1024 * 1024


def _add_up(said: _Said, told: Told) -> None:
    """What was said of parts, summed up over the machine; and the CPUs numbered as Linux does."""
    sockets = said.amounts.get("socket")
    nodes = said.amounts.get("node")
    if nodes is not None and said.whose["node"] == "socket":
        nodes *= sockets or 1
    if nodes is None:
        nodes = sockets or 1
        told.assume(f"{nodes} NUMA node{'s' if nodes > 1 else ''}: {'one a socket' if sockets else 'none is told'}")
    if nodes > MOST_NODES:
        raise MachineError(f"{nodes} NUMA nodes: at most {MOST_NODES}")
    _turn_threads_into_cpus(said)
    parts = {"": 1, _MACHINE: 1, "socket": sockets or nodes, "node": nodes}
    cores = _total(said, "core", parts, told)
    cpus = _total(said, "cpu", parts, told)
    threads = _threads(said, cores, cpus, told)
    if cpus is None and cores is None:
        raise MachineError(f"tells neither CPUs nor cores; write as in `{EXAMPLE}`")
    cpus = cpus if cpus is not None else (cores or 0) * threads
    if cpus > MOST_CPUS:
        raise MachineError(f"{cpus} CPUs: at most {MOST_CPUS}")
    if cpus % (nodes * threads):
        raise MachineError(f"{cpus} CPUs of {threads} a core do not go into {nodes} NUMA nodes evenly")
    if sockets and nodes % sockets and (sockets % nodes or cpus // threads % sockets):
        raise MachineError(f"{nodes} NUMA nodes do not go into {sockets} sockets evenly")
    told.sockets, told.threads = sockets, threads
    each = cpus // nodes // threads
    for node in range(nodes):
        firsts = range(node * each, node * each + each)
        told.cpus[node] = tuple(sorted(first + thread * nodes * each for thread in range(threads) for first in firsts))
    memory = _total(said, "memory", parts, told)
    if memory is not None:
        told.memory = dict.fromkeys(range(nodes), memory // nodes // 1024 * 1024)


def _turn_threads_into_cpus(said: _Said) -> None:
    """`112 cores, 224 threads` are 224 CPUs; `2 threads` beside more cores or CPUs are those of one core."""
    number = said.amounts.get("thread", 0)
    cores = said.amounts.get("core", _MOST_THREADS + 1)
    if "cpu" not in said.amounts and said.whose.get("thread") in ("", _MACHINE) and number >= cores:
        said.amounts["cpu"], said.whose["cpu"] = said.amounts.pop("thread"), said.whose.pop("thread")


def _total(said: _Said, noun: str, parts: dict[str, int], told: Told) -> int | None:
    if noun not in said.amounts:
        return None
    whose = said.whose[noun]
    if not whose and said.outer and parts["node"] * parts["socket"] > 1:
        what = {"memory": "memory is that", "cpu": "CPUs are those"}.get(noun, f"{noun}s are those")
        told.assume(f"the {what} of the whole machine, an equal part on each NUMA node")
    if whose not in parts:
        raise MachineError(f"{noun}s per {whose}: say it of a socket, a NUMA node or the machine")
    return said.amounts[noun] * parts[whose]


def _threads(said: _Said, cores: int | None, cpus: int | None, told: Told) -> int:
    """How many threads a core has; where both CPUs and cores are told, that says it."""
    number = said.amounts.get("thread")
    if number is not None and (said.whose["thread"] not in ("core", "") or number > _MOST_THREADS):
        raise MachineError(f"{number} threads: say how many a core has, as in `2 threads per core`, or CPUs")
    if cores is not None and cpus is not None:
        found, rest = divmod(cpus, cores)
        if rest or not found or number not in (None, found):
            raise MachineError(f"{cpus} CPUs and {cores} cores: do not make a whole number of threads a core")
        return found
    if number is not None:
        return number
    if said.hyperthreading is None:
        told.assume("one thread a core: the words do not tell")
    return 2 if said.hyperthreading else 1
