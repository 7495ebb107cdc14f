"""The playground and its API say what `numaproof explain` says of the same texts."""

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from numaproof.harness.intake.pasted import Texts
from numaproof.harness.serve.command_text import command_text
from numaproof.harness.serve.page import examples
from tests.harness.serve.asking import Server, server_here
from tests.harness.serve.commands import explained, typed

LSCPU = """\
$ lscpu
Architecture:            x86_64
CPU(s):                  8
On-line CPU(s) list:     0-7
Thread(s) per core:      2
Core(s) per socket:      2
Socket(s):               2
NUMA node(s):            2
NUMA node0 CPU(s):       0,1,4,5
NUMA node1 CPU(s):       2,3,6,7
"""
MACHINE_FILE = """\
# Two sockets.
packages: 2
cores: 4
threads: 1
memory: 16GiB
"""
SINGLE = "topologyManagerPolicy: single-numa-node\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
BEST = "topologyManagerPolicy: best-effort\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
BY_POD = (
    "topologyManagerPolicy: restricted\ntopologyManagerScope: pod\ncpuManagerPolicy: static\nreservedSystemCPUs: '0'\n"
)
WITH_MEMORY = """\
topologyManagerPolicy: restricted
cpuManagerPolicy: static
memoryManagerPolicy: Static
reservedSystemCPUs: '0'
kubeReserved: {memory: 1Gi}
"""


def pod(limits: str, name: str = "p", containers: int = 1) -> str:
    listed = "".join(f"  - {{name: c{number}, resources: {{limits: {limits}}}}}\n" for number in range(containers))
    return f"kind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n{listed}"


QUESTIONS: dict[str, tuple[Texts, bool]] = {
    "a server, admitted": (Texts(machine="xeon-2s", config=SINGLE, pod=pod("{cpu: 4, memory: 1Gi}")), True),
    "a server, refused": (Texts(machine="xeon-2s", config=SINGLE, pod=pod("{cpu: 60, memory: 1Gi}")), False),
    "a server, its configuration assumed": (Texts(machine="xeon-2s", pod=pod("{cpu: 4, memory: 1Gi}")), True),
    "best effort": (Texts(machine="xeon-2s", config=BEST, pod=pod("{cpu: 60, memory: 1Gi}")), True),
    "a pod as a whole": (
        Texts(machine="xeon-2s", config=BY_POD, pod=pod("{cpu: 2, memory: 1Gi}", containers=3)),
        True,
    ),
    "GPUs of the machine itself": (
        Texts(machine="dgx-h100", config=SINGLE, pod=pod("{cpu: 8, memory: 1Gi, nvidia.com/gpu: 5}")),
        False,
    ),
    "GPUs that plugins offer": (
        Texts(
            machine="dgx-h100",
            config=SINGLE,
            plugins="nvidia.com/gpu: {0: 1, 1: 3}\n",
            running=pod("{cpu: 2, memory: 1Gi, nvidia.com/gpu: 2}", "first"),
            pod=pod("{cpu: 8, memory: 1Gi, nvidia.com/gpu: 2}"),
        ),
        False,
    ),
    "a pasted lscpu": (Texts(machine=LSCPU, config=SINGLE, pod=pod("{cpu: 4, memory: 1Gi}")), True),
    "a machine file": (
        Texts(
            machine=MACHINE_FILE,
            config=SINGLE,
            running=pod("{cpu: 2, memory: 1Gi}", "first") + "---\n" + pod("{cpu: 3, memory: 1Gi}", "second"),
            pod=pod("{cpu: 2, memory: 1Gi}"),
        ),
        False,
    ),
    "an hwloc string": (
        Texts(machine="pack:2 numa:2(memory=8GiB) core:4 pu:1", config=SINGLE, pod=pod("{cpu: 4, memory: 1Gi}")),
        True,
    ),
    # Memory prefers both NUMA nodes, CPUs one of them: only the kubelet wants the same for all.
    "a few words": (Texts("2 nodes x 8 CPUs, 64Gi", WITH_MEMORY, pod=pod("{cpu: 2, memory: 40Gi}")), False),
    "a few words, and the KEP": (
        Texts("2 nodes x 8 CPUs, 64Gi", WITH_MEMORY, pod=pod("{cpu: 2, memory: 40Gi}"), semantics="kep"),
        True,
    ),
}
EXAMPLES = {
    one["name"]: Texts(**{name: one.get(name, "") for name in ("machine", "config", "plugins", "running", "pod")})
    for one in examples()
}
ALL = {name: texts for name, (texts, _) in QUESTIONS.items()} | EXAMPLES


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with server_here() as found:
        yield found


