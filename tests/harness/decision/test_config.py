"""KubeletConfiguration: what a user has is taken as it is, what is wrong is said in one line."""

from fractions import Fraction
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import load
from numaproof.harness.decision.config import NodeConfig, Setting, config_of, node_config, settings_in
from numaproof.harness.decision.kubelet_keys import USED


def test_the_text_of_a_real_file_is_read_whole() -> None:
    text = """
kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
address: 127.0.0.1
authentication: {anonymous: {enabled: false}}
cgroupDriver: systemd
clusterDNS: [10.96.0.10]
topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true", max-allowable-numa-nodes: "16"}
cpuManagerPolicy: static
cpuManagerPolicyOptions: {full-pcpus-only: "true", distribute-cpus-across-numa: "false"}
cpuManagerReconcilePeriod: 5s
reservedSystemCPUs: 0-1,8
memoryManagerPolicy: Static
systemReserved: {memory: 512Mi}
kubeReserved: {memory: 412Mi}
evictionHard: {memory.available: 100Mi, nodefs.available: 10%}
reservedMemory:
  - {numaNode: 0, limits: {memory: 1Gi}}
featureGates: {CPUManagerPolicyAlphaOptions: true, DynamicResourceAllocation: true}
maxPods: 42
"""
    config = config_of(settings_in(load(text, "kubelet.yaml")))
    assert config.topology_policy == "single-numa-node"
    assert config.topology_scope == "pod"
    assert config.topology_options == {"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"}
    assert config.cpu_policy == "static"
    assert config.cpu_options == {"full-pcpus-only": True, "distribute-cpus-across-numa": False}
    assert config.reserved_system_cpus == frozenset({0, 1, 8})
    assert config.memory_policy == "Static"
    assert config.reserved_memory == {0: {"memory": 1 << 30}}
    assert config.system_reserved == {"memory": Fraction(512 << 20)}
    assert config.eviction_hard["memory.available"] == "100Mi"
    assert config.max_pods == 42
    assert config.enabled("CPUManagerPolicyAlphaOptions")
    assert config.enabled("TopologyManager")
    assert config.notes == ("the feature gate DynamicResourceAllocation has no effect on this node",)


def test_an_empty_configuration_is_the_kubelets_default() -> None:
    assert node_config({}) == NodeConfig()
    assert NodeConfig().eviction_hard == {"memory.available": "100Mi"}


def test_a_manager_whose_gate_is_off_does_nothing() -> None:
    given = {"cpuManagerPolicy": "static", "memoryManagerPolicy": "Static"}
    config = node_config(given | {"featureGates": {"CPUManager": False, "MemoryManager": "false"}})
    assert (config.cpu_policy, config.memory_policy) == ("none", "None")


