"""Every command that README and docs/ show is run, and every path that they name exists."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import short_directory

REPOSITORY = Path(__file__).parent.parent
PAGES = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_PATH = re.compile(r"`((?:harness|fake_sysfs|plugins_mock|suites|tests|benchmarks|docs|tools)/[\w./-]*)`")


def commands(page: Path) -> str:
    """The shell script that a page's console blocks are, in their order; other lines there are output."""
    blocks = [text for language, text in BLOCK.findall(page.read_text()) if language == "console"]
    lines: list[str] = []
    for line in "".join(blocks).splitlines():
        if line.startswith("$ "):
            lines.append(line[2:])
        elif line.startswith("> "):
            lines.append(line[2:])  # the shell's second prompt: a command goes on
    return "\n".join(lines) + "\n"


def shown(page: Path) -> list[str]:
    """The output that a page's console blocks show, line by line."""
    blocks = [text for language, text in BLOCK.findall(page.read_text()) if language == "console"]
    return [line for line in "".join(blocks).splitlines() if not line.startswith(("$ ", "> "))]


def is_shown(lines: list[str], output: str) -> str | None:
    """The first line that does not come in its turn; None: all do. `...` stands for any text, alone for any lines."""
    rest = iter(output.splitlines())
    for line in lines:
        pattern = re.compile(".*".join(map(re.escape, line.rstrip().split("..."))))
        if line.strip() not in ("", "...") and not any(pattern.fullmatch(one.rstrip()) for one in rest):
            return line
    return None


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def with_commands() -> list[Path]:
    return [page for page in PAGES if commands(page).strip()]


def run_script(script: str) -> subprocess.CompletedProcess[str]:
    """Run a page's commands in an empty folder, as a reader would who stops at the first that fails."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "REPO": str(REPOSITORY),
        "COLUMNS": "120",
    }
    with short_directory() as place:
        return subprocess.run(
            ["bash", "-euo", "pipefail", "-x", "-c", script],
            cwd=place,
            env=environment | {"HOME": str(place)},  # some commands write there
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


@pytest.mark.parametrize("page", with_commands(), ids=name_of)
def test_every_command_of_a_page_works(page: Path) -> None:
    done = run_script(commands(page))
    assert done.returncode == 0, done.stdout[-4000:]
    assert is_shown(shown(page), done.stdout) is None, done.stdout[-4000:]


def test_output_that_is_shown_comes_in_its_turn() -> None:
    output = "one\ntwo 2.5 ms\nthree\n"
    assert is_shown(["one", "...", "two ... ms", "", "three"], output) is None
    assert is_shown(["two ... ms", "one"], output) == "one"
    assert is_shown(["one", "one"], output) == "one"
    assert is_shown(["thr"], output) == "thr"


@pytest.mark.parametrize("script", ["true\nfalse\ntrue\n", "false | cat\n", "echo $NO_SUCH_VARIABLE\n"])
def test_a_failing_command_is_noticed(script: str) -> None:
    assert run_script(script).returncode != 0


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_command_hides_in_a_block_that_is_not_run(page: Path) -> None:
    hidden = [
        line
        for language, text in BLOCK.findall(page.read_text())
        if language != "console"
        for line in text.splitlines()
        if line.startswith(("$ ", "numaproof "))
    ]
    assert hidden == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    named = set(NAMED_PATH.findall(page.read_text()))
    # In an unpacked sdist our folders are below the name that is installed.
    roots = (REPOSITORY, REPOSITORY / "numaproof")
    missing = sorted(path for path in named if "*" not in path and not any((root / path).exists() for root in roots))
    assert missing == []


def keys_of(value: object) -> set[str]:
    """The keys of all mappings within a value, but for those that are names or numbers of the case."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    inner = [one for key, one in value.items() if key != "apply"]  # has keys of Kubernetes' own
    return {key for key in value if key.isidentifier()}.union(*map(keys_of, inner))


def test_the_page_of_explain_names_every_key_of_its_json() -> None:
    script = """
    cp "$REPO"/docs/examples/explain/* .
    numaproof explain half.yaml --machine '2 nodes x 8 CPUs, 64Gi' --config restricted.yaml --json \
      --running first.yaml second.yaml > refused.json || test $? = 1
    sed 's/cpu: 5/cpu: 50/' half.yaml > large.yaml
    numaproof explain large.yaml --machine '2 nodes x 8 CPUs, 64Gi' --json > large.json || test $? = 1
    numaproof explain training.yaml --machine dgx-a100 --plugins devices.yaml --json > devices.json || test $? = 1
    set +x
    echo BEGIN
    cat refused.json large.json devices.json
    """
    output = run_script(script).stdout.partition("BEGIN\n")[2]
    found: list[object] = []
    while output.strip():
        value, end = json.JSONDecoder().raw_decode(output.lstrip())
        found.append(value)
        output = output.lstrip()[end:]
    assert len(found) == 3
    page = (REPOSITORY / "docs/explain.md").read_text()
    known = set(re.findall(r"`(\w+)`", page)) | {"app", "fetch", "train"}  # containers of the pods
    assert keys_of(found) - known == set()
