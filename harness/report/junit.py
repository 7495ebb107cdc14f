"""JUnit's XML: one writer for all that we report in it, so that every CI system shows it in the same way.

What is written follows what the systems show. GitLab shows `classname`, `name` and `file`, and of a failure or a skip
its text alone, not its message; the actions for GitHub show the message first, and link `file` and `line`. So a text
holds all that its message says.
"""

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# What XML 1.0 cannot hold, not even escaped: what a program printed may hold anything.
_CONTROL = set(range(0x20)) - {0x09, 0x0A, 0x0D}
_NOT_IN_XML = dict.fromkeys((*_CONTROL, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF), "?")


@dataclass(frozen=True, slots=True)
class Case:
    """A test as JUnit knows it."""

    classname: str
    name: str
    kind: str = ""  # "failure", "error" or "skipped"; empty: it passed
    type: str = ""  # the kind of failure, a word for programs
    message: str = ""  # one line
    text: str = ""
    output: str = ""  # what a passed test has to say
    file: str = ""  # empty: it does not come from a file
    line: int | None = None
    seconds: float | None = None  # None: nobody took its time
    properties: Mapping[str, str] = field(default_factory=dict)


def junit_xml(name: str, cases: Sequence[Case], seconds: float) -> str:
    """A suite of tests as XML."""
    counts = Counter(case.kind for case in cases)
    totals = {
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{seconds:.3f}",
    }
    without_skipped = {key: value for key, value in totals.items() if key != "skipped"}  # no schema has it at the root
    root = ET.Element("testsuites", {"name": name, **without_skipped})
    suite = ET.SubElement(root, "testsuite", {"name": name, **totals})
    for case in cases:
        _add(suite, case)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ET.Element, case: Case) -> None:
    element = ET.SubElement(suite, "testcase", classname=_clean(case.classname), name=_clean(case.name))
    if case.file:
        element.set("file", _clean(case.file))
    if case.line is not None:
        element.set("line", str(case.line))
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if case.properties:
        properties = ET.SubElement(element, "properties")
        for key, value in case.properties.items():
            ET.SubElement(properties, "property", name=_clean(key), value=_clean(value))
    if case.kind:
        words = {"message": _clean(case.message)} | ({"type": case.type} if case.type else {})
        ET.SubElement(element, case.kind, words).text = _clean(case.text)
    if case.output:
        ET.SubElement(element, "system-out").text = _clean(case.output)


def _clean(text: str) -> str:
    return text.translate(_NOT_IN_XML)
