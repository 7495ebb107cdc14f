"""What a kubelet's log tells: its decisions, how it was started, and what became of pods."""

# ruff: noqa: E501 (a log has long lines)

import json

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.kubelet_log import read_kubelet_log
from numaproof.harness.intake.log_facts import LoggedDecision, LoggedVerdict
from numaproof.harness.topology.hints import TopologyHint
from tests.harness.intake.kubelet_logs import FIRST, SECOND, UID

# More than one decision.


def hints_line(resource: str, mask: int, pod: str, container: str = "") -> str:
    named = f' containerName="{container}"' if container else ""
    return (
        f'"TopologyHints" hints={{"{resource}":[{{"NUMANodeAffinity":{mask},"Preferred":true}}]}} pod="{pod}"{named}\n'
    )


def best_line(mask: int, pod: str, container: str = "") -> str:
    named = f' containerName="{container}"' if container else ""
    return f'"Best TopologyHint" bestHint={{"NUMANodeAffinity":{mask},"Preferred":true}} pod="{pod}"{named}\n'


def test_several_pods_containers_and_attempts() -> None:
    text = (
        hints_line("cpu", 1, "a/x", "one")
        + hints_line("memory", 1, "a/x", "one")
        + best_line(1, "a/x", "one")
        + hints_line("cpu", 2, "a/x", "two")
        + best_line(2, "a/x", "two")
        + hints_line("cpu", 2, "b/x", "one")  # its best hint is not in the paste
        + hints_line("cpu", 1, "a/x", "one")
        + hints_line("cpu", 2, "a/x", "one")  # a second attempt
        + best_line(2, "a/x", "one")
    )
    assert read_kubelet_log(text, "log").decisions == (
        LoggedDecision("a/x", "one", {"cpu": (FIRST,), "memory": (FIRST,)}, FIRST),
        LoggedDecision("a/x", "two", {"cpu": (SECOND,)}, SECOND),
        LoggedDecision("b/x", "one", {"cpu": (SECOND,)}, None),
        LoggedDecision("a/x", "one", {"cpu": (FIRST,)}, None),
        LoggedDecision("a/x", "one", {"cpu": (SECOND,)}, SECOND),
    )


def test_hints_after_a_best_hint_are_of_another_attempt() -> None:
    text = hints_line("cpu", 1, "a/x", "one") + best_line(1, "a/x", "one") + hints_line("memory", 1, "a/x", "one")
    assert read_kubelet_log(text, "log").decisions == (
        LoggedDecision("a/x", "one", {"cpu": (FIRST,)}, FIRST),
        LoggedDecision("a/x", "one", {"memory": (FIRST,)}, None),
    )


def test_with_scope_container_a_line_without_one_lost_it() -> None:
    created = (
        '"Creating topology manager with policy per scope" topologyPolicyName="restricted" topologyScopeName="{}"\n'
    )
    for scope, container in (("container", None), ("pod", "")):
        [decision] = read_kubelet_log(created.format(scope) + hints_line("cpu", 1, "a/x"), "log").decisions
        assert decision.container == container


POD_SCOPE = {
    "v1.20": f"""\
[topologymanager] TopologyHints for pod 'web_default({UID})': map[cpu:[{{10 true}}]]
[topologymanager] PodTopologyHint: {{10 true}}
[topologymanager] Best TopologyHint for (pod: web_default({UID})): {{10 true}}
[topologymanager] Topology Affinity for (pod: web_default({UID}) container: one): {{10 true}}
[topologymanager] Topology Affinity for (pod: web_default({UID}) container: two): {{10 true}}
""",
    "v1.22": """\
"TopologyHints" hints=map[cpu:[{NUMANodeAffinity:10 Preferred:true}]] pod="default/web"
"PodTopologyHint" bestHint={NUMANodeAffinity:10 Preferred:true}
"Best TopologyHint" bestHint={NUMANodeAffinity:10 Preferred:true} pod="default/web"
"Topology Affinity" bestHint={NUMANodeAffinity:10 Preferred:true} pod="default/web" containerName="one"
"Topology Affinity" bestHint={NUMANodeAffinity:10 Preferred:true} pod="default/web" containerName="two"
""",
}


