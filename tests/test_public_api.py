"""What `import numaproof` gives: the names that docs/ teaches, each loaded when it is asked for."""

import ast
import re
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path

import pytest

import numaproof

REPOSITORY = Path(__file__).parent.parent
PAGES = [REPOSITORY / "README.md", *(REPOSITORY / "docs").glob("*.md")]
NAMES = sorted(set(numaproof.__all__) - {"__version__"})


def typed_imports() -> dict[str, tuple[str, str]]:
    """Public name -> module and name there, as type checkers are told."""
    tree = ast.parse(Path(numaproof.__file__).read_text())
    [block] = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        str(alias.asname): (str(node.module).removeprefix("numaproof."), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_type_checkers_are_told_what_is_loaded() -> None:
    assert typed_imports() == numaproof._HOMES
    assert set(NAMES) == set(numaproof._HOMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_the_thing_itself(name: str) -> None:
    module, its_name = numaproof._HOMES[name]
    owner = import_module(f"numaproof.{module}")
    assert getattr(numaproof, name) is getattr(owner, its_name)
    assert name in dir(numaproof)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_taught(name: str) -> None:
    """In code: many of these words stand in any text about Kubernetes."""
    page = (REPOSITORY / "docs/library.md").read_text()
    code = re.findall(r"^> (.*)$", page, re.MULTILINE) + re.findall(r"`([^`\n]+)`", page)
    assert any(re.search(rf"\b{name}\b", text) for text in code)


def test_what_is_not_there_is_said_as_python_says_it() -> None:
    with pytest.raises(AttributeError, match="module 'numaproof' has no attribute 'no_such_name'"):
        _ = numaproof.no_such_name


def test_importing_it_loads_nothing_else_of_ours() -> None:
    program = (
        "import sys, numaproof\n"
        "assert [name for name in sys.modules if name.startswith('numaproof.')] == []\n"
        "numaproof.parse_machine\n"
        "assert 'numaproof.harness' not in sys.modules and 'grpc' not in sys.modules\n"
        "from numaproof import *\n"
        "assert MockPlugin and check and deviceplugin_pb2\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_version_is_one() -> None:
    told = [sys.executable, "-m", "numaproof", "--version"]
    printed = subprocess.run(told, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert printed == f"numaproof {numaproof.__version__}\n"
    assert metadata.version("numaproof") == numaproof.__version__


PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_nothing_deeper(page: Path) -> None:
    deeper = [line for line in page.read_text().splitlines() if re.match(r"(> )?\s*(from|import) numaproof\.", line)]
    assert deeper == []
    for block in PYTHON.findall(page.read_text()):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module == "numaproof":
                assert [alias.name for alias in node.names if alias.name not in numaproof.__all__] == []
