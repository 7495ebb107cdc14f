"""The kubelet's flags, as its own parsers take them, become the settings of a KubeletConfiguration."""

from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.decision.config import Setting, config_of
from numaproof.harness.decision.kubelet_flags import FLAGS, flag_settings, with_flags
from numaproof.harness.decision.kubelet_keys import USED

# Of each flag a value, and what a kubelet makes of it, as the same key of a KubeletConfiguration.
TAKEN: dict[str, tuple[Any, Any]] = {
    "topology-manager-policy": ("restricted", "restricted"),
    "topology-manager-scope": ("pod", "pod"),
    "topology-manager-policy-options": ("prefer-closest-numa-nodes=true", {"prefer-closest-numa-nodes": "true"}),
    "cpu-manager-policy": ("static", "static"),
    "cpu-manager-policy-options": ("full-pcpus-only=true", {"full-pcpus-only": "true"}),
    "reserved-cpus": ("0-1,8", "0-1,8"),
    "memory-manager-policy": ("Static", "Static"),
    "reserved-memory": (
        ["0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=2Gi", "2:memory=3Gi"],
        [
            {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-1Gi": "2Gi"}},
            {"numaNode": 1, "limits": {"memory": "2Gi"}},
            {"numaNode": 2, "limits": {"memory": "3Gi"}},
        ],
    ),
    "system-reserved": ("cpu=500m, memory = 1Gi,", {"cpu": "500m", "memory": "1Gi"}),  # blanks and commas are dropped
    "kube-reserved": ("cpu=1", {"cpu": "1"}),
    "eviction-hard": (
        "memory.available<5%,nodefs.available<10%",
        {"memory.available": "5%", "nodefs.available": "10%"},
    ),
    "feature-gates": ("CPUManager=true,MemoryManager=false", {"CPUManager": "true", "MemoryManager": "false"}),
    "max-pods": ("250", 250),
    "register-with-taints": (
        "gpu=yes:NoSchedule,alone:NoExecute,empty=:NoExecute",
        [
            {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
            {"key": "alone", "value": "", "effect": "NoExecute"},
            {"key": "empty", "value": "", "effect": "NoExecute"},
        ],
    ),
}


def test_every_flag_is_here_and_sets_a_key_of_its_own() -> None:
    assert set(TAKEN) == set(FLAGS)
    keys = [key for key, _parse in FLAGS.values()]
    assert len(set(keys)) == len(keys)
    assert set(keys) <= USED


@pytest.mark.parametrize("name", TAKEN)
def test_a_flag_becomes_a_setting_that_says_where_it_stood(name: str) -> None:
    given, expected = TAKEN[name]
    key = FLAGS[name][0]
    assert flag_settings({name: given}) == {key: Setting(f"--{name}", expected)}
    assert flag_settings({name: given}, "ps.txt") == {key: Setting(f"ps.txt: --{name}", expected)}


def test_a_kubelet_writes_reserved_memory_into_its_log_with_commas_between_numa_nodes() -> None:
    settings = flag_settings({"reserved-memory": ["0:hugepages-2Mi=4Mi,memory=1Gi,1:memory=2Gi"]})
    config = config_of(settings)
    assert config.reserved_memory == {0: {"hugepages-2Mi": 4 << 20, "memory": 1 << 30}, 1: {"memory": 2 << 30}}


def test_an_empty_table_is_a_table() -> None:
    # So a kubelet is told to evict nothing; without the flag it would keep 100Mi.
    assert config_of(flag_settings({"eviction-hard": ""})).eviction_hard == {}


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("system-reserved", "cpu", "--system-reserved: 'cpu' is not of the form NAME=VALUE"),
        ("kube-reserved", "=1", "--kube-reserved: '=1' is not of the form NAME=VALUE"),
        ("eviction-hard", "memory.available=1Gi", "is not of the form NAME<VALUE"),
        ("reserved-memory", ["memory=1Gi"], "is not of the form NODE:NAME=VALUE,..., such as 0:memory=1Gi"),
        ("reserved-memory", ["-1:memory=1Gi"], "'-1:memory=1Gi' is not of the form NODE:"),
        ("reserved-memory", ["²:memory=1Gi"], "is not of the form NODE:"),
        ("reserved-memory", ["0:memory"], "'memory' is not of the form NAME=VALUE"),
        ("register-with-taints", "gpu", "--register-with-taints: 'gpu' is not a taint"),
        ("register-with-taints", "gpu:Never", "'Never' is unknown; choose one of NoSchedule"),
    ],
)
def test_what_is_no_value_of_a_flag_is_refused_by_its_name(name: str, given: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        flag_settings({name: given})
    assert str(caught.value).startswith(f"--{name}")
    assert message in str(caught.value)


@pytest.mark.parametrize("name", TAKEN)
def test_a_message_stays_one_short_line_whatever_is_given(name: str) -> None:
    rubbish = "x\n\x1b" * 100_000
    told = "taken"
    try:
        flag_settings({name: [rubbish] if name == "reserved-memory" else rubbish}, "f")
    except UserError as error:
        told = str(error)
    assert len(told) < 300
    assert told.isprintable()


def test_a_number_that_is_none_is_left_to_the_configuration_to_refuse() -> None:
    for given in ("many", "-1", "1" * 5000, "²"):
        with pytest.raises(UserError, match=r"^--max-pods: .* is not a count of pods"):
            config_of(flag_settings({"max-pods": given}))


def test_flags_win_over_a_file_but_for_feature_gates_that_they_do_not_name() -> None:
    file = {
        "cpuManagerPolicy": Setting("f", "none"),
        "maxPods": Setting("f", 10),
        "kubeReserved": Setting("f", {"cpu": "1", "memory": "1Gi"}),
        "featureGates": Setting("f", {"CPUManager": False, "MemoryManager": False}),
    }
    flags = flag_settings(
        {"cpu-manager-policy": "static", "kube-reserved": "cpu=2", "feature-gates": "CPUManager=true"}
    )
    merged = {key: setting.value for key, setting in with_flags(file, flags).items()}
    assert merged == {
        "cpuManagerPolicy": "static",
        "maxPods": 10,
        "kubeReserved": {"cpu": "2"},  # a table of a flag replaces the file's
        "featureGates": {"CPUManager": "true", "MemoryManager": False},
    }


def test_feature_gates_of_a_file_that_are_no_table_are_not_merged() -> None:
    flags = flag_settings({"feature-gates": "CPUManager=true"})
    assert with_flags({"featureGates": Setting("f", "CPUManager=false")}, flags) == flags