@pytest.mark.parametrize("version", POD_SCOPE)
def test_scope_pod(version: str) -> None:
    facts = read_kubelet_log(POD_SCOPE[version], "log")
    assert facts.decisions == (LoggedDecision("default/web", "", {"cpu": (SECOND,)}, SECOND),)
    assert facts.scope == "pod"


def test_a_best_hint_alone_does_not_tell_its_pod() -> None:
    facts = read_kubelet_log("[topologymanager] ContainerTopologyHint: {<nil> false}\n", "log")
    assert facts.decisions == (LoggedDecision("", None, {}, TopologyHint(None, False)),)
    assert facts.notes == ("log: 1 decision does not tell of which pod", "log: it shows no hints of a provider")


@pytest.mark.parametrize(
    ("line", "said", "unsure"),
    [
        ("", (), {"example.com/gpu"}),
        ('"Hint Provider has no preference for NUMA affinity with resource" resource="example.com/gpu"\n', None, set()),
        ('"Hint Provider has no possible NUMA affinities for resource" resource="example.com/gpu"\n', (), set()),
        (
            "[topologymanager] Hint Provider has no preference for NUMA affinity with resource 'example.com/gpu'\n",
            None,
            set(),
        ),
        ("[topologymanager] Hint Provider has no possible NUMA affinities for resource 'example.com/gpu'\n", (), set()),
    ],
)
def test_what_an_empty_list_of_go_means(line: str, said: object, unsure: set[str]) -> None:
    text = f'"TopologyHints" hints=map[example.com/gpu:[]] pod="default/web" containerName="app"\n{line}'
    [decision] = read_kubelet_log(text, "log").decisions
    assert decision.hints == {"example.com/gpu": said}
    assert decision.unsure == unsure


# What else is told.

H = "I0117 10:57:41.086255   52570 "
STARTS = {
    "v1.20": f"""\
{H}server.go:416] Version: v1.20.4
{H}container_manager_linux.go:287] Creating Container Manager object based on Node Config: {{RuntimeCgroupsName: ExperimentalCPUManagerPolicy:static ExperimentalTopologyManagerScope:container ExperimentalTopologyManagerPolicy:restricted}}
{H}topology_manager.go:120] [topologymanager] Creating topology manager with restricted policy per container scope
{H}cpu_manager.go:193] [cpumanager] starting with static policy
{H}policy_static.go:110] [cpumanager] reserved 2 CPUs ("0,4") not available for exclusive assignment
""",
    "v1.22": f"""\
{H}server.go:440] "Kubelet version" kubeletVersion="v1.20.4"
{H}topology_manager.go:133] "Creating topology manager with policy per scope" topologyPolicyName="restricted" topologyScopeName="container"
{H}policy_static.go:119] "Static policy created with configuration" options={{FullPhysicalCPUsOnly:true}}
{H}policy_static.go:139] "Reserved CPUs not available for exclusive assignment" reservedSize=2 reserved="0,4"
""",
    "v1.36": f"""\
{H}server.go:545] "Kubelet version" kubeletVersion="v1.20.4"
{H}topology_manager.go:181] "Creating topology manager with policy per scope" topologyPolicyName="restricted" topologyScopeName="container" topologyPolicyOptions={{"PreferClosestNUMA":true,"MaxAllowableNUMANodes":16}}
{H}policy_static.go:150] "created with configuration" options={{"FullPhysicalCPUsOnly":true,"StrictCPUReservation":false}} cpuGroupSize=2
{H}policy_static.go:187] "Reserved CPUs not available for exclusive assignment" reservedSize=2 reserved="0,4" reservedPhysicalCPUs="0,4"
{H}cpu_manager.go:235] "Starting" policy="static"
{H}memory_manager.go:190] "Starting memorymanager" policy="Static"
""",
    "json": """\
{"ts":1768647461086.2,"caller":"app/server.go:545","msg":"Kubelet version","v":0,"kubeletVersion":"v1.20.4"}
{"ts":1768647461086.3,"caller":"topologymanager/topology_manager.go:181","msg":"Creating topology manager with policy per scope","v":0,"topologyPolicyName":"restricted","topologyScopeName":"container","topologyPolicyOptions":{"PreferClosestNUMA":true,"MaxAllowableNUMANodes":16}}
{"ts":1768647461086.4,"caller":"cpumanager/policy_static.go:187","msg":"Reserved CPUs not available for exclusive assignment","v":0,"reservedSize":2,"reserved":"0,4"}
""",
}


