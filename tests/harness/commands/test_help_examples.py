"""The examples that help ends with: every one is run as it stands, by a shell, beside the files that it names."""

import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from numaproof.harness.cli import main
from numaproof.harness.commands import catalogue
from numaproof.harness.runtimes.docker import engine_answers
from tests.harness.parsers import parsers
from tests.places import short_directory
from tests.waiting import wait_until

REPOSITORY = Path(__file__).parents[3]
EXPLAIN = REPOSITORY / "docs/examples/explain"
EXAMPLES = tuple(dict.fromkeys([*catalogue.EXAMPLES, *(line for one in parsers().values() for line in one.examples)]))

# Those that do not end by themselves, what they print once they serve, and how a SIGTERM ends them.
SERVING = {
    r"numaproof serve\b": ("playground: ", 128 + signal.SIGTERM),
    r"numaproof node --": ("ready: ", 0),
    r"numaproof plugin (?!.*--(dry-run|list-faults))": ("serving ", 0),
}
# All others end with 0.
CODES = {"numaproof machine diff xeon-2s machine.yaml": 1}  # they differ
# The node that is asked, or that a plugin registers with; and what has been asked of it before.
NODE = "numaproof node --root node --machine xeon-2s --cpu-manager-policy static --reserved-cpus 0"
OF_A_NODE = r"numaproof node \w|.* node/device-plugins"
BEFORE = {"numaproof node remove": "pod.yaml", "numaproof node bind": "waiting.yaml"}


