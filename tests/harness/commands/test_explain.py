"""`numaproof explain`, as a user calls it: pods, machines, configurations and pods before; the forms; bad input."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from numaproof.harness.cli import main
from tests.harness.node.running import running_node
from tests.places import short_directory

SMALL = "numa:2 core:4 pu:1"  # CPUs 0-3 on NUMA node 0, 4-7 on NUMA node 1
CONFIG = """
kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
topologyManagerPolicy: restricted
cpuManagerPolicy: static
reservedSystemCPUs: "0"
"""


def pod(name: str, cpu: int, **more: Any) -> str:
    limits = {"cpu": cpu, "memory": "64Mi", **more}
    container = {"name": "app", "resources": {"limits": limits}}
    return json.dumps({"kind": "Pod", "metadata": {"name": name}, "spec": {"containers": [container]}})


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_directory() as directory:
        monkeypatch.chdir(directory)
        Path("config.yaml").write_text(CONFIG)
        for name, cpu in (("two", 2), ("three", 3), ("four", 4), ("five", 5)):
            Path(f"{name}.yaml").write_text(pod(name, cpu))
        yield directory


def told(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> dict[str, Any]:
    assert main(["explain", *arguments, "--machine", SMALL, "--config", "config.yaml", "--json"]) == code
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.usefixtures("place")
def test_an_admitted_pod(capsys: pytest.CaptureFixture[str]) -> None:
    # Three CPUs are left of NUMA node 0, and the first of them are taken.
    answer = told(capsys, 0, "three.yaml")
    assert answer["verdict"] == {"admitted": True, "reason": "", "message": ""}
    assert answer["blame"] is None
    container = answer["placement"]["app"]
    assert (container["affinity"], container["cpus"], container["cpus_by_numa"]) == ([0], "1-3", {"0": 3})
    assert answer["remedies"] == []
    assert (answer["policy"], answer["scope"]) == ("restricted", "container")


@pytest.mark.usefixtures("place")
def test_a_refused_pod_is_told_who_decided_and_what_helps(capsys: pytest.CaptureFixture[str]) -> None:
    # Three fill NUMA node 0, of which CPU 0 is reserved, and four NUMA node 1: nothing is left.
    answer = told(capsys, 1, "two.yaml", "--running", "three.yaml", "four.yaml")
    assert answer["verdict"]["reason"] == "TopologyAffinityError"
    blame = answer["blame"]
    assert (blame["what"], blame["wanted"], blame["free"]) == ("cpu", 2, {"0": 0, "1": 0})
    assert blame["cause"] == "in use"
    assert answer["fits_empty_node"] is True
    assert [one["apply"] for one in answer["remedies"]] == [{"remove": ["default/three"]}, {"remove": ["default/four"]}]
    assert all(one["verdict"]["admitted"] for one in answer["remedies"])


@pytest.mark.usefixtures("place")
def test_every_policy_and_scope_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    answer = told(capsys, 0, "five.yaml")  # more than a NUMA node has, so that two are preferred
    cells = {(cell["policy"], cell["scope"]): cell["verdict"]["admitted"] for cell in answer["matrix"]}
    policies = {"none": True, "best-effort": True, "restricted": True, "single-numa-node": False}
    assert cells == {
        (policy, scope): admitted for policy, admitted in policies.items() for scope in ("container", "pod")
    }
    assert (answer["blame"]["what"], answer["blame"]["wanted"]) == ("cpu", 5)


@pytest.mark.usefixtures("place")
def test_text_ends_with_assumptions_and_fits_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "two.yaml", "--machine", SMALL]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "ADMITTED" in lines
    assert lines[lines.index("Assumed") + 1].startswith("- no configuration is given: ")
    assert "* single-numa-node both       admitted: CPUs 2 of NUMA 0" in lines


@pytest.mark.usefixtures("place")
def test_a_pod_of_a_deployment_and_of_stdin(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    template = json.loads(pod("ignored", 2))
    deployment = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"template": template}}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(deployment)))
    answer = told(capsys, 0, "-")
    assert (answer["pod"], answer["placement"]["app"]["cpus"]) == ("default/web", "1-2")


NUMACTL = """available: 2 nodes (0-1)
node 0 cpus: 0 1 2 3
node 0 size: 16000 MB
node 1 cpus: 4 5 6 7
node 1 size: 16000 MB
node distances:
node   0   1
  0:  10  20
  1:  20  10
