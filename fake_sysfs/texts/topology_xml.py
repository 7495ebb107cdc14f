"""The elements of lstopo's XML, read in bounded room: no entities, and of a text that is cut off, what there is."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from numaproof.fake_sysfs.errors import MachineError

_DEEPEST = 200
_MOST_ELEMENTS = 200_000  # a machine of 64 nodes and 4096 CPUs has some 13000
_KEPT = (
    "topology",
    "object",
    "info",
    "page_type",
    "distances",
    "latency",
    "distances2",
    "indexes",
    "u64values",
    "cpukind",
)
_END = "</topology>"


@dataclass(slots=True, eq=False)
class Element:
    """An element, its attributes, what is in it, and its text in pieces."""

    tag: str
    attributes: dict[str, str]
    above: "Element | None"
    children: list["Element"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def get(self, name: str) -> str:
        """An attribute; "" if it is not there."""
        return self.attributes.get(name, "")

    def number(self, name: str) -> int | None:
        """An attribute that is a whole number, not below 0 and of a sensible length; else None."""
        text = self.get(name)
        return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None

    def of(self, tag: str) -> list["Element"]:
        """The elements of one kind right in this one."""
        return [child for child in self.children if child.tag == tag]

    def above_all(self) -> Iterator["Element"]:
        """The elements around this one, the nearest first."""
        element = self.above
        while element is not None:
            yield element
            element = element.above

    def walk(self) -> Iterator["Element"]:
        """This element and everything in it, in the order of the text."""
        ahead = [self]
        while ahead:
            element = ahead.pop()
            yield element
            ahead.extend(reversed(element.children))


def is_topology(text: str) -> bool:
    """Whether a text holds lstopo's XML."""
    return "<topology" in text


def read_elements(text: str) -> tuple[Element, str]:
    """The element `topology`, and why what follows could not be read; "" if all could."""
    start = text.index("<topology")
    end = text.find(_END, start)
    doctype = text.find("<!DOCTYPE", 0, start)
    parser = expat.ParserCreate("utf-8")
    building = _Building()
    parser.StartElementHandler = building.start
    parser.EndElementHandler = building.end
    parser.CharacterDataHandler = building.text
    parser.EntityDeclHandler = _refuse_entity
    parser.buffer_text = True
    body = text[doctype if doctype >= 0 else start : end + len(_END) if end >= 0 else None]
    problem = ""
    try:
        parser.Parse(body.encode(errors="replace"), True)
    except expat.ExpatError as error:
        line = error.lineno + text.count("\n", 0, doctype if doctype >= 0 else start)
        problem = f"line {line}: {expat.ErrorString(error.code)}"
    if building.top is None:
        raise MachineError(f"lstopo's XML cannot be read ({problem or 'it is empty'}); give the whole file")
    return building.top, problem


class _Building:
    """The elements met so far, each hung below the one that it is in."""

    def __init__(self) -> None:
        self.top: Element | None = None
        self.here: Element | None = None
        self.passed_over = 0  # how deep within an element that says nothing of a machine
        self.count = 0
        self.depth = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > _MOST_ELEMENTS:
            raise MachineError(f"lstopo's XML has more than {_MOST_ELEMENTS} elements; no machine has")
        if self.passed_over or tag not in _KEPT:
            self.passed_over += 1
            return
        element = Element(tag, attributes, self.here)
        if self.here is None:
            self.top = element
        else:
            self.here.children.append(element)
        self.here = element
        self.depth += 1
        if self.depth > _DEEPEST:
            raise MachineError(f"lstopo's XML nests more than {_DEEPEST} elements; no machine does")

    def end(self, tag: str) -> None:
        if self.passed_over:
            self.passed_over -= 1
        elif self.here is not None:
            self.here = self.here.above
            self.depth -= 1

    def text(self, text: str) -> None:
        if self.here is not None and self.here.tag in ("indexes", "u64values") and not self.passed_over:
            self.here.texts.append(text)


def _refuse_entity(name: str, *_: object) -> None:
    raise MachineError(f"lstopo's XML declares the entity {name[:40]!r}, which lstopo never does; remove it")