def pod(name: str, cpu: int, **spec: object) -> str:
    container = {"name": "app", "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}}
    return json.dumps({"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container], **spec}})


WAITING = pod("waiting", 4, tolerations=[{"key": "CPUAffinity", "operator": "Exists"}])


def state_of_a_kubelet(place: Path) -> None:
    """What the reference node leaves in its folder, which is what a kubelet leaves there."""
    with running(f"{NODE.replace('--root node', '--root kubelet')}", place):
        pass
    with tarfile.open(place / "kubelet.tar", "w") as archive:
        archive.add(place / "kubelet/cpu_manager_state", "cpu_manager_state")


def some_decisions(place: Path) -> None:
    with lzma.open(REPOSITORY / "tests/vectors/cpu-hints.jsonl.xz", "rt") as file:
        (place / "recorded.jsonl").write_text("".join(line for line, _ in zip(file, range(100), strict=False)))


# Name -> its text, the command that makes it, or the file that it is a copy of.
FILES: Mapping[str, str | Path | Callable[[Path], None]] = {
    "pod.yaml": pod("web", 2),
    "web.yaml": pod("web-0", 2),
    "db.yaml": pod("db", 1),
    "waiting.yaml": WAITING,
    "saved.json": json.dumps({"machine": "xeon-2s", "pod": pod("web", 2)}),
    "my-plugin": "#!/bin/sh\nexec numaproof plugin generic --count 4\n",
    "kubelet.yaml": EXPLAIN / "restricted.yaml",
    "costs.yaml": REPOSITORY / "docs/examples/costs/linked-gpus.yaml",
    "topologies.yaml": REPOSITORY / "docs/examples/schedule/workers.yaml",
    "merge.jsonl.xz": REPOSITORY / "tests/vectors/merge.jsonl.xz",
    "machine.yaml": "$ numaproof init machine",
    "scenario.yaml": "$ numaproof init scenario",
    "lscpu.txt": (
        "Architecture: x86_64\nCPU(s): 32\nOn-line CPU(s) list: 0-31\nThread(s) per core: 2\nCore(s) per socket: 8\n"
        "Socket(s): 2\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-7,16-23\nNUMA node1 CPU(s): 8-15,24-31\n"
    ),
    "tree": "$ numaproof machine write laptop tree",
    "node.tar.gz": "$ numaproof machine write xeon-2s node && tar czf node.tar.gz -C node . && rm -r node",
    "kubelet.tar": state_of_a_kubelet,
    "recorded.jsonl": some_decisions,
}
# What no example reads, but writes where a user's shell has a folder.
FOLDERS = (".local/share/bash-completion/completions", ".config/fish/completions")


@pytest.fixture
def place() -> Iterator[Path]:
    with short_directory() as place:
        yield place


def environment(place: Path) -> dict[str, str]:
    """That of a user whose home is there, without an engine (its image is built by an example of its own)."""
    return {
        **{
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "FORCE_COLOR", "GITHUB_ACTIONS")
        },
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(place),
        "DOCKER_HOST": f"unix://{place}/nobody.sock",
        "BROWSER": "true",  # a program that opens nothing, and says that it did
    }


def shell(line: str, place: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        cwd=place,
        env=environment(place) | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def running(line: str, place: Path) -> Iterator[subprocess.Popen[str]]:
    """A command that serves, once it says so; it is ended afterwards, as it should end."""
    ready, code = next(found for start, found in SERVING.items() if re.match(start, line))
    printed = place / "printed"
    with (
        printed.open("w") as file,
        subprocess.Popen(
            ["bash", "-c", f"exec {line}"], cwd=place, env=environment(place), stdout=file, stderr=file, text=True
        ) as process,
    ):
        try:
            wait_until(lambda: process.poll() is not None or ready in printed.read_text(), ready, timeout=300)
            assert process.poll() is None, printed.read_text()
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == code, printed.read_text()
            assert "Traceback" not in printed.read_text()
        finally:
            process.kill()


def named(line: str) -> list[str]:
    """The names of files in a line, as far as they can be told from other words."""
    return [
        word for word in re.findall(r"[~\w][\w./~-]*|/\S*", line) if word in FILES or re.search(r"\.[a-z]{2,5}$", word)
    ]


def prepare(line: str, place: Path) -> None:
    """Whatever a line reads, and nothing else."""
    for folder in FOLDERS:
        (place / folder).mkdir(parents=True, exist_ok=True)
    for name in re.findall(r"[\w.-]+", line):
        make = FILES.get(name)
        if isinstance(make, Path):
            shutil.copy(make, place / name)
        elif isinstance(make, str) and make.startswith("$ "):
            done = shell(make.removeprefix("$ "), place)
            assert done.returncode == 0, done.stderr
        elif isinstance(make, str):
            (place / name).write_text(make)
            (place / name).chmod(0o755)
        elif make is not None:
            make(place)


@contextmanager
def surroundings(line: str, place: Path) -> Iterator[None]:
    """The node that a line is about, if it is about one."""
    if not re.match(OF_A_NODE, line):
        yield
        return
    with running(NODE, place):
        for start, name in BEFORE.items():
            if line.startswith(start):
                prepare(name, place)
                assert shell(f"numaproof node admit {name} --root node", place).returncode == 0
        yield


def is_serving(line: str) -> bool:
    return any(re.match(start, line) for start in SERVING)


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_works(line: str, place: Path) -> None:
    more = {}
    if line == "numaproof image":
        if not engine_answers():
            pytest.skip("no Docker engine answers, and none could be started")
        more = {"DOCKER_HOST": os.environ.get("DOCKER_HOST", "")}
    for name in named(line):
        assert name.startswith("~") or not (place / name).exists()
    prepare(line, place)
    with surroundings(line, place):
        if is_serving(line):
            with running(line, place):
                pass
        else:
            done = shell(line, place, **more)
            assert done.returncode == CODES.get(line, 0), done.stdout[-2000:] + done.stderr[-2000:]
            assert "Traceback" not in done.stderr
    assert [name for name in named(line) if not (place / name.replace("~", ".", 1)).exists()] == []


def test_every_command_has_examples() -> None:
    assert [name for name, parser in parsers().items() if not parser.examples] == []
    assert {line.split()[1] for line in EXAMPLES} == set(catalogue.COMMANDS)


def test_every_subcommand_has_one_of_its_own_that_its_command_shows_too() -> None:
    for name, parser in parsers().items():
        assert all(f"{line} ".startswith(f"numaproof {name} ") for line in parser.examples), name
        assert all(line in parsers()[name.split()[0]].examples for line in parser.examples), name


@pytest.mark.parametrize("name", ["", *parsers()])
def test_help_ends_with_the_examples_in_80_columns(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([*name.split(), "--help"])
    out = capsys.readouterr().out
    examples = parsers()[name].examples if name else catalogue.EXAMPLES
    assert out.endswith("\n\nexamples:\n" + "".join(f"  {line}\n" for line in examples))
    assert [line for line in out.splitlines() if len(line) > 80] == []