"""
FLAGS = "/usr/bin/kubelet --config=/etc/kubelet.yaml --topology-manager-policy=single-numa-node --reserved-cpus=4\n"
# What a kubelet with CPU 0 reserved writes once a pod holds CPUs 1-3.
STATE = '{"policyName": "static", "defaultCpuSet": "0,4-7", "entries": {"u1": {"app": "1-3"}}}'
HINT = '{"NUMANodeAffinity":2,"Preferred":true}'
LOG = f"""I1118 10:00:00.000001 1 manager.go:1] "Creating topology manager with policy per scope" topologyPolicyName="\
single-numa-node" topologyScopeName="pod"
I1118 10:00:01.000001 1 scope.go:1] "TopologyHints" hints={{"cpu":[{HINT}]}} pod="default/p" containerName=""
I1118 10:00:01.000002 1 scope.go:1] "Best TopologyHint" bestHint={HINT} pod="default/p" containerName=""
"""


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["explain", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("place")
def test_a_machine_of_a_text_and_flags_over_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    Path("numactl.txt").write_text(NUMACTL)
    Path("flags.txt").write_text(FLAGS)
    node = ("--machine", "numactl.txt")
    # By the file CPU 0 is reserved, by the flags CPU 4: four CPUs are on NUMA node 1, or on NUMA node 0.
    code, answer = asked(capsys, "four.yaml", *node, "--config", "config.yaml")
    assert (code, answer["policy"], answer["placement"]["app"]["cpus"]) == (0, "restricted", "4-7")
    code, answer = asked(capsys, "four.yaml", *node, "--config", "config.yaml", "--config", "flags.txt")
    assert (code, answer["policy"], answer["placement"]["app"]["cpus"]) == (0, "single-numa-node", "0-3")
    assert not [one for one in answer["assumptions"] if "kubelet.yaml" in one]
    # Alone the flags name a configuration that nobody has.
    Path("flags.txt").write_text(FLAGS.replace(" --reserved", " --cpu-manager-policy=static --reserved"))
    code, answer = asked(capsys, "four.yaml", *node, "--config", "flags.txt")
    assert "the configuration '/etc/kubelet.yaml' is named by flags, and is not given" in answer["assumptions"]


@pytest.mark.usefixtures("place")
def test_a_copied_root_with_and_without_another_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    Path("root").mkdir()
    Path("root/cpu_manager_state").write_text(STATE)
    Path("root/config.yaml").write_text(CONFIG.replace("restricted", "best-effort"))
    node = ("--machine", SMALL, "--kubelet-root", "root")
    code, answer = asked(capsys, "four.yaml", *node)
    assert (code, answer["policy"], answer["placement"]["app"]["cpus"]) == (0, "best-effort", "4-7")
    # Five CPUs are wanted, four are free: the pod u1 holds three.
    code, answer = asked(capsys, "five.yaml", *node, "--config", "config.yaml")
    assert (code, answer["policy"], answer["verdict"]["admitted"]) == (1, "restricted", False)
    assert answer["blame"]["free"] == {"0": 0, "1": 4}
    assert "--config is the configuration; what root has of one is passed over" in answer["assumptions"]
    assert [one["apply"] for one in answer["remedies"]].count({"remove": ["default/u1"]}) == 1


@pytest.mark.usefixtures("place")
def test_what_a_kubelet_would_not_start_with_is_told_first(capsys: pytest.CaptureFixture[str]) -> None:
    Path("cpu_manager_state").write_text(STATE.replace("static", "none").replace('{"u1": {"app": "1-3"}}', "{}"))
    arguments = ("two.yaml", "--machine", SMALL, "--kubelet-root", "cpu_manager_state", "--config", "config.yaml")
    told = (
        "cpu_manager_state is of cpuManagerPolicy none, and the configuration says static (could not restore state "
        "from checkpoint); drain the node and remove cpu_manager_state"
    )
    _, answer = asked(capsys, *arguments)
    assert answer["obstacles"] == [told]
    main(["explain", *arguments, "--html", "page.html"])
    lines = capsys.readouterr().out.splitlines()
    assert 0 < lines.index("A kubelet would not start so") < lines.index("Why")
    assert told in Path("page.html").read_text()


@pytest.mark.usefixtures("place")
def test_a_pod_that_is_there_comes_again(capsys: pytest.CaptureFixture[str]) -> None:
    Path("root").mkdir()
    Path("root/cpu_manager_state").write_text(STATE)
    known = json.loads(pod("three", 3))
    known["metadata"]["uid"] = "u1"
    Path("known.json").write_text(json.dumps(known))
    # It holds CPUs 1-3, and gets them again; four CPUs more are on NUMA node 1.
    code, answer = asked(capsys, "known.json", "--machine", SMALL, "--kubelet-root", "root", "--config", "config.yaml")
    assert (code, answer["placement"]["app"]["cpus"]) == (0, "1-3")
    again = "pod default/three is on the node already: explained as if it came again, without what it holds now"
    assert again in answer["assumptions"]
    # What it held is no matter: with four CPUs it goes to the NUMA node that has four.
    Path("known.json").write_text(json.dumps(known).replace('"cpu": 3', '"cpu": 4'))
    code, answer = asked(capsys, "known.json", "--machine", SMALL, "--kubelet-root", "root", "--config", "config.yaml")
    assert (code, answer["placement"]["app"]["cpus"]) == (0, "4-7")
    # Of pods that are said to run it is another one of the same manifest: NUMA node 1 is left for it.
    code, answer = asked(capsys, "three.yaml", "--machine", SMALL, "--config", "config.yaml", "--running", "three.yaml")
    assert (code, answer["placement"]["app"]["cpus"]) == (0, "4-6")
    assert "pod default/three runs already: this is another one like it" in answer["assumptions"]


@pytest.mark.usefixtures("place")
def test_copies_and_several_lists_of_pods_that_run(capsys: pytest.CaptureFixture[str]) -> None:
    # Two pods of two CPUs, and one of three: CPUs 1-2 and 4-5 by the copies, and no NUMA node has three left.
    node = ("--machine", SMALL, "--config", "config.yaml")
    code, answer = asked(capsys, "four.yaml", *node, "--running", "2*two.yaml", "--running", "three.yaml")
    assert code == 1
    # 7 CPUs are for pods: 4 of NUMA node 1 and 3 of NUMA node 0; two of each are held, and the three find no place.
    assert "the running pod default/three is left out" in "\n".join(answer["assumptions"])
    assert answer["blame"]["free"] == {"0": 1, "1": 2}


@pytest.mark.usefixtures("place")
def test_policies_that_a_log_does_not_tell_are_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    # The lines of one pod, as they are cut out of a log: hints are there, so that a policy asked for them.
    Path("kubelet.log").write_text("".join(LOG.splitlines(keepends=True)[1:]))
    Path("p.yaml").write_text(pod("p", 4))
    code, answer = asked(capsys, "p.yaml", "--machine", SMALL, "--log", "kubelet.log")
    assert (code, answer["policy"], answer["scope"]) == (0, "single-numa-node", "pod")
    assert answer["placement"]["app"]["cpus"] == "4-7"
    told = "kubelet.log does not tell, and assumed is: topologyManagerPolicy single-numa-node, cpuManagerPolicy static"
    assert told in answer["assumptions"]
    assert [one["resource"] for one in answer["log"]["compared"]] == ["cpu", None]


@pytest.mark.usefixtures("place")
def test_a_log_tells_the_configuration_and_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    Path("kubelet.log").write_text(LOG)
    Path("p.yaml").write_text(pod("p", 4))
    Path("numactl.txt").write_text(NUMACTL)
    code, answer = asked(capsys, "p.yaml", "--machine", "numactl.txt", "--log", "kubelet.log")
    assert (code, answer["policy"], answer["scope"]) == (0, "single-numa-node", "pod")
    assert (answer["log"]["policy"], answer["log"]["scope"]) == ("single-numa-node", "pod")
    Path("static.yaml").write_text(CONFIG.replace("restricted", "single-numa-node"))
    arguments = ("p.yaml", "--machine", SMALL, "--config", "static.yaml", "--log", "kubelet.log")
    # CPU 0 is reserved, so that NUMA node 1 (mask 2) alone has four CPUs; the scope of this node is the container.
    code, answer = asked(capsys, *arguments)
    assert answer["log"]["lines"][0] == "the log is of a kubelet with the scope pod, this is container"
    Path("static.yaml").write_text(CONFIG.replace("restricted", "single-numa-node") + "topologyManagerScope: pod\n")
    code, answer = asked(capsys, *arguments)
    assert [(one["resource"], one["agrees"], one["here"]) for one in answer["log"]["compared"]] == [
        ("cpu", False, [{"numa": [1], "preferred": True}, {"numa": [0, 1], "preferred": False}]),
        (None, True, [{"numa": [1], "preferred": True}]),
    ]
    assert main(["explain", *arguments, "--html", "page.html"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[lines.index("The log") + 1].startswith("- the pod: ")
    assert "<h2>The log</h2>" in Path("page.html").read_text()


def test_a_kubelet_that_runs_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    kubelet = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "topologyManagerPolicy": "restricted"}
    with running_node(kubelet, SMALL) as node:
        node.admit(json.loads(pod("there", 3)))
        path = node.root / "asked.yaml"
        path.write_text(pod("asked", 4))
        configuration = node.root / "kubelet.yaml"
        configuration.write_text(CONFIG)
        socket = str(node.pod_resources_socket)
        live = ("--machine", SMALL, "--pod-resources", socket, "--config", str(configuration))
        code, answer = asked(capsys, str(path), *live)
        assert (code, answer["placement"]["app"]["cpus"]) == (0, "4-7")
        node.admit(json.loads(pod("other", 1)))
        code, answer = asked(capsys, str(path), *live)
        assert (code, answer["blame"]["free"]) == (1, {"0": 0, "1": 3})
        assert {"remove": ["default/other"]} in [one["apply"] for one in answer["remedies"]]


BAD = {
    "no such pod": (["nothing.yaml"], "nothing.yaml: "),
    "two pods": (["two-pods.yaml"], "two-pods.yaml: has 2 pods; give the one to explain, the others by --running"),
    "not a pod": (["config.yaml"], 'kind: "KubeletConfiguration" is not admitted by a node'),
    "a workload without a template": (["empty.yaml"], "Deployment: has no pod template"),
    "no such machine": (["two.yaml", "--machine", "nothing"], "machine 'nothing': "),
    "no such policy": (["two.yaml", "--config", "wrong.yaml"], "wrong.yaml:1: topologyManagerPolicy: unknown value"),
    "reserved CPUs elsewhere": (["two.yaml", "--config", "other.yaml"], "reservedSystemCPUs: CPUs 99 are not online"),
    "a running pod that is none": (["two.yaml", "--running", "config.yaml"], "is not admitted by a node"),
    "no log": (["two.yaml", "--log", "two.yaml"], "two.yaml: has no line of a kubelet's Topology Manager"),
    "no root": (["two.yaml", "--kubelet-root", "gone"], "gone: "),
    "no socket": (["two.yaml", "--pod-resources", "gone"], "gone: there is no such socket"),
    "not a socket": (["two.yaml", "--pod-resources", "two.yaml"], "two.yaml: is not a socket"),
    "plugins that are none": (["two.yaml", "--plugins", "two.yaml"], "two.yaml"),
    "a page where none can be": (["two.yaml", "--html", "gone/page.html"], "gone/page.html: cannot be written"),
    "a machine beyond masks": (["two.yaml", "--machine", "power9-ac922"], "the kubelet's masks end at 63"),
}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("two-pods.yaml").write_text(f"{pod('a', 1)}\n---\n{pod('b', 1)}\n")
    Path("empty.yaml").write_text("{kind: Deployment, metadata: {name: web}, spec: {}}")
    Path("wrong.yaml").write_text("topologyManagerPolicy: strictest\n")
    Path("other.yaml").write_text('{cpuManagerPolicy: static, reservedSystemCPUs: "99"}')
    before = sorted(Path().iterdir())
    arguments, message = BAD[case]
    assert main(["explain", *arguments, *(() if "--machine" in arguments else ("--machine", SMALL))]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert sorted(Path().iterdir()) == before
