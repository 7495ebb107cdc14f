"""A page from a template: one self-contained file, in which no word of a pod, a plugin or a machine is markup."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_FOLDER = "numaproof.harness.report.pages"


def render(template: str, **values: Any) -> str:
    """The text of a template of this folder with these values; lone surrogates, as file names have them, become `?`."""
    text = _environment().get_template(template).render(**values)
    return text.encode("utf-8", "replace").decode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_FOLDER, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["inline"] = inlined
    environment.globals["digest"] = _digest
    return environment


def inlined(name: str) -> Markup:
    """A style or a script of this folder, which goes into the page as it is."""
    return Markup(files(_FOLDER).joinpath(name).read_text(encoding="utf-8"))


def _digest(name: str) -> str:
    """By what a page's Content-Security-Policy knows a script of this folder."""
    return f"sha256-{b64encode(sha256(inlined(name).encode()).digest()).decode()}"