@pytest.mark.parametrize("version", STARTS)
def test_how_the_kubelet_was_started(version: str) -> None:
    facts = read_kubelet_log(STARTS[version], "log")
    told = (facts.version, facts.policy, facts.scope, facts.cpu_policy, facts.reserved_cpus)
    assert told == ("v1.20.4", "restricted", "container", "static", "0,4")
    assert facts.notes == ("log: it shows no hints of a provider",)
    for end in range(len(STARTS[version])):
        try:
            part = read_kubelet_log(STARTS[version][:end], "log")
        except UserError:
            continue
        assert part.policy in (None, "restricted")
        assert part.scope in (None, "container")
        assert part.reserved_cpus in (None, "0,4")


def test_options_and_the_memory_manager() -> None:
    facts = read_kubelet_log(STARTS["v1.36"], "log")
    assert facts.options == {"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"}
    assert facts.cpu_options == {"full-pcpus-only": "true", "strict-cpu-reservation": "false"}
    assert facts.memory_policy == "Static"


def test_all_of_it_in_one_line_of_the_container_manager() -> None:
    config = {
        "CPUManagerPolicy": "none",
        "TopologyManagerScope": "pod",
        "MemoryManagerPolicy": "None",
        "TopologyManagerPolicy": "best-effort",
        "TopologyManagerPolicyOptions": None,
    }
    text = f'{H}container_manager_linux.go:278] "Creating Container Manager object based on Node Config" nodeConfig='
    facts = read_kubelet_log(text + json.dumps(config, separators=(",", ":")) + "\n", "log")
    told = (facts.policy, facts.scope, facts.cpu_policy, facts.memory_policy)
    assert told == ("best-effort", "pod", "none", "None")


def test_the_cpu_managers_start_is_told_by_its_file() -> None:
    """Since v1.35 the message is Starting, as of other parts."""
    none = f'{H}topology_manager.go:172] "Creating topology manager with none policy"\n'
    started = f'{H}{{}}:239] "Starting" policy="none"\n'
    assert read_kubelet_log(none + started.format("cpu_manager.go"), "log").cpu_policy == "none"
    assert read_kubelet_log(none + started.format("other_manager.go"), "log").cpu_policy is None
    in_json = '{"ts":1.5,"caller":"cpumanager/cpu_manager.go:239","msg":"Starting","v":0,"policy":"none"}\n'
    assert read_kubelet_log(none + in_json, "log").cpu_policy == "none"


def test_policy_none() -> None:
    assert (
        read_kubelet_log(f'{H}topology_manager.go:172] "Creating topology manager with none policy"\n', "log").policy
        == "none"
    )


def test_of_several_starts_the_last_counts() -> None:
    line = '"Creating topology manager with policy per scope" topologyPolicyName="{}" topologyScopeName="{}"\n'
    facts = read_kubelet_log(line.format("restricted", "pod") + line.format("best-effort", "container"), "log")
    assert (facts.policy, facts.scope) == ("best-effort", "container")
    assert facts.notes[:2] == (
        "log: the policy was restricted at first, and best-effort later: the last one counts",
        "log: the scope was pod at first, and container later: the last one counts",
    )