@pytest.mark.parametrize("case", ALL)
def test_the_api_answers_what_the_command_prints(server: Server, case: str, tmp_path: Path) -> None:
    texts = ALL[case]
    answer = server.asked("/api/explain", texts.as_dict())
    command = explained(texts, tmp_path, "--json")
    assert answer.status == 200
    assert answer.json == json.loads(command.stdout)
    is_admitted = answer.json["verdict"]["admitted"]
    assert (command.returncode, command.stderr) == (0 if is_admitted else 1, "")
    if case in QUESTIONS:
        assert is_admitted == QUESTIONS[case][1]


@pytest.mark.parametrize("case", ALL)
def test_the_command_that_the_page_shows_gives_its_answer(server: Server, case: str, tmp_path: Path) -> None:
    texts = ALL[case]
    shown = server.asked("/page/show", {"texts": texts.as_dict()}).json
    answer = server.asked("/api/explain", texts.as_dict()).json
    lines = shown["command"].removesuffix("\n")
    command = typed(f"{lines} --json", tmp_path)
    found = json.loads(command.stdout)
    assert command.stderr == ""
    # What was assumed of a file names it by its name there.
    for name in ("verdict", "why", "blame", "placement", "decisions", "remedies", "matrix"):
        assert found[name] == answer[name]
    assert found["verdict"]["admitted"] == shown["admitted"]


def test_the_command_as_it_stands_says_what_the_page_says(server: Server, tmp_path: Path) -> None:
    texts, _ = QUESTIONS["a machine file"]
    shown = server.asked("/page/show", {"texts": texts.as_dict()}).json
    command = typed(shown["command"], tmp_path)
    assert command.returncode == 1
    assert shown["headline"] in " ".join(command.stdout.split())


AWKWARD = {
    "its own end": "# EOF\nEOF\nEOF_\nrm -rf nothing\n",
    "what a shell reads": "# $HOME `id` $(id) \\ ' \" !\n",
    "letters of others": "# Ünïcödé 中文 \u2028 🙂\n",
    "line ends of Windows": "# one\r\n# two\r\n",
}


@pytest.mark.parametrize("case", AWKWARD)
def test_the_command_keeps_a_text_as_it_is(case: str, tmp_path: Path) -> None:
    text = AWKWARD[case] + "name: x"
    lines = command_text(Texts(machine=text, pod="p", config=text, plugins=text, running=text))
    assert typed(lines.rpartition("numaproof explain")[0], tmp_path).stderr == ""
    for name in ("machine", "config", "plugins", "running"):
        kept = (tmp_path / f"{name}.yaml").read_bytes().decode()
        assert kept == text.replace("\r\n", "\n") + "\n"


# What a terminal takes as a key when it is pasted: the end of a line or of the input, an interruption, a sequence.
KEYS = "\x03\x04\x08\x0d\x15\x16\x1a\x1b[201~\x1c\x7f\x85\x9b201~\0"


def test_the_command_has_no_keys_in_it() -> None:
    """A link may come from anybody, and what its command holds is pasted into a shell."""
    text = f"a: 1\n{KEYS}rm -rf nothing\n"
    lines = command_text(Texts(text, text, text, text, text))
    assert [one for one in lines if one != "\n" and (one < " " or "\x7f" <= one <= "\x9f")] == []
    assert shlex.split(lines.splitlines()[-1])[:2] == ["numaproof", "explain"]


def test_the_command_keeps_what_a_terminal_coloured(server: Server, tmp_path: Path) -> None:
    texts, _ = QUESTIONS["a pasted lscpu"]
    coloured = replace(texts, machine=texts.machine.replace("CPU(s):", "\x1b[1;31mCPU(s):\x1b[0m"))
    shown = server.asked("/page/show", {"texts": coloured.as_dict()}).json
    assert "[1;31m" not in shown["command"]  # what is left of a colour that lost its first character
    command = typed(shown["command"].removesuffix("\n") + " --json", tmp_path)
    assert json.loads(command.stdout)["placement"] == server.asked("/api/explain", coloured.as_dict()).json["placement"]


