"""A kubelet's log in the formats of its versions, complete and damaged.

The formats are those of the kubelet's source: without fields until v1.20, with fields and Go's text of values until v1.27,
with JSON as values since v1.28, and wholly JSON with --logging-format=json.
"""

import json
import textwrap

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.kubelet_log import read_kubelet_log
from numaproof.harness.intake.log_facts import LogFacts, LoggedDecision, LoggedVerdict
from numaproof.harness.topology.bitmask import mask_of
from numaproof.harness.topology.hints import TopologyHint

FIRST, SECOND = TopologyHint(mask_of([0]), True), TopologyHint(mask_of([1]), True)
BOTH = TopologyHint(mask_of([0, 1]), False)
CPU = {"cpu": (FIRST, SECOND, BOTH)}
UID = "0c8e5a52-1f7d-4c11-9b6a-6d2f3a4b5c6d"

# A pod with one container that is admitted: a device manager that is silent, CPUs on either NUMA node.
V1_18 = f"""\
I0117 10:57:41.086255   52570 topology_manager.go:233] [topologymanager] Topology Admit Handler
I0117 10:57:41.086261   52570 topology_manager.go:180] [topologymanager] TopologyHints for pod 'web', container 'app': map[]
I0117 10:57:41.086283   52570 topology_manager.go:180] [topologymanager] TopologyHints for pod 'web', container 'app': map[cpu:[{{01 true}} {{10 true}} {{11 false}}]]
I0117 10:57:41.086290   52570 policy.go:70] [topologymanager] Hint Provider has no preference for NUMA affinity with any resource
I0117 10:57:41.086311   52570 topology_manager.go:199] [topologymanager] ContainerTopologyHint: {{01 true}}
I0117 10:57:41.086320   52570 topology_manager.go:258] [topologymanager] Topology Affinity for (pod: {UID} container: app): {{01 true}}
"""
V1_20 = f"""\
I0117 10:57:41.086255   52570 topology_manager.go:187] [topologymanager] Topology Admit Handler
I0117 10:57:41.086261   52570 scope_container.go:80] [topologymanager] TopologyHints for pod 'web_default({UID})', container 'app': map[]
I0117 10:57:41.086283   52570 scope_container.go:80] [topologymanager] TopologyHints for pod 'web_default({UID})', container 'app': map[cpu:[{{01 true}} {{10 true}} {{11 false}}]]
I0117 10:57:41.086311   52570 scope_container.go:88] [topologymanager] ContainerTopologyHint: {{01 true}}
I0117 10:57:41.086315   52570 scope_container.go:53] [topologymanager] Best TopologyHint for (pod: web_default({UID}) container: app): {{01 true}}
I0117 10:57:41.086320   52570 scope_container.go:63] [topologymanager] Topology Affinity for (pod: web_default({UID}) container: app): {{01 true}}
"""
V1_22 = """\
I0117 10:57:41.086255   52570 topology_manager.go:200] "Topology Admit Handler"
I0117 10:57:41.086261   52570 scope_container.go:77] "TopologyHints" hints=map[] pod="default/web" containerName="app"
I0117 10:57:41.086283   52570 scope_container.go:77] "TopologyHints" hints=map[cpu:[{NUMANodeAffinity:01 Preferred:true} {NUMANodeAffinity:10 Preferred:true} {NUMANodeAffinity:11 Preferred:false}]] pod="default/web" containerName="app"
I0117 10:57:41.086311   52570 scope_container.go:85] "ContainerTopologyHint" bestHint={NUMANodeAffinity:01 Preferred:true}
I0117 10:57:41.086315   52570 scope_container.go:54] "Best TopologyHint" bestHint={NUMANodeAffinity:01 Preferred:true} pod="default/web" containerName="app"
I0117 10:57:41.086320   52570 scope_container.go:59] "Topology Affinity" bestHint={NUMANodeAffinity:01 Preferred:true} pod="default/web" containerName="app"
"""
V1_36 = """\
I0117 10:57:41.086255   52570 topology_manager.go:267] "Topology manager admission check" pod="default/web"
I0117 10:57:41.086261   52570 scope_container.go:93] "TopologyHints" hints={} pod="default/web" containerName="app"
I0117 10:57:41.086283   52570 scope_container.go:93] "TopologyHints" hints={"cpu":[{"NUMANodeAffinity":1,"Preferred":true},{"NUMANodeAffinity":2,"Preferred":true},{"NUMANodeAffinity":3,"Preferred":false}]} pod="default/web" containerName="app"
I0117 10:57:41.086311   52570 scope_container.go:101] "ContainerTopologyHint" bestHint={"NUMANodeAffinity":1,"Preferred":true} pod="default/web" containerName="app"
I0117 10:57:41.086315   52570 scope_container.go:57] "Best TopologyHint" bestHint={"NUMANodeAffinity":1,"Preferred":true} pod="default/web" containerName="app"
I0117 10:57:41.086320   52570 scope_container.go:69] "Topology Affinity" bestHint={"NUMANodeAffinity":1,"Preferred":true} pod="default/web" containerName="app"
I0117 10:57:41.086390   52570 topology_manager.go:274] "Pod Admit Result" Message="" pod="default/web"
"""


