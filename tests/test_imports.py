"""Imports go one way: the arrows of docs/map.md, checked over every module."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

OURS = Path(__file__).parent.parent / "numaproof"
FOLDERS = ("fake_sysfs", "harness", "plugins_mock", "suites")

# The parts of harness/, from the ground up: a part imports parts of lower ranks, and itself.
RANKS = (
    ("vocabulary", "arguments", "ending", "http", "resource_names", "socket_files", "unix_http", "waiting", "api"),
    ("pods",),
    ("topology",),
    ("providers", "cost"),
    ("decision",),
    ("drawing",),
    ("affinity",),
    ("explain",),
    ("vectors", "scenario"),
    ("node", "runtimes"),
    ("intake",),
    ("rig",),
    ("conformance",),
    ("report",),
    ("serve",),
    ("pytest_session", "pytest_run"),
    ("commands",),
    ("cli",),
    ("warm_commands",),
)
RANK = {part: rank for rank, parts in enumerate(RANKS) for part in parts}

# What stands beside harness/ -> the parts of ours that it may import.
BESIDE = {
    "fake_sysfs": ("fake_sysfs", "errors", "near"),
    "plugins_mock": (
        *("plugins_mock", "fake_sysfs", "errors", "near"),
        *("harness.api", "harness.arguments", "harness.ending", "harness.vocabulary"),
    ),
}

# What deciding must not touch: files, sockets, processes, clocks.
PURE = ("pods", "topology", "providers", "cost", "decision", "affinity", "explain", "drawing")
IMPURE = {
    *("os", "pathlib", "shutil", "tempfile"),
    *("socket", "subprocess", "threading", "asyncio", "signal"),
    *("time", "datetime", "random"),
    *("grpc", "docker"),
}
SEEDED = "random.Random"  # whose numbers follow from the seed alone


def modules(folder: str) -> list[Path]:
    """Every module at or below a name, but for generated ones."""
    found = [*(OURS / folder).rglob("*.py"), (OURS / folder).with_suffix(".py")]
    return sorted(path for path in found if path.exists() and "_pb2" not in path.name)


def imported(path: Path) -> Iterator[str]:
    """The absolute names that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports(*folders: str) -> Iterator[tuple[Path, str]]:
    """Each module of some folders with each name that it imports."""
    for folder in folders:
        found = modules(folder)
        assert found, folder
        yield from ((path.relative_to(OURS), name) for path in found for name in imported(path))


def part_of(name: str) -> str | None:
    """The part of harness/ that an imported name belongs to; None: it is not of harness/."""
    words = name.split(".")
    return words[2] if words[:2] == ["numaproof", "harness"] and len(words) > 2 else None


def test_every_part_has_a_rank() -> None:
    parts = {
        path.stem for path in (OURS / "harness").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__"} == set(RANK)


@pytest.mark.parametrize("part", RANK)
def test_a_part_imports_only_what_lies_below_it(part: str) -> None:
    upward = [
        f"{path} imports {name}"
        for path, name in imports(f"harness/{part}")
        if (other := part_of(name)) is not None and other != part and RANK[other] >= RANK[part]
    ]
    assert upward == []


@pytest.mark.parametrize("folder", BESIDE)
def test_what_stands_beside_the_harness_needs_little_of_it(folder: str) -> None:
    may = tuple(f"numaproof.{prefix}" for prefix in BESIDE[folder])
    wrong = [
        f"{path} imports {name}"
        for path, name in imports(folder)
        if name.startswith("numaproof.") and not f"{name}.".startswith(tuple(f"{one}." for one in may))
    ]
    assert wrong == []


def test_nobody_goes_by_the_bare_name_of_a_folder() -> None:
    """It works in the work tree, and nowhere else."""
    repository = OURS.parent
    others = ("tests", "benchmarks", "tools", "docs")
    paths = [
        *OURS.glob("*.py"),
        *(path for folder in ("harness", "fake_sysfs", "plugins_mock") for path in modules(folder)),
    ]
    paths += [path for folder in others for path in (repository / folder).rglob("*.py")]
    wrong = [f"{path} imports {name}" for path in paths for name in imported(path) if name.split(".")[0] in FOLDERS]
    assert wrong == []


def test_deciding_is_pure() -> None:
    wrong = [
        f"{path} imports {name}"
        for path, name in imports(*(f"harness/{part}" for part in PURE))
        if (name.split(".")[0] in IMPURE and name != SEEDED) or part_of(name) == "api"
    ]
    assert wrong == []


def test_docker_is_imported_in_one_file() -> None:
    everything = imports("harness", "fake_sysfs", "plugins_mock")
    found = {str(path) for path, name in everything if name.split(".")[0] == "docker"}
    assert found == {"harness/runtimes/docker.py"}


def test_docs_import_nothing_deeper_than_the_public_name() -> None:
    examples = (OURS.parent / "docs").rglob("*.py")
    wrong = [
        f"{path.name} imports {name}"
        for path in examples
        for name in imported(path)
        if name.startswith("numaproof.") and name.count(".") > 1
    ]
    assert wrong == []
