"""JSON Schemas of the files that people write, for editors: the readers' own forms, written out."""

from collections.abc import Callable, Mapping
from typing import Any

from numaproof.fake_sysfs.forms import Form, Key, Later, Shape

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def _scenario() -> Form:
    from numaproof.harness.scenario.form import SCENARIO  # noqa: PLC0415 (each kind is loaded where it is asked for)

    return SCENARIO


def _machine() -> Form:
    from numaproof.fake_sysfs.describe import MACHINE  # noqa: PLC0415

    return MACHINE


def _check() -> Form:
    from numaproof.harness.conformance.check_file import CHECK  # noqa: PLC0415

    return CHECK


def _costs() -> Form:
    from numaproof.fake_sysfs.cost_file import COSTS  # noqa: PLC0415

    return COSTS


# Kind of file -> what it is, the page about it, and its form.
KINDS: Mapping[str, tuple[str, str, Callable[[], Form]]] = {
    "scenario": ("a story of pods on a node, for numaproof run", "docs/scenarios.md", _scenario),
    "machine": ("a machine that need not exist, for every --machine", "docs/machines.md", _machine),
    "check": ("numaproof.yaml: a repository's options for numaproof check", "docs/conformance.md", _check),
    "costs": ("costs between instances of resources, for numaproof cost", "docs/costs.md", _costs),
}


def form_of(kind: str) -> Form:
    """The form by which the reader of a kind of file judges."""
    return KINDS[kind][2]()


def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of a kind of file; what has a name stands once, in $defs."""
    about, page, form = KINDS[kind]
    defs: dict[str, Any] = {}
    root = form()
    words = _words(root, defs)
    described = words.pop("description", about)
    return {
        "$schema": DRAFT,
        "$id": f"urn:numaproof:schema:{kind}",
        "title": f"numaproof: {about}",
        "description": f"{described} {page} has more.",
        **words,
        **({"$defs": {name: defs[name] for name in sorted(defs)}} if defs else {}),
    }


def _words(form: Form, defs: dict[str, Any]) -> dict[str, Any]:
    """The words of a form, with all that it holds."""
    made = {word: _plain(wanted, defs) for word, wanted in form.words.items() if wanted != [] or word != "required"}
    if isinstance(form, Shape):
        made["properties"] = {name: _property(key, defs) for name, key in form.keys.items()}
    return made


def _property(key: Key, defs: dict[str, Any]) -> dict[str, Any]:
    made = _plain(key.form, defs)
    about = {"description": _sentence(key.about)}
    if key.default is not None:
        about["default"] = key.default
    return {**made, **about}


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _plain(value: Any, defs: dict[str, Any]) -> Any:
    """A part of a schema, without any of our values in it."""
    if isinstance(value, Later):
        return _plain(value.given(), defs)
    if isinstance(value, Shape):
        if value.name not in defs:
            defs[value.name] = {}  # it may hold itself
            defs[value.name] = _words(value, defs)
        return {"$ref": f"#/$defs/{value.name}"}
    if isinstance(value, Form):
        return _words(value, defs)
    if isinstance(value, Mapping):
        return {key: _plain(one, defs) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one, defs) for one in value]
    return value
