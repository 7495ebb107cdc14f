"""Our kinds of files with their readers, and files of each kind that have every key."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.fake_sysfs.cost_file import read_costs
from numaproof.fake_sysfs.strict_yaml import read
from numaproof.harness.arguments import Parser
from numaproof.harness.commands.check import add_arguments
from numaproof.harness.conformance.check_file import add_file_options
from numaproof.harness.scenario.parse import parse_scenario

REPOSITORY = Path(__file__).parents[3]
HERE = Path(__file__).parent


def _read_check(path: Path) -> None:
    words = vars(_parser().parse_args([]))
    add_file_options(Namespace(**{**words, "config": path}))


def _parser() -> Parser:
    parser = Parser()
    add_arguments(parser)
    return parser


def _read_costs(path: Path) -> None:
    read_costs(read(path))


READERS: Mapping[str, Callable[[Path], object]] = {
    "scenario": parse_scenario,
    "machine": lambda path: parse_machine(str(path)),
    "check": _read_check,
    "costs": _read_costs,
}


def shipped(kind: str) -> list[Path]:
    """Every file of a kind that comes with the project."""
    suites, docs = REPOSITORY / "numaproof/suites", REPOSITORY / "docs/examples"
    return sorted(
        {
            "scenario": lambda: [*suites.glob("scenarios/*/*.yaml"), *docs.glob("pytest-plugin/scenarios/*/*.yaml")],
            "machine": lambda: [
                *(REPOSITORY / "numaproof/fake_sysfs/presets").glob("*.yaml"),
                *suites.glob("machines/*.yaml"),
            ],
            "check": lambda: list(docs.rglob("numaproof.yaml")),
            "costs": lambda: list(docs.glob("costs/*.yaml")),
        }[kind]()
    )


def complete(kind: str) -> list[Path]:
    """Files that between them have every key."""
    return sorted((HERE / "complete").glob(f"{kind}*.yaml"))


def is_refused(kind: str, path: Path) -> bool:
    """Whether the reader of a kind of file refuses one."""
    try:
        READERS[kind](path)
    except UserError:
        return True
    return False