def test_eviction_thresholds_replace_the_defaults_unless_they_are_to_be_merged() -> None:
    given: dict[str, Any] = {"evictionHard": {"nodefs.available": "10%"}}
    assert "memory.available" not in node_config(given).eviction_hard
    assert node_config(given | {"mergeDefaultEvictionSettings": True}).eviction_hard["memory.available"] == "100Mi"


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"topologyManagerPolicy": "tight"}, "kubelet: topologyManagerPolicy: unknown value 'tight'; choose one of none, "),
    ({"topologyManagerPolicy": ["none"]}, "topologyManagerPolicy: unknown value"),
    ({"topologyManagerScope": "node"}, "topologyManagerScope: unknown value 'node'; choose one of container, pod"),
    ({"cpuManagerPolicy": "dynamic"}, "cpuManagerPolicy: unknown value"),
    ({"memoryManagerPolicy": "static"}, "memoryManagerPolicy: unknown value 'static'; choose one of None, Static"),
    ({"topologyManagerPolicie": "none"}, "topologyManagerPolicie: unknown key; did you mean topologyManagerPolicy?"),
    ({"kind": "Pod"}, "is a Pod"),
    ({"apiVersion": "v1"}, "give a KubeletConfiguration of kubelet.config.k8s.io/v1beta1"),
    ({"topologyManagerPolicyOptions": {"closest": "true"}}, "closest: unknown option; choose of prefer-closest"),
    ({"topologyManagerPolicyOptions": {"max-allowable-numa-nodes": "7"}}, "'7' is not a number of at least 8"),
    ({"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "maybe"}}, "'maybe' is neither true nor false"),
    # Go reads True and TRUE, and no other mixture
    ({"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "tRUE"}}, "'tRUE' is neither true nor false"),
    ({"cpuManagerPolicyOptions": {"full-pcpus-only": "tRUE"}}, "'tRUE' is neither true nor false"),
    ({"topologyManagerPolicyOptions": "x"}, "'x' is not a table"),
    (
        {"topologyManagerPolicyOptions": {"cost-seed": 1}, "topologyManagerPolicy": "strict"},
        "kubelet: topologyManagerPolicyOptions: cost-seed: is an option of the policy cost, this is strict; drop it",
    ),
    *(
        ({"topologyManagerPolicyOptions": {f"cost-{name}": text}, "topologyManagerPolicy": "cost"}, f'"{text}" is not')
        for name, text in (
            *(("maximum", text) for text in ("-1", "much", "1e3", "inf", "", "1.", "\u0661")),
            *(("seed", text) for text in ("-1", "1.5", "x", "1" * 19)),
            *(("unlisted", text) for text in ("far", "Nothing")),
        )
    ),
    (
        {"topologyManagerPolicyOptions": {"cost-max": 1}, "topologyManagerPolicy": "cost"},
        "topologyManagerPolicyOptions: cost-max: unknown option; choose of prefer-closest-numa-nodes,",
    ),
    ({"cpuManagerPolicyOptions": {"full-cores": "true"}}, "full-cores: unknown option; choose of full-pcpus-only"),
    ({"cpuManagerPolicyOptions": {"align-by-socket": "true"}}, "needs the feature gate CPUManagerPolicyAlphaOptions"),
    (
        {
            "cpuManagerPolicyOptions": {"full-pcpus-only": "true", "distribute-cpus-across-cores": "true"},
            "featureGates": {"CPUManagerPolicyAlphaOptions": True},
        },
        "can not be used at the same time",
    ),
    ({"reservedSystemCPUs": "0-"}, "kubelet: reservedSystemCPUs: "),
    ({"reservedSystemCPUs": "-1"}, "kubelet: reservedSystemCPUs: "),
    ({"systemReserved": {"cpu": "-1"}}, "systemReserved: cpu: -1 is negative"),
    ({"systemReserved": {"cpu": "many"}}, 'systemReserved: cpu: "many" is not a quantity'),
    ({"kubeReserved": {"gpu": "1"}}, "kubeReserved: gpu: cannot be reserved"),
    ({"reservedMemory": {"0": "1Gi"}}, "is not a list"),
    ({"reservedMemory": [{"numaNode": 0}]}, "reservedMemory[0]: "),
    ({"reservedMemory": [{"numaNode": -1, "limits": {"memory": "1Gi"}}]}, "-1 is not a NUMA node's id"),
    ({"reservedMemory": [{"numaNode": 0, "limits": {"cpu": "1"}}]}, "only memory and hugepages-SIZE"),
    ({"reservedMemory": [{"numaNode": 0, "limits": {"memory": "0"}}]}, "may not be zero"),
    ({"reservedMemory": [{"numaNode": 0, "limits": {"memory": "1"}}] * 2}, "given twice for NUMA node 0"),
    ({"evictionHard": {"memory.available": "lots"}}, "evictionHard: memory.available: "),
    ({"evictionHard": {"memory.available": "101%"}}, "more than everything"),
    (
        {"featureGates": {"TopologyManger": True}},
        "unrecognized feature gate TopologyManger; did you mean TopologyManager?",
    ),
    ({"featureGates": {"TopologyManager": "perhaps"}}, "'perhaps' is neither true nor false"),
    ({"maxPods": "many"}, "is not a count of pods"),
    ({"maxPods": -1}, "is not a count of pods"),
)


@pytest.mark.parametrize(("content", "text"), WRONG)
def test_what_is_wrong_is_named(content: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError) as caught:
        node_config(content)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["- 1", "", "5", "kind: Pod", "apiVersion: v1", "address: x\nunheard-of: 1"])
def test_a_text_that_is_not_a_configuration(text: str) -> None:
    with pytest.raises(UserError, match=r"^k\.yaml(:\d)?: ") as caught:
        config_of(settings_in(load(text, "k.yaml")))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cpuManagerPolicy: none\nmaxPod: 5\n", "k.yaml:2: maxPod: unknown key; did you mean maxPods?"),
        ("cpuManagerPolicy: none\n\nmaxPods: many\n", "k.yaml:3: maxPods: 'many' is not a count of pods"),
    ],
)
def test_what_is_wrong_in_a_text_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        config_of(settings_in(load(text, "k.yaml")))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("key", sorted(USED))
def test_a_setting_of_any_kind_is_taken_or_refused_in_a_short_line(key: str) -> None:
    long = "x" * 100_000
    for value in (
        long,
        [long],
        {long: long},
        {"memory": long},
        [{"numaNode": long, "limits": {}}],
        [{long: 1}],
        [{"key": [long]}],
        10**300,
        1.5,
        True,
    ):
        told = ""
        try:
            config_of({key: Setting("f", value)})
        except UserError as error:
            told = str(error)
        assert len(told) < 400, (key, told[:200])
        assert "\n" not in told
