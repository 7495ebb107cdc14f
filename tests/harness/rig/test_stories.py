"""Small stories on a real node: what a scenario may say is judged, and a wrong word is noticed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from numaproof import fake_sysfs
from numaproof.harness.rig.session import Session
from numaproof.harness.runtimes.trees import machine_of
from numaproof.harness.scenario.instances import Instance, instances, kubelet_configuration
from numaproof.harness.scenario.model import PluginSpec
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.plugins import fake_plugin
from numaproof.harness.scenario.sizes import sizes_of
from numaproof.harness.scenario.skips import reason_not_to_run
from tests.places import short_directory

NIC = "example.com/nic"
TINY = {"packages": 2, "cores": 4, "threads": 2, "memory": "4GiB"}
POD = {"name": "p", "containers": [{"name": "app", "requests": {"cpu": 2, "memory": "64Mi"}}]}


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with short_directory() as found:
        (found / "machines").mkdir()
        (found / "machines/tiny.yaml").write_text(yaml.safe_dump(TINY))
        (found / "scenarios/mine").mkdir(parents=True)
        yield found


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with short_directory() as found, Session("process", found, "w") as made:
        yield made


def told(place: Path, **words: object) -> Instance:
    """The only instance of a scenario with these words."""
    path = place / "scenarios/mine/story.yaml"
    story = {"name": "n", "why": "w", "source": "s", "matrix": {"machine": ["tiny"]}, **words}
    path.write_text(json.dumps(story))  # YAML, too, and without anchors
    (instance,) = instances(parse_scenario(path))
    return instance


def test_a_machine_beside_the_scenarios_goes_by_its_name(place: Path) -> None:
    instance = told(place, steps=[{"admit": POD, "expect": {"admitted": True}}])
    assert instance.id == "mine/story[tiny]"
    assert machine_of(instance.argument).cpu_ids == tuple(range(16))


def test_a_refusal_to_start(place: Path, session: Session) -> None:
    wrong = {"cpuManagerPolicyOptions": {"no-such-option": "true"}}
    assert session.run(told(place, kubelet=wrong, refuses="no-such-option")) == []
    (other,) = session.run(told(place, kubelet=wrong, refuses="something else"))
    assert other.startswith("expected a refusal to start with 'something else', was: the node ended:")
    assert session.run(told(place, refuses="anything")) == ["expected a refusal to start with 'anything', was up"]


def test_a_refusal_to_start_again(place: Path, session: Session) -> None:
    def steps(expected: str) -> list[dict[str, object]]:
        return [{"offline": {"last_of_numa": 1}, "expect": {"refuses": expected}}]

    # The static CPU manager's state names the CPU; without it nothing does.
    assert session.run(told(place, steps=steps("doesn't match"))) == []
    (other,) = session.run(told(place, steps=steps("something else")))
    assert "steps[0]: expected a refusal to start with 'something else', was: the node ended:" in other
    (up,) = session.run(told(place, kubelet={"cpuManagerPolicy": "none"}, steps=steps("doesn't match")))
    assert up.endswith('steps[0]: expected a refusal to start with "doesn\'t match", was up')


def test_cpus_by_numa_node(place: Path, session: Session) -> None:
    def steps(cpus: object) -> list[dict[str, object]]:
        return [{"admit": POD, "expect": {"containers": {"app": {"cpus": cpus}}}}]

    assert session.run(told(place, steps=steps({0: 2}))) == []
    wrong = session.run(told(place, steps=steps({0: 1, 1: 1})))[0]
    assert wrong.endswith("expected app's CPUs by NUMA node {0: 1, 1: 1}, were {0: 2}")


def test_what_an_init_container_leaves_is_nobodys(place: Path, session: Session) -> None:
    containers = [
        {"name": "init", "kind": "init", "requests": {"cpu": 1, "memory": "1Gi"}},
        {"name": "app", "requests": {"cpu": 1, "memory": "64Mi"}},
    ]
    steps = [{"admit": {"name": "p", "containers": containers}, "expect": {"admitted": True}}, {"restart": "node"}]
    assert session.run(told(place, kubelet={"memoryManagerPolicy": "Static"}, steps=steps)) == []


def test_metrics_of_a_node(place: Path, session: Session) -> None:
    def steps(count: int) -> list[dict[str, object]]:
        metrics = {"kubelet_topology_manager_admission_requests_total": count}
        return [{"admit": POD, "expect": {"admitted": True, "metrics": metrics}}]

    assert session.run(told(place, steps=steps(1))) == []
    wrong = session.run(told(place, steps=steps(2)))[0]
    assert wrong.endswith("expected the metric kubelet_topology_manager_admission_requests_total to be 2, was 1.0")


def test_pod_resources_of_a_node(place: Path, session: Session) -> None:
    containers = [
        {"name": "init", "kind": "init", "requests": {"cpu": 1, "memory": "1Gi"}},
        {"name": "helper", "kind": "sidecar", "requests": {"cpu": 1, "memory": "64Mi", NIC: 1}},
        {"name": "app", "requests": {"cpu": 1, "memory": "64Mi", NIC: 2}},
    ]
    devices = [{"id": "both", "numa": [0, 1]}, {"id": "nowhere"}, {"id": "empty", "numa": []}]

    def steps(shown: list[str], allocatable: object) -> list[dict[str, object]]:
        expect = {"listed": {"p": shown}, "allocatable": allocatable}
        return [{"admit": {"name": "p", "containers": containers}, "expect": expect}]

    words = {"kubelet": {"memoryManagerPolicy": "Static"}, "plugins": [{"resource": NIC, "devices": devices}]}
    # One of the two reserved cores has the CPUs 0 and 8. A device whose topology has no nodes is nobody's to see.
    right = {"cpus": "1-3,5-7,9-11,13-15", "memory_nodes": [0, 1], "devices": {NIC: {"0,1": 1, "none": 1}}}
    assert session.run(told(place, steps=steps(["helper", "app"], right), **words)) == []
    wrong = session.run(told(place, steps=steps(["init", "helper", "app"], right), **words))[0]
    assert wrong.endswith("['app', 'helper', 'init'] of p, was the containers ['app', 'helper']")
    wrong = session.run(told(place, steps=steps(["helper", "app"], {"cpus": "0-15"}), **words))[0]
    assert wrong.endswith("expected all that is allocatable on the CPUs 0-15, were 1-3,5-7,9-11,13-15")


def test_costs_that_plugins_tell_from_the_scenario(place: Path, session: Session) -> None:
    """nic0 and nic2 are the nearest: 1 of 10 in the one direction that is told, remapped to 10."""
    costs = {
        f"{NIC}/nic0": [{"10": [f"{NIC}/nic1"]}, {"1": [f"{NIC}/nic2"]}],
        f"{NIC}/nic1": [{"10": [f"{NIC}/nic2"]}],
    }
    plugin = {"resource": NIC, "devices": [{"id": f"nic{number}"} for number in range(3)], "costs": costs}
    asking = {"name": "p", "containers": [{"name": "app", "requests": {NIC: 2}}]}

    def story(policy: str, at_most: int) -> Instance:
        cost = {"at_most": at_most, "optimal": True}
        expect = {"containers": {"app": {"devices": {NIC: ["nic0", "nic2"]}}}, "cost": cost}
        kubelet = {"topologyManagerPolicy": policy}
        return told(place, kubelet=kubelet, plugins=[plugin], steps=[{"admit": asking, "expect": expect}])

    assert session.run(story("cost", 10)) == []
    (dear, _given) = session.run(story("cost", 9))
    assert dear.endswith("expected a cost of at most 9, was 10")
    untold = session.run(story("restricted", 10))[0]
    assert untold.endswith("expected a cost, the node told none (only the policy cost has them)")


def test_costs_that_plugins_find_in_the_pci_tree(place: Path, session: Session) -> None:
    """The card 3d:00.0 and the GPU 3c:00.0 are below one switch; 17:00.0, which has the lower address, is not."""
    bridges = str(Path(fake_sysfs.__file__).parent.parent / "suites/machines/xeon-2s-bridges.yaml")
    gpu = "example.com/gpu"
    asking = {"name": "p", "containers": [{"name": "app", "requests": {gpu: 1, NIC: 1}}]}
    plugins = [{"resource": gpu, "sysfs": "gpu", "costs": "pci"}, {"resource": NIC, "sysfs": "nic", "costs": "pci"}]
    expect = {"containers": {"app": {"devices": {gpu: ["0000:3c:00.0"], NIC: 1}}}}
    words = {"matrix": {"machine": [bridges], "policy": ["cost"]}, "plugins": plugins}
    assert session.run(told(place, **words, steps=[{"admit": asking, "expect": expect}])) == []


@pytest.mark.parametrize(("how", "known"), [("fails", False), ("ends", True)])
def test_a_list_that_is_not_followed(place: Path, session: Session, how: str, known: bool) -> None:
    asking = {"name": "app", "requests": {"cpu": 2, "memory": "64Mi", NIC: 1}}
    refused = {"admit": {"name": "early", "containers": [asking]}, "expect": {"admitted": False}}
    followed = {"restart": "node", "expect": {"calls": {NIC: {"ListAndWatch": 1}}}}
    again = {"restart": NIC, "expect": {"calls": {NIC: {"ListAndWatch": 1}}, "allocatable": {"devices": {NIC: 0}}}}
    given = {"admit": {"name": "late", "containers": [asking]}, "expect": {"containers": {"app": {"nodes": [1]}}}}
    plugin = {"resource": NIC, "devices": [{"id": "a", "numa": [1]}], "list": how}
    kubelet = {"topologyManagerPolicy": "restricted"}
    steps = [refused, followed, given, again]
    assert session.run(told(place, plugins=[plugin], kubelet=kubelet, steps=steps)) == []
    kept = {**plugin, "list": "kept"}
    assert session.run(told(place, plugins=[kept], kubelet=kubelet, steps=[refused]))[0].endswith("was admitted")
    # Only if the devices were told once does the Topology Manager know that they have NUMA nodes.
    reason = {**refused, "expect": {"reason": "TopologyAffinityError"}}
    assert (session.run(told(place, plugins=[plugin], kubelet=kubelet, steps=[reason])) == []) is known


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"expect": {"admitted": True}}, None),
        ({"expect": {"nodes": [0, 1]}}, None),
        ({"expect": {"nodes": [2]}}, "speaks of 3 NUMA nodes with CPUs, xeon-2s has 2"),
        ({"expect": {"containers": {"app": {"cpus": {3: 2}}}}}, "speaks of 4 NUMA nodes with CPUs, xeon-2s has 2"),
        ({"expect": {"containers": {"app": {"memory_nodes": [5]}}}}, "speaks of 6 NUMA nodes with CPUs, xeon-2s has 2"),
        ({"expect": {"allocatable": {"memory_nodes": [4]}}}, "speaks of 5 NUMA nodes with CPUs, xeon-2s has 2"),
    ],
)
def test_nodes_that_another_machine_lacks(place: Path, words: dict[str, object], reason: str | None) -> None:
    scenario = told(place, steps=[{"admit": POD, **words}]).scenario
    machine = fake_sysfs.preset("xeon-2s")
    sizes = sizes_of(machine, memory_static=False)
    assert reason_not_to_run(Instance(scenario, "xeon-2s", {}), machine, sizes) == reason


def test_own_machines(place: Path) -> None:
    instance = told(
        place, needs={"own_machines": "its CPUs count"}, steps=[{"admit": POD, "expect": {"admitted": True}}]
    )
    machine = machine_of(instance.argument)
    sizes = sizes_of(machine, memory_static=False)
    assert reason_not_to_run(instance, machine, sizes) is None
    elsewhere = reason_not_to_run(Instance(instance.scenario, "host", {}), machine, sizes)
    assert elsewhere == "is for its own machines (tiny): its CPUs count"


def test_many_nodes_are_allowed_unless_a_refusal_is_expected(place: Path) -> None:
    machine = fake_sysfs.parse_machine("pack:9 [numa(memory=1GB)] core:2 pu:1")
    sizes = sizes_of(machine, memory_static=False)

    def options(**words: object) -> object:
        instance = told(place, **words)
        return kubelet_configuration(instance, machine, sizes).get("topologyManagerPolicyOptions")

    steps = [{"admit": POD, "expect": {"admitted": True}}]
    closest = {"topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"}}
    assert options(steps=steps) == {"max-allowable-numa-nodes": "9"}
    assert options(steps=steps, kubelet=closest) == {
        "max-allowable-numa-nodes": "9",
        "prefer-closest-numa-nodes": "true",
    }
    assert options(refuses="more than 8 NUMA Nodes") is None


def test_nics_are_virtual_functions() -> None:
    card = {"address": "18:00.0", "class": "nic", "vfs": {"count": 2, "first": "18:02.0"}}
    with short_directory() as place:
        file = place / "m.yaml"
        file.write_text(yaml.safe_dump({**TINY, "pci": [{"root": "0000:18", "node": 1, "devices": [card]}]}))
        machine = fake_sysfs.parse_machine(str(file))
    plugin = fake_plugin(PluginSpec("r/nic", sysfs="nic"), machine, sizes_of(machine, memory_static=False), "x")
    assert [(one.id, one.numa) for one in plugin.devices] == [("0000:18:02.0", (1,)), ("0000:18:02.1", (1,))]
