"""Imports go one way: the arrows of docs/map.md, checked over every module."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
OURS = ("numaproof", "fake_sysfs", "harness", "plugins_mock", "suites", "tests", "benchmarks")
PURE = ("harness/topology", "harness/providers", "harness/pods")

# Folder -> the prefixes of our own modules that it may import.
MAY_IMPORT = {
    "fake_sysfs": ("fake_sysfs",),
    "plugins_mock": ("plugins_mock", "harness.api", "harness.vocabulary"),
    "harness/topology": ("harness.topology", "harness.pods", "harness.errors", "harness.vocabulary"),
    "harness/pods": ("harness.pods", "harness.errors", "harness.vocabulary"),
    "harness/providers": (
        "harness.providers",
        "harness.topology",
        "harness.pods",
        "harness.errors",
        "harness.vocabulary",
    ),
    "harness": ("harness", "fake_sysfs", "plugins_mock", "pytest_plugin", "__version__"),
}
# What deciding must not touch: files, sockets, processes, clocks.
IMPURE = {
    "os",
    "pathlib",
    "socket",
    "subprocess",
    "threading",
    "time",
    "grpc",
    "docker",
    "asyncio",
    "tempfile",
    "shutil",
}


def imported(path: Path) -> Iterator[str]:
    """The absolute names of the modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def modules(folder: str) -> list[Path]:
    """Every module at or below a place, given without its suffix."""
    place = REPOSITORY / folder
    return [*sorted(place.rglob("*.py")), *([place.with_suffix(".py")] if place.with_suffix(".py").exists() else [])]


def is_ours(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in OURS


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    if not name.startswith("numaproof"):
        return False  # the bare folder's name: it works in the work tree only
    name = name.removeprefix("numaproof").removeprefix(".")
    if not name:
        return True
    return any(name == prefix or name.startswith(prefix + ".") or prefix.startswith(name + ".") for prefix in prefixes)


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_lies_below_it(folder: str) -> None:
    paths = modules(folder)
    assert paths
    wrong = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in paths
        for name in imported(path)
        if is_ours(name) and not within(name, MAY_IMPORT[folder])
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", PURE)
def test_deciding_is_pure(folder: str) -> None:
    paths = modules(folder)
    assert paths
    wrong = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in paths
        for name in imported(path)
        if name.split(".")[0] in IMPURE or name.startswith("numaproof.harness.api")
    ]
    assert wrong == []


def test_nobody_imports_the_suites() -> None:
    wrong = [
        str(path.relative_to(REPOSITORY))
        for folder in ("fake_sysfs", "harness", "plugins_mock")
        for path in modules(folder)
        if any(name.startswith("numaproof.suites") for name in imported(path))
    ]
    assert wrong == []
