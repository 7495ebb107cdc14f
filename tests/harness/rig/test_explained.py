"""What a node decided, in lines for people; the answers are made by hand."""

from collections.abc import Sequence

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.rig.explained import decision_lines, given_lines


def hint(*nodes: int, preferred: bool = True) -> api.Hint:
    return api.Hint(affinity=api.NodeSet(nodes=nodes), preferred=preferred)


def answer(resources: Sequence[api.ResourceHints], merged: api.Hint, *, admitted: bool) -> api.ExplainResponse:
    provider = api.ProviderHints(provider="any", resources=resources)
    decision = api.Decision(container="app", providers=[provider], merged=merged, admitted=admitted)
    return api.ExplainResponse(policy="restricted", decisions=[decision])


def test_why_a_pod_is_refused() -> None:
    cpu = api.ResourceHints(resource="cpu", hints=[hint(0), hint(1), hint(0, 1, preferred=False)])
    gpu = api.ResourceHints(resource="gpu", hints=[hint(0, 1, preferred=False)])
    nic = api.ResourceHints(resource="nic", no_preference=True)
    fpga = api.ResourceHints(resource="fpga")
    (line,) = decision_lines(answer([cpu, gpu, nic, fpga], hint(0, 1, preferred=False), admitted=False))
    assert line == (
        "app: cpu prefers NUMA 0 or NUMA 1; gpu fits NUMA 0-1, none of it preferred; nic takes any NUMA node; "
        "fpga fits nowhere; together NUMA 0-1, not preferred: restricted refuses it"
    )


def test_why_a_pod_is_admitted_and_that_nobody_has_to_read_hundreds_of_hints() -> None:
    cpu = api.ResourceHints(resource="cpu", hints=[hint(node) for node in range(64)])
    found = answer([cpu], api.Hint(preferred=True), admitted=True)
    found.decisions[0].container = ""
    assert list(decision_lines(found)) == [
        "the pod: cpu prefers NUMA 0 or NUMA 1 or NUMA 2 or NUMA 3 or 60 more; together any NUMA node: "
        "restricted accepts it"
    ]


def test_what_was_chosen_by_cost_and_what_is_proven_about_it() -> None:
    selection = api.Selection(
        layers=[
            api.SelectionLayer(resource="cpu", wanted=2, offered=15, chosen=["cpu8", "cpu9"]),
            api.SelectionLayer(resource="e/gpu", wanted=1, offered=4, chosen=["gpu1"]),
        ],
        cost=30.5,
        bound=30.5,
        optimal=True,
        greedy=40,
        pairs=[api.SelectionPair(one="cpu/cpu8", other="cpu/cpu9", cost=20.5)],
        unlisted="farthest",
        unlisted_decided=True,
    )
    decision = api.Decision(container="app", rule="cost", admitted=True, selection=selection)
    assert list(decision_lines(api.ExplainResponse(policy="cost", decisions=[decision]))) == [
        "app: cpu cpu8-9 (2 of 15); e/gpu gpu1 (1 of 4); cost 30.5, the least there is, greedy 40: cost accepts it",
        "app: the dearest pairs: cpu/cpu8 - cpu/cpu9 20.5",
        "app: pairs that nobody lists cost as much as the farthest, and that decided",
    ]
    unproven = api.Selection(cost=30, bound=25, greedy=30, maximum=20, unlisted="nothing")
    decision = api.Decision(rule="cost", selection=unproven)
    assert list(decision_lines(api.ExplainResponse(policy="cost", decisions=[decision]))) == [
        "the pod: cost 30, at least 25 is needed, greedy 30: cost refuses it (at most 20 is allowed)"
    ]


def test_whose_allocation_failed_and_what_there_is_too_little_of() -> None:
    failed = api.ExplainResponse(failure=api.Failure(container="app", provider="memory", reason="Unexpected"))
    assert list(decision_lines(failed)) == ["app: the hint provider memory could not allocate (Unexpected)"]
    short = api.ExplainResponse(shortage=api.Shortage(resource="cpu", requested=8000, used=9000, capacity=15000))
    assert list(decision_lines(short)) == [
        "the pod: the node has too little cpu: asked for 8000, others have 9000 of 15000"
    ]


def test_what_a_pod_was_given() -> None:
    devices = [
        api.Device(id="b", topology=api.NodeSet(nodes=[1])),
        api.Device(id="a"),
        api.Device(id="c", topology=api.NodeSet()),
    ]
    held = api.ResourceDevices(resource="gpu", devices=devices)
    memory = api.MemoryBlock(resource="memory", size=1, nodes=[0, 1])
    full = api.Container(name="app", affinity=hint(0, 1), cpus=[4, 2, 3], memory=[memory], devices=[held])
    shared = api.Container(name="side", affinity=api.Hint(preferred=True))
    assert list(given_lines(api.Pod(containers=[full, shared]))) == [
        "app: placed on NUMA 0-1; CPUs 2-4; memory on NUMA 0-1; gpu a on any NUMA node, b on NUMA 1, c on NUMA none",
        "side: placed on any NUMA node",
    ]