GOOD = Texts(machine="laptop", pod=pod("{cpu: 1, memory: 1Gi}"))
FAULTS: dict[str, tuple[Texts, str]] = {
    "a machine file with an unknown key": (replace(GOOD, machine=MACHINE_FILE + "colour: red\n"), "machine"),
    "a pod that is no YAML": (replace(GOOD, pod="metadata: {name: p\n"), "pod"),
    "a pod without containers": (replace(GOOD, pod="kind: Pod\nmetadata: {name: p}\nspec: {}\n"), "pod"),
    "an amount that is none": (replace(GOOD, pod=pod("{cpu: many}")), "pod"),
    "another kind of object": (replace(GOOD, pod="kind: Service\nmetadata: {name: p}\n"), "pod"),
    "an unknown policy": (replace(GOOD, config="topologyManagerPolicy: strictest\n"), "config"),
    "CPUs that the machine has not": (
        replace(GOOD, config="cpuManagerPolicy: static\nreservedSystemCPUs: '999'\n"),
        "config",
    ),
    "devices that are no number": (replace(GOOD, plugins="example.com/gpu: {0: many}\n"), "plugins"),
    "no devices": (replace(GOOD, plugins="[]\n"), "plugins"),
    "two pods of a name": (replace(GOOD, running=pod("{cpu: 1}") + "---\n" + pod("{cpu: 1}")), "running"),
    "a fault in the second pod": (replace(GOOD, running=pod("{cpu: 1}") + "---\n" + pod("{cpu: -1}", "q")), "running"),
    "pods of two nodes": (
        replace(
            GOOD,
            running="".join(
                f"---\nmetadata: {{name: {one}}}\nspec: {{nodeName: {one}, containers: [{{name: c}}]}}\n"
                for one in "ab"
            ),
        ),
        "running",
    ),
}
ADDED = {"two pods of a name": ", or 2*running"}  # what the command says besides, as it knows copies of a file


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_stands_at_its_field_in_the_words_of_the_command(server: Server, case: str, tmp_path: Path) -> None:
    texts, field = FAULTS[case]
    command = explained(texts, tmp_path)
    assert (command.returncode, command.stdout) == (2, "")
    for path, given in (
        ("/api/explain", texts.as_dict()),
        *((f"/page/{kind}", {"texts": texts.as_dict()}) for kind in ("show", "remedies", "page")),
    ):
        answer = server.asked(path, given)
        assert (answer.status, list(answer.json["errors"])) == (422, [field])
        assert f"numaproof: {answer.told}{ADDED.get(case, '')}\n" == command.stderr.replace("machine.yaml:", "machine:")


def test_who_slips_in_the_name_of_a_preset_is_told_which_it_may_be(server: Server) -> None:
    answer = server.asked("/api/explain", replace(GOOD, machine="dgx a100").as_dict())
    assert answer.told.endswith("; did you mean dgx-a100?")


SECRET = "of-this-machine"
XML = """\
<?xml version="1.0"?>
<!DOCTYPE topology SYSTEM "{file}" [<!ENTITY told SYSTEM "file://{file}">]>
<topology version="2.0"><object type="Machine">&told;</object></topology>
"""
PATHS: dict[str, Callable[[str], Texts]] = {
    "a machine file": lambda file: replace(GOOD, machine=file),
    "this host": lambda _: replace(GOOD, machine="host"),
    "a preset": lambda file: replace(GOOD, machine=f"preset: {file.removesuffix('.yaml')}\n"),
    "a preset by a way up": lambda file: replace(GOOD, machine=f"preset: {'../' * 20}{file.removesuffix('.yaml')}\n"),
    "an entity of XML": lambda file: replace(GOOD, machine=XML.format(file=file)),
    "a configuration": lambda file: replace(GOOD, config=file),
    "plugins": lambda file: replace(GOOD, plugins=file),
    "running pods": lambda file: replace(GOOD, running=f"3*{file}"),
    "a pod": lambda file: replace(GOOD, pod=file),
}


@pytest.mark.parametrize("case", PATHS)
def test_no_file_of_this_machine_is_read(server: Server, case: str, tmp_path: Path) -> None:
    """Whoever asks gets what the texts say; each of these files would be read by the command."""
    file = tmp_path / f"{SECRET}.yaml"
    file.write_text(f"name: {SECRET}-read\ncores: 4\nkind: Pod\nmetadata: {{name: {SECRET}-read}}\n")
    answer = server.asked("/api/explain", PATHS[case](str(file)).as_dict())
    assert answer.status == 422
    assert f"{SECRET}-read" not in answer.body.decode()


def test_a_configuration_that_flags_name_is_not_read(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("kind: KubeletConfiguration\ntopologyManagerPolicy: restricted\n")
    answer = server.asked(
        "/api/explain", replace(GOOD, config=f"kubelet --config={file} --cpu-manager-policy=none").as_dict()
    )
    assert answer.json["policy"] == "none"
    assert f"the configuration '{file}' is named by flags"[:60] in answer.body.decode()


def test_every_field_that_is_wrong_is_told(server: Server) -> None:
    wrong = Texts(machine="?", config="- 1", plugins="- 1", running="- 1", pod="- 1")
    answer = server.asked("/api/explain", wrong.as_dict())
    assert answer.status == 422
    assert set(answer.json["errors"]) == {"machine", "config", "plugins", "running", "pod"}
    for field, text in answer.json["errors"].items():
        assert text.startswith((f"{field}:", f"{field} "))
