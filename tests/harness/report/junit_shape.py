"""What JUnit's schemas have in common (those of Jenkins, Ant and pytest), as a check of a file."""

import re
import xml.etree.ElementTree as ET

_NUMBER, _SECONDS = r"\d+", r"\d+(\.\d+)?"
_COUNTS = {"name": ".+", "tests": _NUMBER, "failures": _NUMBER, "errors": _NUMBER, "time": _SECONDS}
# Element -> attribute -> the form of its value; those behind it are the attributes that must be there.
_ATTRIBUTES = {
    "testsuites": (_COUNTS, ()),
    "testsuite": (_COUNTS | {"skipped": _NUMBER}, ("name", "tests", "failures", "errors")),
    "testcase": (
        {"classname": ".+", "name": ".+", "file": ".+", "line": _NUMBER, "time": _SECONDS},
        ("classname", "name"),
    ),
    "properties": ({}, ()),
    "property": ({"name": ".+", "value": ".*"}, ("name", "value")),
    "failure": ({"message": "[^\n]+", "type": ".+"}, ("message", "type")),
    "error": ({"message": "[^\n]+", "type": ".+"}, ("message", "type")),
    "skipped": ({"message": "[^\n]+", "type": ".+"}, ("message",)),
    "system-out": ({}, ()),
}
_INSIDE = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"properties", "failure", "error", "skipped", "system-out"},
    "properties": {"property"},
}
_OUTCOMES = {"failure", "error", "skipped"}


def check_shape(text: str) -> ET.Element:
    """The root of a JUnit file, which has the shape that its readers agree on, with counts that are true."""
    root = ET.fromstring(text)
    assert root.tag == "testsuites"
    for element in root.iter():
        forms, needed = _ATTRIBUTES[element.tag]
        assert set(needed) <= set(element.attrib) <= set(forms), (element.tag, element.attrib)
        for name, value in element.attrib.items():
            assert re.fullmatch(forms[name], value, re.DOTALL), (element.tag, name, value)
        assert {child.tag for child in element} <= _INSIDE.get(element.tag, set())
        if element.tag == "testcase":
            assert len([child for child in element if child.tag in _OUTCOMES]) <= 1
        if element.tag in _OUTCOMES:
            # Some show the message, and some the text.
            assert str(element.get("message")) in str(element.text)
    for suite in root:
        counted = {"tests": len(suite.findall("testcase"))}
        for count, tag in {"failures": "failure", "errors": "error", "skipped": "skipped"}.items():
            counted[count] = len(suite.findall(f"testcase/{tag}"))
        assert {count: int(str(suite.get(count))) for count in counted} == counted
    keys = [(case.get("classname"), case.get("name"), case.get("file")) for case in root.iter("testcase")]
    assert len(set(keys)) == len(keys)  # of several with one key GitLab shows the first alone
    return root