def as_json(text: str) -> str:
    """A log of V1_36's kind, as --logging-format=json writes it."""
    lines = []
    for line in text.splitlines():
        head, rest = line.split("] ", 1)
        place, message = head.split()[-1], rest.split('"')[1]
        fields: dict[str, object] = {
            "ts": 1768647461086.255,
            "caller": f"topologymanager/{place}",
            "msg": message,
            "v": 0,
        }
        for part in rest.split('" ', 1)[1].split(" "):
            name, value = part.split("=", 1)
            fields[name] = json.loads(value)
        namespace, name = str(fields["pod"]).split("/")
        fields["pod"] = {"name": name, "namespace": namespace}
        lines.append(json.dumps(fields, separators=(",", ":")))
    return "\n".join(lines) + "\n"


LOGS = {"v1.18": V1_18, "v1.20": V1_20, "v1.22": V1_22, "v1.36": V1_36, "json": as_json(V1_36)}


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest) -> str:
    """The log of one version."""
    return LOGS[request.param]


def the_decision(text: str) -> LoggedDecision:
    facts = read_kubelet_log(text, "log")
    assert facts.notes == ()
    [decision] = facts.decisions
    return decision


def is_the_decision(text: str) -> bool:
    decision = the_decision(text)
    assert decision.pod in ("default/web", "web")  # v1.18 tells no namespace
    return decision == LoggedDecision(decision.pod, "app", CPU, FIRST)


def test_each_version_tells_the_same(log: str) -> None:
    assert is_the_decision(log)


# What stands before the lines, around them and between them.


def behind(prefix: str, text: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "prefix",
    [
        "Jan 17 10:57:41 node-1 kubelet[52570]: ",
        "2026-01-17T10:57:41+0000 node-1 kubelet[52570]: ",
        "2026-01-17T10:57:41.086255123Z ",
        "2026-01-17T10:57:41.086255123Z stderr F ",
        "[ 1234.567890] node-1 k3s[1]: ",
        "node-1: ",
        "> ",
        "        ",
    ],
)
def test_prefixes(log: str, prefix: str) -> None:
    assert is_the_decision(behind(prefix, log))


def test_without_headers(log: str) -> None:
    if log.startswith("{"):
        pytest.skip("JSON has none")
    lines = [line.split("] ", 1)[1] for line in log.splitlines()]
    assert is_the_decision("\n".join(lines))
    assert is_the_decision("\n".join(f"... {line}" for line in lines))


@pytest.mark.parametrize("width", [60, 80, 97, 132, 200])
@pytest.mark.parametrize("prefix", ["", "Jan 17 10:57:41 node-1 kubelet[52570]: "])
def test_lines_that_a_terminal_wrapped(log: str, width: int, prefix: str) -> None:
    pieces = []
    for line in behind(prefix, log).splitlines():
        pieces += [line[at : at + width] for at in range(0, len(line), width)]
    assert is_the_decision("\n".join(pieces) + "\n")


@pytest.mark.parametrize("width", [72, 100])
def test_lines_that_a_mail_wrapped(log: str, width: int) -> None:
    pieces = []
    for line in log.splitlines():
        pieces += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    assert is_the_decision("\n".join(pieces) + "\n")