def test_what_is_no_policy_is_not_taken() -> None:
    text = '"Creating topology manager with policy per scope" topologyPolicyName="strictest" topologyScopeName="node"\n'
    with pytest.raises(UserError, match="has no line of"):
        read_kubelet_log(text, "log")


# What became of pods.

NOWHERE = "Resources cannot be allocated with Topology locality"


@pytest.mark.parametrize(
    "line",
    [
        f'"Pod admission denied" podUID="{UID}" pod="default/web" reason="TopologyAffinityError" message="{NOWHERE}"\n',
        f'"Event occurred" object="default/web" kind="Pod" apiVersion="v1" type="Warning" reason="TopologyAffinityError" message="{NOWHERE}"\n',
        f'"Event occurred" object="default/web" fieldPath="" kind="Pod" apiVersion="v1" type="Warning" reason="TopologyAffinityError" message="{NOWHERE[:27]}\n{NOWHERE[27:]}"\n',
        f"""{H}event.go:278] Event(v1.ObjectReference{{Kind:"Pod", Namespace:"default", Name:"web", UID:"{UID}", APIVersion:"v1", ResourceVersion:"7", FieldPath:""}}): type: 'Warning' reason: 'TopologyAffinityError' {NOWHERE}\n""",
        json.dumps(
            {
                "ts": 1,
                "msg": "Pod admission denied",
                "v": 0,
                "pod": {"name": "web", "namespace": "default"},
                "reason": "TopologyAffinityError",
                "message": NOWHERE,
            }
        ),
        json.dumps(
            {
                "ts": 1,
                "msg": "Event occurred",
                "v": 3,
                "object": {"name": "web", "namespace": "default"},
                "kind": "Pod",
                "reason": "TopologyAffinityError",
                "message": NOWHERE,
            }
        ),
    ],
)
def test_a_refusal(line: str) -> None:
    facts = read_kubelet_log(line, "log")
    assert facts.verdicts == (LoggedVerdict("default/web", False, "TopologyAffinityError", NOWHERE),)


def test_a_failed_allocation_with_quotes_in_its_message() -> None:
    text = r'"Pod admission denied" pod="a/b" reason="UnexpectedAdmissionError" message="Allocate failed due to no \"gpu\", which is unexpected"'
    [verdict] = read_kubelet_log(text + "\n", "log").verdicts
    assert verdict.message == 'Allocate failed due to no "gpu", which is unexpected'


def test_what_the_topology_manager_says_itself() -> None:
    text = f'"Pod Admit Result" Message="" pod="a/b"\n"Pod Admit Result" Message="{NOWHERE}" pod="a/c"\n'
    assert read_kubelet_log(text, "log").verdicts == (
        LoggedVerdict("a/b", True, "", ""),
        LoggedVerdict("a/c", False, "", NOWHERE),
    )


@pytest.mark.parametrize(
    "line",
    [
        '"Event occurred" object="default/web" kind="Pod" type="Warning" reason="BackOff" message="Back-off"\n',
        '"Event occurred" object="default/web" kind="Node" type="Warning" reason="TopologyAffinityError" message="?"\n',
        '"Kubelet version" kubeletVersion="v1.30.2"\n',
        "",
        "Name: web\nStatus: Running\n",
        "{" * 1000,
        '"ts":' * 1000,
        f"{H}topology_manager.go:1] " * 100,
    ],
)
def test_nothing_of_a_topology_manager_is_an_error(line: str) -> None:
    with pytest.raises(UserError) as caught:
        read_kubelet_log(line, "kubelet.log")
    assert str(caught.value) == (
        "kubelet.log: has no line of a kubelet's Topology Manager; give what `journalctl -u kubelet` has from the "
        "kubelet's start or from when the pod came"
    )


def test_more_than_anybody_pastes() -> None:
    with pytest.raises(UserError, match="is larger than 16 MiB"):
        read_kubelet_log("x" * ((16 << 20) + 1), "log")
