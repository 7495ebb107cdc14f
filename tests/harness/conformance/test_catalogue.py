"""The catalogue holds every check of the files of checks, in a fixed order, each with all that is said of it."""

import ast
import re
from pathlib import Path

from numaproof.harness.conformance import checks
from numaproof.harness.conformance.catalogue import BY_ID, CATALOGUE

FILES = sorted(Path(checks.__file__).parent.glob("*.py"))
AREAS = ["register", "options", "list", "allocate", "preferred", "prestart", "watcher", "draft"]  # as reports have them
# What a check's file may not import: it judges a record, and touches nothing.
IMPURE = {"grpc", "threading", "subprocess", "os", "pathlib", "socket", "time", "tempfile"}


def decorated_functions(path: Path) -> list[tuple[str, str]]:
    """(id, name) of each function of a file that is made a check."""
    return [
        (ast.literal_eval(decorator.args[0]), function.name)
        for function in ast.parse(path.read_text()).body
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "check"
    ]


def test_every_function_that_is_a_check_is_reached_from_the_catalogue() -> None:
    written = {check_id: name for path in FILES for check_id, name in decorated_functions(path)}
    assert {check.id: check.judge.__name__ for check in CATALOGUE} == written
    assert len(written) == sum(len(decorated_functions(path)) for path in FILES), "two checks have one id"
    assert len(BY_ID) == len(CATALOGUE)


def test_ids_are_in_order() -> None:
    keys = []
    for check in CATALOGUE:
        area, number = re.fullmatch(r"dp/([a-z]+)/([1-9]\d*)", check.id).groups()  # type: ignore[union-attr]
        assert check.area == area
        keys.append((AREAS.index(area), int(number)))
    assert keys == sorted(keys)


def test_every_check_says_what_it_wants() -> None:
    for check in CATALOGUE:
        assert all((check.title, check.requirement, check.why, check.remedy, check.sessions, check.about)), check.id


def test_checks_know_no_io() -> None:
    for path in FILES:
        names = {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names])
        }
        assert not names & IMPURE, path.name
