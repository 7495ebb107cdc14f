"""One scenario becomes many instances, each with its machine and its kubelet."""

from pathlib import Path
from typing import Any

from numaproof import fake_sysfs
from numaproof.harness.scenario.instances import Instance, instances, kubelet_configuration
from numaproof.harness.scenario.model import Needs, Scenario
from numaproof.harness.scenario.sizes import sizes_of

# 2 NUMA nodes with CPUs, 8 cores of 2 threads each; 2 MiB pages everywhere, no GPU.
MACHINE = fake_sysfs.parse_machine("pack:2 [numa(memory=4GiB)] core:8 pu:2")
SIZES = sizes_of(MACHINE, memory_static=False)


def scenario(path: Path = Path("/x/theme/file.yaml"), **words: Any) -> Scenario:
    given = {"matrix": {}, "kubelet": {}, **words}
    return Scenario(path, "theme", "n", "w", "s", Needs(), plugins=(), steps=(), **given)


def test_every_machine_with_every_value() -> None:
    matrix = {"policy": ("none", "restricted"), "machine": ("a", "b"), "scope": ("pod",)}
    assert [one.id for one in instances(scenario(matrix=matrix))] == [
        "theme/file[a-none-pod]",
        "theme/file[a-restricted-pod]",
        "theme/file[b-none-pod]",
        "theme/file[b-restricted-pod]",
    ]


def test_given_machines_replace_the_scenario_s() -> None:
    found = list(instances(scenario(matrix={"machine": ("a", "b"), "scope": ("pod", "container")}), ("c",)))
    assert [(one.machine, one.values) for one in found] == [("c", {"scope": "pod"}), ("c", {"scope": "container"})]


def test_a_machine_file_beside_the_scenarios_goes_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "machines").mkdir()
    (tmp_path / "machines/mine.yaml").write_text("preset: laptop\n")
    path = tmp_path / "scenarios/theme/file.yaml"
    assert Instance(scenario(path), "mine", {}).argument == str(tmp_path / "machines/mine.yaml")
    assert Instance(scenario(path), "laptop", {}).argument == "laptop"
    assert Instance(scenario(tmp_path / "other/theme/file.yaml"), "mine", {}).argument == "mine"


def test_a_machine_of_a_matrix_is_a_file_beside_its_scenario_whoever_runs_it(tmp_path: Path) -> None:
    (tmp_path / "edge.yaml").write_text("preset: laptop\n")
    own = scenario(tmp_path / "file.yaml", matrix={"machine": ("edge.yaml", "./edge.yaml", "laptop", "gone.yaml")})
    beside = str(tmp_path / "edge.yaml")
    assert [one.argument for one in instances(own)] == [beside, beside, "laptop", "gone.yaml"]
    # What a command line gives is the command line's.
    assert [one.argument for one in instances(own, ("edge.yaml",))] == ["edge.yaml"]


def test_the_kubelet_s_configuration() -> None:
    words = scenario(kubelet={"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}})
    made = kubelet_configuration(Instance(words, "m", {"policy": "none", "scope": "pod", "x": "y"}), MACHINE, SIZES)
    assert made == {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "topologyManagerPolicy": "none",
        "topologyManagerScope": "pod",
        "x": "y",
        # the first core of every node; the hwloc string numbers a core's threads one after the other
        "reservedSystemCPUs": "0,1,16,17",
    }


def test_a_static_memory_manager_gets_reservations_that_add_up() -> None:
    words = scenario(kubelet={"memoryManagerPolicy": "Static"})
    made = kubelet_configuration(Instance(words, "m", {}), MACHINE, SIZES)
    reserved = sum(int(one["limits"]["memory"]) for one in made["reservedMemory"])
    # The kubelet demands: reserved memory = kube reserved + system reserved + the eviction threshold.
    assert reserved == int(made["systemReserved"]["memory"]) + int(made["evictionHard"]["memory.available"])
    assert [one["numaNode"] for one in made["reservedMemory"]] == [0, 1]


def test_what_a_scenario_reserves_itself_stays() -> None:
    words = scenario(kubelet={"memoryManagerPolicy": "Static", "reservedMemory": [], "reservedSystemCPUs": "5"})
    made = kubelet_configuration(Instance(words, "m", {}), MACHINE, SIZES)
    assert (made["reservedMemory"], made["reservedSystemCPUs"]) == ([], "5")
    assert "evictionHard" not in made


def test_a_number_of_the_matrix_is_one_to_the_kubelet() -> None:
    made = kubelet_configuration(Instance(scenario(), "m", {"maxPods": "5"}), MACHINE, SIZES)
    assert made["maxPods"] == 5


def test_semantics_are_the_node_s_and_not_the_kubelet_s() -> None:
    matrix = {"policy": ("restricted",), "semantics": ("current", "kep")}
    current, kep = instances(scenario(matrix=matrix), ("m",))
    assert (current.id, kep.id) == ("theme/file[m-restricted-current]", "theme/file[m-restricted-kep]")
    assert (current.semantics, kep.semantics) == ("current", "kep")
    assert Instance(scenario(), "m", {}).semantics == "current"
    assert "semantics" not in kubelet_configuration(kep, MACHINE, SIZES)
