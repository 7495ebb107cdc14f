"""Bad input over all commands: one line on stderr (where, what, remedy), exit code 2, and nothing left behind."""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from numaproof.harness.cli import main
from numaproof.harness.commands.catalogue import COMMANDS
from numaproof.harness.runtimes import scratch
from numaproof.plugins_mock import program

NUMAPROOF = (sys.executable, "-m", "numaproof")

# A command line, and the words of its message: the place, the value, the remedy.
USAGE = {
    "": ("COMMAND is missing", "give one of machine, cost, ", "(all: numaproof --help)"),
    "fly": ("fly is not known as a command", "give one of machine, cost, ", "(all: numaproof --help)"),
    "machin list": ("machin", "did you mean machine?"),
    "--versoin": ("--versoin is not known", "did you mean --version?"),
    "machine": ("machine: ACTION is missing", "list, show, write"),
    "machine lst": ("machine: lst", "did you mean list?"),
    "machine show": ("machine show: MACHINE is missing; give it", "(all: numaproof machine show --help)"),
    "machine show --jsn": ("machine show: --jsn is not known", "did you mean --json?"),
    "machine show --zzz=1 laptop": ("machine show: --zzz is not known (all: numaproof machine show --help)",),
    "machine show laptop twice": ("machine show: twice is one argument too many", "leave it out"),
    "machine show laptop --json --full": ("machine show: --full: not allowed with --json", "--help"),
    "machine show laptop --svg": ("machine show: --svg: its value is missing", "write --svg FILE"),
    "machine write laptop": ("machine write: DIR is missing", "give it"),
    "machine diff": ("machine diff: A, B are missing", "give them"),
    "cost solve --unlisted farthst x.yaml": ("cost solve: --unlisted farthst: is not one of", "did you mean farthest?"),
    "cost solve --seed one x.yaml": ("cost solve: --seed one: is not a whole number",),
    "explain": ("explain: POD is missing",),
    "explain --semantics kepp x": ("explain: --semantics kepp:", "current, kep", "did you mean kep?"),
    "schedule x.yaml": ("schedule: --nodes is missing",),
    "serve --port web": ("serve: --port web: is not a number from 0 to 65535", "write one"),
    "policies --nodes 1.5": ("policies: --nodes 1.5: is not a whole number",),
    "vectors": ("vectors: FILE is missing",),
    "vectors --shwo 3 x": ("vectors: --shwo is not known", "did you mean --show?"),
    "node --rot x status": ("node: --rot is not known", "did you mean --root?"),
    "node --root x statsu": ("node: statsu is not known as an action", "did you mean status?"),
    "node --root x admit": ("node admit: POD.yaml is missing",),
    "node --root x --grace soon": ("node: --grace soon: is not a number",),
    "plugin": ("plugin: kind is missing; give one of gpu, ",),
    "plugin gpuu": ("plugin: kind gpuu: is not one of", "did you mean gpu?"),
    "plugin gpu --preferred lnks": ("plugin: --preferred lnks: is not one of", "did you mean links?"),
    "plugin gpu --cout 3": ("plugin: --cout is not known", "did you mean --count?"),
    "run --runtime moon": ("run: --runtime moon: is not one of auto, docker, namespace, process",),
    "run -n two": ("run: --workers two: is not a whole number",),
    "run views --list options": ("run: options stands apart", "side by side"),
    "check --timeout long -- x": ("check: --timeout long: is not a number",),
    "check python3 p.py --n 4": ("check: --n stands behind python3", "write -- before a command"),
    "check ./p --verbose": ("check: --verbose stands behind ./p", "write -- before a command"),
    "check --level maybe -- x": ("check: --level maybe: is not one of must, should, may", "did you mean may?"),
    "init": ("init: KIND is missing; give one of scenario, machine, check",),
    "init machin": ("init: machin is not known as a kind", "did you mean machine?"),
    "init scenario --from laptop": ("init scenario: --from is not known", "did you mean --force?"),
    "schema machine check": ("schema: check is one argument too many", "leave it out"),
    "completion": ("completion: SHELL is missing; give one of bash, zsh, fish",),
    "completion zhs": ("completion: SHELL zhs: is not one of bash, zsh, fish", "did you mean zsh?"),
    "image now": ("image: now is one argument too many",),
    "clean --all": ("clean: --all is not known",),
}
NOTHING = "/no/such/file.yaml"
# What is wrong in a file is told by its line. These lie where the commands run.
FILES = {
    "machine.yaml": "packages: 2\nnoeds: 2\n",
    "cache.yaml": "packages: 1\ncores: 2\ncaches: {l33: 2M}\n",
    "kubelet.yaml": (
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ntopologyManagerPolcy: restricted\n"
    ),
    "policy.yaml": (
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ntopologyManagerPolicy: restrictd\n"
    ),
    "stories/key.yaml": "name: n\nwhy: w\nsource: s\nstesp: []\n",
    "stories/step.yaml": "name: n\nwhy: w\nsource: s\nsteps:\n- admt: {name: p}\n",
    "stories/policy.yaml": "name: n\nwhy: w\nsource: s\nmatrix: {policy: [restrictd]}\nsteps:\n- restart: node\n",
    "stories/resource.yaml": (
        "name: n\nwhy: w\nsource: s\nplugins: [{resource: example.com/gpu, per_numa: 1}]\nsteps:\n"
        "- admit: {name: p, containers: [{name: c, requests: {example.com/gpuu: 1}}]}\n  expect: {admitted: true}\n"
    ),
    "check.yaml": "check:\n  timout: 3\n",
    "level.yaml": "check:\n  level: shuold\n",
    "known": "dp/list/3\ndp/lst/4\n",
    "devices.yaml": "- {id: a, nmua: [0]}\n",
    "costs.yaml": "costs:\n- {from: example.com/gpu/0, to: {example.com/gpu/1: 10}}\n",
    "pod.yaml": (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
        "spec: {containers: [{name: c, resources: {requests: {cpu: two}}}]}\n"
    ),
    "good.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\n",
    "moon.jsonl": "{}\n",
}
BAD = {
    # Places that do not exist, or cannot be used.
    f"machine show {NOTHING}": (NOTHING, "cannot be read"),
    "machine read /no/such/folder": ("/no/such/folder", "give one that holds sys/"),
    "machine import /no/such/archive.tar.gz /no/such/folder": ("/no/such/archive.tar.gz",),
    "machine write laptop /proc/no/such/place": ("/proc/no/such",),
    "machine show laptop --svg /proc/no/such/place": ("/proc/no/such/place", "choose another place"),
    f"cost solve {NOTHING} --request cpu=1": (NOTHING,),
    f"schedule {NOTHING} --nodes laptop": (NOTHING,),
    f"explain {NOTHING} --machine laptop": (NOTHING,),
    f"serve {NOTHING}": (NOTHING,),
    f"vectors {NOTHING}": (NOTHING,),
    "node --root /proc/no/such/place --machine laptop": ("/proc/no/such/place",),
    f"node --root /proc/x --config {NOTHING}": (NOTHING,),
    "node --root /no/such/place status": ("/no/such/place", "no node answers there", "start one"),
    f"plugin generic --devices {NOTHING}": (NOTHING,),
    f"run {NOTHING}": (NOTHING, "themes: "),
    "run /no/such/folder --list": ("/no/such/folder", "themes: "),
    f"check --config {NOTHING} -- /bin/true": (NOTHING,),
    "check --dir /no/such/folder": ("--dir /no/such/folder", "give the one in which the plugin registers"),
    "init scenario /no/such/folder/story.yaml": (
        "/no/such/folder/story.yaml",
        "its directory does not exist",
        "make it",
    ),
    "init machine stories/key.yaml": ("stories/key.yaml: is there already", "give another name, or --force"),
    "init machine check.txt": ("check.txt", "the name of a machine file ends in .yaml", "rename it"),
    # Numbers that are out of range.
    "policies --nodes 0": ("0",),
    "node --root /proc/x --machine laptop --grace 0": ("--grace 0", "above 0"),
    "run --workers 0": ("--workers 0: give at least 1",),
    "check --repeat 0 -- x": ("--repeat 0: give at least 1",),
    "check --timeout -1 -- x": ("--timeout -1", "above 0"),
    "cost solve --machine laptop --request cpu=0": ("--request: cpu: 0", "ask for 1 or more"),
    # Names that are not known.
    "machine show labtop": ("machine 'labtop'", "did you mean laptop?"),
    "machine show XEON-2S": ("machine 'XEON-2S'", "did you mean xeon-2s?"),
    "machine diff laptop small-4": ("machine 'small-4'", "did you mean small-4s?"),
    'machine show "pack:2 [numa(memroy=4GB)] core:2"': ("(memroy=4GB)", "did you mean memory?"),
    'machine show "pack:2 coer:2 pu:2"': ("coer", "did you mean core?"),
    "machine show machine.yaml": ("machine.yaml:2:", "noeds", "did you mean nodes?"),
    "machine show cache.yaml": ("cache.yaml:3:", "l33", "did you mean l3?"),
    "cost solve --machine dgx-a100 --request cpu=1,nvidia.com/gpus=1": ("--request:", "did you mean nvidia.com/gpu?"),
    "cost solve --machine laptop --request cpu=1 --without cpu/cpu99": ("--without:", "cpu/cpu99", "did you mean cpu/"),
    "explain good.yaml --machine labtop": ("machine 'labtop'", "did you mean laptop?"),
    "explain pod.yaml --machine laptop": ("pod.yaml", "two", "is not a quantity (write 2,"),
    "schedule good.yaml --nodes labtop": ("'labtop'", "did you mean laptop?"),
    "policies --policies strictt --semantics feedback": ("--policies", "strictt", "did you mean strict?"),
    "vectors --kind cpu-hint moon.jsonl": ("--kind", "cpu-hint", "did you mean cpu-hints?"),
    "vectors moon.jsonl": ("moon.jsonl", "give --kind"),
    "node --root /proc/x --machine no-such-machine": ("'no-such-machine'",),
    "node --root /proc/x --machine laptop --config kubelet.yaml": (
        *("kubelet.yaml:3:", "topologyManagerPolcy", "did you mean topologyManagerPolicy?"),
    ),
    "node --root /proc/x --machine laptop --config policy.yaml": (
        *("policy.yaml:3:", "restrictd", "did you mean restricted?"),
    ),
    "node --root /proc/x --machine laptop --topology-manager-scope pods": (
        *("--topology-manager-scope", "pods", "did you mean pod?"),
    ),
    "node --root /proc/x --machine laptop --cpu-manager-policy-options full-pcpus=true": (
        *("--cpu-manager-policy-options", "full-pcpus", "did you mean full-pcpus-only?"),
    ),
    "node --root /proc/x --machine laptop --eviction-hard 'memory.avalable<100Mi'": (
        *("--eviction-hard: memory.avalable: is not an eviction signal", "did you mean memory.available?"),
    ),
    "node --root /proc/x --machine laptop --kube-reserved cup=1": (
        *("--kube-reserved: cup: cannot be reserved", "did you mean cpu?"),
    ),
    "node --root /proc/x --machine laptop --reserved-memory 0:memroy=1Gi": (
        *("--reserved-memory[0]: limits: memroy", "did you mean memory?"),
    ),
    "node --root /proc/x --machine laptop --register-with-taints a=b:NoScheduel": (
        *("--register-with-taints", "'NoScheduel'", "did you mean NoSchedule?"),
    ),
    "node --root /proc/x --machine laptop --feature-gates TopologyManger=true": (
        *("--feature-gates", "TopologyManger", "did you mean TopologyManager?"),
    ),
    "plugin gpu --sysfs-root / --costs pci --costs-to nci=a/b --dry-run": ("--costs-to nci=a/b", "did you mean nic?"),
    "run views -k 'dgx restricted'": ("-k 'dgx restricted'", "and", "write parts of ids"),
    "run views -k 'dgx and ('": ("-k 'dgx and ('", "write parts of ids"),
    "run --theme view": ("--theme view", "did you mean views?"),
    "run views --annotations gitub": ("--annotations gitub", "did you mean github?"),
    "plugin generic --fault Allocate=explode --dir /proc/x": ("Allocate=explode", "known: "),
    "plugin generic --fault Foo=hang --dry-run": ("Foo", "known: GetDevicePluginOptions, "),
    "plugin generic --fault Alocate=hang --dir /proc/x": ("Alocate", "did you mean Allocate?"),
    "plugin generic --fault Allocate=error:UNAVAILBLE --dir /proc/x": ("UNAVAILBLE", "did you mean UNAVAILABLE?"),
    "plugin generic --devices devices.yaml": ("devices.yaml", "nmua", "did you mean numa?"),
    "plugin generic --dir /no/such/folder": ("/no/such/folder", "cannot serve there; is the directory there"),
    "plugin gpu --board dgx1-v10": ("--board dgx1-v10", "did you mean dgx1-v100?"),
    "run view": ("view", "themes: ", "did you mean views?"),
    "run views/everybody-see-the-machine": ("did you mean views/everybody-sees-the-machine?",),
    "run everybody-see-the-machine": ("did you mean views/everybody-sees-the-machine?",),
    "run views/everybody-sees-the-machine[xeon-2]": (
        *("views/everybody-sees-the-machine[xeon-2]", "did you mean views/everybody-sees-the-machine[xeon-2s]?"),
    ),
    "run views --machine labtop --list": ("--machine: machine 'labtop'", "did you mean laptop?"),
    "run stories/key.yaml": ("stories/key.yaml:4:", "stesp", "did you mean steps?"),
    "run stories/step.yaml": ("stories/step.yaml:5:", "admt", "did you mean admit?"),
    "run stories/policy.yaml": ("stories/policy.yaml:4:", "'restrictd'", "did you mean restricted?"),
    "run stories/resource.yaml": ("stories/resource.yaml", "example.com/gpuu", "did you mean example.com/gpu?"),
    "check --only dp/lst/1 -- x": ("--only dp/lst/1", "--dry-run", "did you mean dp/list/1?"),
    "check --exclude 'lst/*' -- x": ("--exclude lst/*", "did you mean list/*?"),
    "check --features prefered -- x": ("--features prefered", "did you mean preferred?"),
    "check --known-failures known -- x": ("known: line 2", "'dp/lst/4'", "did you mean dp/list/4?"),
    "check --config check.yaml -- x": ("check.yaml:2:", "timout", "did you mean timeout?"),
    "check --config level.yaml -- x": ("level.yaml:2:", "'shuold'", "did you mean should?"),
    "check --machine labtop -- x": ("machine 'labtop'", "did you mean laptop?"),
    "init machine new.yaml --from labtop": ("machine 'labtop'", "did you mean laptop?"),
    "schema scenaro": ("schema 'scenaro'", "did you mean scenario?"),
    # Arguments that do not go together.
    "cost solve --request cpu=1": ("cost solve: neither a file of costs nor --machine is given", "give one of them"),
    "check --image i --dir d": ("name one subject",),
    "check --unhealthy a -- x": ("--unhealthy and --healthy: give both, or neither",),
    "schedule - - --nodes laptop": ("-: stdin can be read once",),
    "plugin gpu --costs-to nic=a/b": ("--costs-to", "--costs pci"),
}
ALL = USAGE | BAD
# What is said is ours: no words of the libraries, and none that only who knows Python understands.
FOREIGN = re.compile(
    r"Errno|Traceback|Error:|Exception|rpc|grpc|pytest|xdist|argparse|urllib3|HTTPConnection|all addresses|<class"
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with the bad files, which is the folder of whatever is temporary too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(scratch, "parents", lambda: (tmp_path,))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("line", ALL)
def test_bad_input_is_told_in_a_line(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = shlex.split(line)
    if arguments[:1] == ["node"]:  # it blocks signals, which is not for the process of the tests
        done = subprocess.run([*NUMAPROOF, *arguments], capture_output=True, text=True, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    else:
        code, out, err = main(arguments), *capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("numaproof: ")
    assert err.count("\n") == 1
    assert [words for words in ALL[line] if words not in err] == [], err
    assert FOREIGN.findall(err.replace(str(tmp_path), "")) == [], err
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == FILES.keys()
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"stories"}


def test_every_command_that_takes_input_is_among_the_bad_ones() -> None:
    # These take none; what is missing around them has tests of its own.
    assert set(COMMANDS) - {line.split()[0] for line in BAD} == {"image", "clean", "completion"}
    assert set(COMMANDS) - {line.split()[0] for line in USAGE if line} == set()


def test_a_value_of_many_lines_makes_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--runtime", "moon\nand\tstars"]) == 2
    err = capsys.readouterr().err
    assert r"--runtime 'moon\nand\tstars':" in err
    assert err.count("\n") == 1


def test_the_program_of_a_fake_plugin_says_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["plugins_mock", "gpu", "--cout", "3"])
    assert program.main() == 2
    assert capsys.readouterr().err == (
        "plugins_mock: --cout is not known; did you mean --count? (all: plugins_mock --help)\n"
    )
