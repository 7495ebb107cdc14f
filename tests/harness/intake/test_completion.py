"""What a kubelet would not start without is assumed, and said; what was given stays, unless a note says otherwise."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.config import NodeConfig, node_config
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.managers import Managers, NodeDescription
from numaproof.harness.decision.reservations import manager_config, reserve
from numaproof.harness.intake.completion import Assumptions, completed
from numaproof.harness.pods.taints import ALL_THREE

GI, MI = 1 << 30, 1 << 20
STATIC = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}
MEMORY = {"memoryManagerPolicy": "Static"}


def machine(nodes: int = 2, pages: int = 0) -> NodeDescription:
    """NUMA nodes of 4 GiB and of two cores with two threads each, and `pages` huge pages of 2 MiB on every one."""
    description = describe(parse_machine(f"pack:{nodes} [numa(memory=4GiB)] core:2 pu:2"))
    memory = tuple(replace(one, hugepages={"hugepages-2Mi": pages * 2 * MI}) for one in description.memory_nodes)
    return replace(description, memory_nodes=memory)


def starts(config: NodeConfig, node: NodeDescription) -> None:
    """A UserError if a kubelet would not start."""
    Managers(node, manager_config(config, reserve(config, node).cpus))


def complete(
    kubelet: Mapping[str, Any], node: NodeDescription | None = None, *, free: frozenset[int] | None = None
) -> tuple[NodeConfig, list[str]]:
    said = Assumptions()
    node = node or machine()
    config = completed(node_config(kubelet), node, said, given=True, free=free)
    starts(config, node)
    return config, said.lines


def obstacles(kubelet: Mapping[str, Any], node: NodeDescription | None = None) -> list[str]:
    said = Assumptions()
    completed(node_config(kubelet), node or machine(), said, given=True)
    return said.obstacles


def test_where_no_configuration_is_given_one_that_aligns_is_assumed() -> None:
    said = Assumptions()
    config = completed(NodeConfig(), machine(), said, given=False)
    starts(config, machine())
    assert (config.topology_policy, config.cpu_policy, config.memory_policy) == ("single-numa-node", "static", "None")
    assert said.lines == [
        "no configuration is given: topologyManagerPolicy single-numa-node, cpuManagerPolicy static",
        "reservedSystemCPUs 0-1: the static policy needs some, and none are given",  # the first core has two threads
    ]


@pytest.mark.parametrize(
    "kubelet",
    [
        {},
        {"topologyManagerPolicy": "restricted"},
        STATIC,
        {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}},
        {"cpuManagerPolicy": "static", "systemReserved": {"cpu": "1"}},
        MEMORY | {"reservedMemory": [{"numaNode": 1, "limits": {"memory": "100Mi"}}]},  # as evictionHard is by default
        MEMORY
        | {
            "kubeReserved": {"memory": "1Gi", "hugepages-2Mi": "4Mi"},
            "systemReserved": {"memory": "1Gi"},
            "evictionHard": {"memory.available": "25%"},  # of 8 GiB: 2 GiB
            "reservedMemory": [
                {"numaNode": 0, "limits": {"memory": "3Gi"}},
                {"numaNode": 1, "limits": {"memory": "1Gi", "hugepages-2Mi": "4Mi"}},
            ],
        },
    ],
)
def test_what_a_kubelet_starts_with_stays_as_it_is(kubelet: dict[str, Any]) -> None:
    config, said = complete(kubelet)
    assert config == node_config(kubelet)
    assert said == []


def test_reserved_cpus_are_the_first_core_or_a_cpu_that_nobody_holds() -> None:
    config, said = complete({"cpuManagerPolicy": "static"})
    assert config.reserved_system_cpus == frozenset((0, 1))
    config, said = complete({"cpuManagerPolicy": "static"}, free=frozenset((5, 6)))
    assert config.reserved_system_cpus == frozenset((5,))
    assert said == ["reservedSystemCPUs 5: the static policy needs some, and none are given"]


def test_where_pods_are_bound_the_cpus_that_the_kernel_does_not_isolate_are_reserved() -> None:
    taint = {"key": "CPUAffinity", "value": "dedicated", "effect": ALL_THREE}
    node = replace(machine(), isolated_cpus=frozenset(range(1, 8)))
    kubelet = {"cpuManagerPolicy": "static", "registerWithTaints": [taint]}
    config, said = complete(kubelet, node)
    assert config == node_config(kubelet)
    assert said == []


@pytest.mark.parametrize(("nodes", "option", "assumed"), [(8, None, None), (9, None, 9), (9, 9, None), (12, 9, 12)])
def test_more_than_eight_numa_nodes_have_to_be_allowed(nodes: int, option: int | None, assumed: int | None) -> None:
    kubelet: dict[str, Any] = {"topologyManagerPolicy": "best-effort"}
    if option:
        kubelet["topologyManagerPolicyOptions"] = {"max-allowable-numa-nodes": str(option)}
    config, said = complete(kubelet, machine(nodes))
    assert config.topology_options.get("max-allowable-numa-nodes") == (str(assumed or option or "") or None)
    assert said == (
        [
            f"max-allowable-numa-nodes {assumed}: without it a kubelet does not start with the policy best-effort on "
            f"{nodes} NUMA nodes (its limit is {option or 8})"
        ]
        if assumed
        else []
    )


@pytest.mark.parametrize(
    "kubelet",
    [
        {"topologyManagerPolicy": "none"},
        {"topologyManagerPolicy": "cost"},
        {"topologyManagerPolicy": "restricted", "featureGates": {"TopologyManager": False}},
    ],
)
def test_where_nothing_is_enumerated_the_number_of_numa_nodes_does_not_matter(kubelet: dict[str, Any]) -> None:
    config, said = complete(kubelet, machine(9))
    assert (config.topology_options, said) == ({}, [])


def test_reserved_memory_that_nobody_told_is_on_the_first_numa_node_that_has_more() -> None:
    config, said = complete(MEMORY | {"kubeReserved": {"memory": "1Gi"}})
    assert config.reserved_memory == {0: {"memory": GI + 100 * MI}}
    assert said == ["reservedMemory 1124 MiB on NUMA node 0: the Static policy does not start without"]
    # Of the 4 GiB of node 0, huge pages take 3.
    config, said = complete(MEMORY | {"kubeReserved": {"memory": "1Gi"}}, machine(2, pages=1536))
    assert config.reserved_memory == {0: {"memory": GI}, 1: {"memory": 100 * MI}}
    assert said == ["reservedMemory 1124 MiB on NUMA nodes 0-1: the Static policy does not start without"]


def test_huge_pages_are_reserved_where_they_are_beside_the_memory_that_is_told() -> None:
    told = [{"numaNode": 1, "limits": {"memory": "100Mi"}}]
    config, said = complete(
        MEMORY | {"reservedMemory": told, "systemReserved": {"hugepages-2Mi": "4Mi"}}, machine(2, 8)
    )
    assert config.reserved_memory == {0: {"hugepages-2Mi": 4 * MI}, 1: {"memory": 100 * MI}}
    assert said == ["reservedMemory 4 MiB of hugepages-2Mi on NUMA node 0: the Static policy does not start without"]


def test_what_is_told_by_numa_node_counts_more_than_amounts() -> None:
    kubelet = MEMORY | {
        "kubeReserved": {"cpu": "1", "memory": "2Gi"},
        "systemReserved": {"memory": "1Gi", "pid": "100"},
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": "10%"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    }
    config, said = complete(kubelet)
    assert config.reserved_memory == {0: {"memory": GI}}
    # 1 GiB, of which 200 MiB are kept free by eviction: 824 MiB.
    assert config.kube_reserved == {"cpu": 1, "memory": 824 * MI}
    assert config.system_reserved == {"pid": 100}
    assert config.eviction_hard == {"memory.available": "200Mi", "nodefs.available": "10%"}
    assert said == ["reserved for the node: 1 GiB of memory, as reservedMemory says"]
    assert obstacles(kubelet) == [
        "reservedMemory: has 1 GiB of memory, and systemReserved, kubeReserved and evictionHard make 3272 MiB; make "
        "them equal"
    ]  # 3 GiB + 200 MiB


@pytest.mark.parametrize("policy", ["None", "Static"])
def test_more_memory_cannot_be_reserved_than_there_is(policy: str) -> None:
    kubelet = {"memoryManagerPolicy": policy, "evictionHard": {"memory.available": "0"}}
    # All that there is may be reserved, huge pages among it.
    assert obstacles(kubelet | {"kubeReserved": {"memory": "8Gi"}}, machine(2, 8)) == []
    assert obstacles(kubelet | {"kubeReserved": {"memory": "5Gi"}, "systemReserved": {"memory": "4Gi"}}) == [
        "systemReserved, kubeReserved and evictionHard: make 9 GiB of memory, and the machine has 8 GiB (invalid Node "
        "Allocatable configuration); reserve less"
    ]
    told = obstacles(kubelet | {"kubeReserved": {"memory": "1Gi", "hugepages-2Mi": "34Mi"}}, machine(2, 8))
    assert ["make 34 MiB of hugepages-2Mi, and the machine has 32 MiB" in one for one in told] == [True]


def test_less_than_eviction_keeps_free() -> None:
    config, _said = complete(MEMORY | {"reservedMemory": [{"numaNode": 0, "limits": {"memory": "50Mi"}}]})
    assert config.eviction_hard == {"memory.available": str(50 * MI)}
    assert config.kube_reserved == {"memory": 0}


def test_a_kubelet_that_is_to_keep_no_memory_has_to_keep_some() -> None:
    config, said = complete(MEMORY | {"evictionHard": {"memory.available": "0"}})
    assert config.reserved_memory == {0: {"memory": 100 * MI}}
    assert said == [
        "kubeReserved 100 MiB of memory: the Static policy needs some, and none is given",
        "reservedMemory 100 MiB on NUMA node 0: the Static policy does not start without",
    ]


SOME = {
    "memory": st.sampled_from(("0", "300m", "1", "7Mi", "64Mi", "1500Mi", "3Gi")),
    "hugepages-2Mi": st.sampled_from(("0", "300m", "1", "7Mi")),  # of 16 MiB that a NUMA node has
    "cpu": st.sampled_from(("0", "1500m", "2")),
}
AMOUNTS = st.fixed_dictionaries({}, optional=SOME)
LIMITS = st.fixed_dictionaries(
    {}, optional={"memory": st.sampled_from(("1", "100Mi", "2Gi")), "hugepages-2Mi": st.sampled_from(("1", "8Mi"))}
)


@st.composite
def kubelets(draw: st.DrawFn) -> dict[str, Any]:
    """A configuration in which every value is one that a kubelet takes, be they together or not."""
    nodes = draw(st.lists(st.integers(0, 1), unique=True))
    found = {
        "topologyManagerPolicy": draw(st.sampled_from(("none", "best-effort", "restricted", "single-numa-node"))),
        "cpuManagerPolicy": draw(st.sampled_from(("none", "static"))),
        "memoryManagerPolicy": draw(st.sampled_from(("None", "Static"))),
        "systemReserved": draw(AMOUNTS),
        "kubeReserved": draw(AMOUNTS),
        "reservedMemory": [{"numaNode": node, "limits": draw(LIMITS)} for node in nodes],
        "reservedSystemCPUs": draw(st.sampled_from(("", "0", "2-3"))),
    }
    threshold = draw(st.sampled_from((None, "0", "100Mi", "1500m", "5%", "33%")))
    if threshold is not None:
        found["evictionHard"] = {"memory.available": threshold, "nodefs.available": "10%"}
    if draw(st.booleans()):
        found["topologyManagerPolicyOptions"] = {"max-allowable-numa-nodes": draw(st.sampled_from(("8", "10")))}
    return found


FIELDS = {
    "reserved_memory": "reservedMemory",
    "system_reserved": "reserved for the node",
    "kube_reserved": "reserved",
    "eviction_hard": "evictionHard",
    "reserved_system_cpus": "reservedSystemCPUs",
    "topology_options": "max-allowable-numa-nodes",
}


@given(kubelets(), st.sampled_from((2, 9)))
def test_any_configuration_starts_when_it_is_completed_and_only_what_is_said_has_changed(
    kubelet: dict[str, Any], nodes: int
) -> None:
    node, before = machine(nodes, pages=8), node_config(kubelet)
    said = Assumptions()
    after = completed(before, node, said, given=True)
    starts(after, node)
    try:
        starts(before, node)
    except UserError:
        assert said.lines
    else:
        assert (after, said.lines) == (before, [])
    for name in NodeConfig.__slots__:
        if getattr(after, name) != getattr(before, name):
            assert any(FIELDS[name] in line for line in said.lines + said.obstacles), name
    again = Assumptions()
    assert completed(after, node, again, given=True) == after
    assert again.lines == []