def test_a_line_that_journald_split() -> None:
    """Lines of more than 48 KiB; the rest has a prefix and no header."""
    prefix = "Jan 17 10:57:41 node-1 kubelet[52570]: "
    lines = behind(prefix, V1_36).splitlines()
    for at in range(len(prefix) + 60, len(lines[2])):
        text = "\n".join([*lines[:2], lines[2][:at], prefix + lines[2][at:], *lines[3:]])
        assert is_the_decision(text + "\n")


def test_lines_within_an_export(log: str) -> None:
    exported = "\n".join(json.dumps({"MESSAGE": line, "_PID": "52570"}) for line in log.splitlines())
    assert is_the_decision(exported + "\n")


def test_curled_quotes(log: str) -> None:
    curled, opening = "", True
    for character in log:
        curled += ("“" if opening else "”") if character == '"' else character
        opening ^= character == '"'
    assert is_the_decision(curled)


def test_other_lines_and_fences_are_passed_over(log: str) -> None:
    other = 'I0117 10:57:41.086262   52570 kubelet.go:2525] "SyncLoop ADD" source="api" pods=["default/web"]'
    lines = [
        one for line in log.splitlines() for one in (line, other, "Jan 17 10:57:41 node-1 systemd[1]: Started run.")
    ]
    text = "What we see:\n```\n# journalctl -u kubelet\n" + "\n".join(lines) + "\n```\nSo it is on NUMA node 0.\n"
    assert is_the_decision(text)


def test_every_prefix_of_a_log_is_facts_or_one_error(log: str) -> None:
    text = behind("Jan 17 10:57:41 node-1 kubelet[52570]: ", log)
    told = 0
    for end in range(len(text)):
        try:
            facts = read_kubelet_log(text[:end], "log")
        except UserError as error:
            assert str(error).startswith("log: has no line of a kubelet's Topology Manager; give ")
            assert not told, "what was told is not lost by more of it"
            continue
        told += 1
        for decision in facts.decisions:
            assert decision.pod.endswith("web")
            assert decision.container in (None, "app")
            assert decision.hints in ({}, CPU)
            assert decision.merged in (None, FIRST)
    assert told > len(text) / 2


def test_every_rest_of_a_log_is_facts_or_one_error(log: str) -> None:
    for start in range(len(log)):
        try:
            facts = read_kubelet_log(log[start:], "log")
        except UserError:
            continue
        for decision in facts.decisions:
            assert decision.hints in ({}, CPU)
            assert decision.merged in (None, FIRST)


# Lines of which something is missing.


@pytest.mark.parametrize("mark", [">", "...", "…", ""])
def test_lines_that_a_pager_cut(mark: str) -> None:
    """The pod stands at the end of a line: of a line that is cut off it is not known whose hints they are."""
    cut = "".join(f"{line[:150]}{mark if len(line) > 150 else ''}\n" for line in V1_36.splitlines())
    facts = read_kubelet_log(cut, "log")
    assert [one.hints for one in facts.decisions] == [{}]
    assert facts.decisions[0].merged == FIRST
    assert not facts.decisions[0].is_whole
    assert "log: 1 line of hints is cut off, elided or damaged; what is whole of them counts" in facts.notes


def test_hints_that_were_left_out() -> None:
    elided = V1_36.replace('},{"NUMANodeAffinity":3,"Preferred":false}', "},...")
    facts = read_kubelet_log(elided, "log")
    assert facts.decisions == (LoggedDecision("default/web", "app", {}, FIRST, is_whole=False),)


def test_a_container_that_is_cut_off_is_not_the_pod() -> None:
    line = '"TopologyHints" hints={"memory":null} pod="default/web"'
    for end in (line, line + " ", line + " containerN", line + ' containerName="ap', line + " ..."):
        [decision] = read_kubelet_log(end, "log").decisions
        assert decision.container is None
    [decision] = read_kubelet_log(line + "\n", "log").decisions
    assert decision.container == ""


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


def test_a_log_of_damaged_lines_is_facts() -> None:
    """Any character of a line may be lost."""
    for at in range(len(V1_36)):
        facts: LogFacts = read_kubelet_log(V1_36[:at] + V1_36[at + 1 :], "log")
        assert all(one.pod for one in facts.decisions)
