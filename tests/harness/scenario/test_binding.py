"""Places: positions and counts become ids and lists of a machine, texts stay as they are, mistakes are told at once."""

from pathlib import Path
from typing import Any

import pytest

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.binding import (
    CpusOfNode,
    Place,
    names_own_taints,
    parse_place,
    parse_toleration,
    speaks_of_places,
)
from numaproof.harness.scenario.fields import Fields
from numaproof.harness.scenario.pods import POD, pod_from_file, written_pod
from numaproof.harness.scenario.sizes import sizes_of

# CPUs 0-7 on node 0, 8-15 on node 1; a core has two, the first one of each node is reserved.
SIZES = sizes_of(fake_sysfs.parse_machine("pack:2 [numa] core:4 pu:2"), memory_static=False)
POWER = sizes_of(fake_sysfs.preset("power9-ac922"), memory_static=False)  # its nodes with CPUs are 0 and 8
WHERE = Where("story.yaml").at("steps").at(0).at("bind")
TOLERATION = {"key": "CPUAffinity", "operator": "Equal", "value": "dedicated"}


def fields_of(**given: Any) -> Fields:
    return Fields(given, WHERE, POD)


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({}, {}),
        ({"numa": 1}, {"numaNodeID": "1"}),
        ({"numa": -1}, {"numaNodeID": "1"}),
        ({"numa": "7"}, {"numaNodeID": "7"}),
        ({"numa": "first"}, {"numaNodeID": "first"}),
        ({"cpus": {"count": 2}}, {"cpuAffinity": "2-3"}),
        ({"cpus": {"numa": 1, "count": "half numa.cpus", "skip": 1}}, {"cpuAffinity": "11-13"}),
        ({"cpus": {"numa": -1, "count": "numa.cpus"}}, {"cpuAffinity": "10-15"}),
        ({"cpus": "core0"}, {"cpuAffinity": "0-1"}),
        ({"cpus": "core1.1"}, {"cpuAffinity": "3"}),
        ({"cpus": "3-1,,x"}, {"cpuAffinity": "3-1,,x"}),
        ({"cpus": 5}, {"cpuAffinity": "5"}),
        ({"numa": 0, "cpus": {"count": 1}}, {"numaNodeID": "0", "cpuAffinity": "2"}),
    ],
)
def test_a_place_on_a_machine(given: dict[str, Any], added: dict[str, str]) -> None:
    assert parse_place(fields_of(**given)).fields(SIZES, "steps[0]") == added


def test_positions_are_not_ids() -> None:
    place = Place(1, CpusOfNode(1, "1"))
    assert place.fields(POWER, "steps[0]")["numaNodeID"] == "8"
    assert int(place.fields(POWER, "steps[0]")["cpuAffinity"]) in POWER.free_cpus[8]
    assert sorted(place.named_nodes()) == [1, 1]
    assert list(Place("1", "8-9").named_nodes()) == []


@pytest.mark.parametrize(
    ("cpus", "said"),
    [
        (
            CpusOfNode(0, "7"),
            "steps[0].cpus: 7 CPUs after 0 of NUMA node 0, which has 6 that are not reserved; say so in",
        ),
        (CpusOfNode(0, "3", "4"), "3 CPUs after 4 of NUMA node 0, which has 6"),
        (CpusOfNode(0, "numa.cpus - 6"), "0 CPUs after 0 of NUMA node 0"),
        (CpusOfNode(5, "1"), "1 CPUs after 0 of NUMA node 5, which has 0"),
        ("core9", "steps[0].cpus: core9: the first NUMA node has 4 cores; say so in `needs`"),
    ],
)
def test_what_a_machine_does_not_have_is_told(cpus: CpusOfNode | str, said: str) -> None:
    with pytest.raises(UserError) as told:
        Place(None, cpus).fields(SIZES, "steps[0]")
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"numa": 1.5}, "bind.numa: 1.5 is not a NUMA node; write its position, or an id as a text"),
        ({"numa": True}, "bind.numa: True is not a NUMA node"),
        ({"numa": None}, "bind.numa: None is not a NUMA node"),
        (
            {"cpus": [1]},
            "bind.cpus: [1] is not a set of CPUs; write {numa: 0, count: half numa.cpus}, core1-2 or a list",
        ),
        ({"cpus": True}, "bind.cpus: True is not a set of CPUs"),
        ({"cpus": {"numa": 0}}, "bind.cpus.count: is missing; write how many CPUs"),
        (
            {"cpus": {"numa": "0", "count": 1}},
            "bind.cpus.numa: '0' is not the position of a NUMA node; write 0, 1 or -1",
        ),
        ({"cpus": {"count": "few"}}, "bind.cpus.count: 'few' is not a number"),
        ({"cpus": {"count": 1, "skip": "1.5"}}, "bind.cpus.skip: '1.5' is not a count"),
        ({"cpus": {"number": 1}}, "bind.cpus.number: unknown key; known: numa, count, skip"),
    ],
)
def test_a_mistake_in_a_place(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as told:
        parse_place(fields_of(**given))
    assert said in str(told.value)
    assert str(told.value).startswith("story.yaml")
    assert "\n" not in str(told.value)


def test_tolerations_in_short_and_at_length() -> None:
    assert parse_toleration("CPUAffinity=dedicated", WHERE) == TOLERATION
    assert parse_toleration("CPUAffinity", WHERE) == {"key": "CPUAffinity", "operator": "Exists"}
    odd = {"key": "CPUAffinity", "operator": "Like"}
    assert parse_toleration(odd, WHERE) == odd  # which is for the node to refuse


@pytest.mark.parametrize("value", ["", "=dedicated", "CPUAffinity=", "CPUAffinity=dedicated:NoExecute", 3, None, ["a"]])
def test_a_mistake_in_a_toleration(value: Any) -> None:
    with pytest.raises(UserError, match="is not a toleration; write KEY=VALUE, KEY, or a mapping with its fields"):
        parse_toleration(value, WHERE)


@pytest.mark.parametrize(
    ("spec", "speaks"),
    [
        ({}, False),
        ({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}, False),
        ({"tolerations": [{"operator": "Exists"}]}, False),
        ({"tolerations": [TOLERATION]}, True),
        ({"tolerations": [{"key": "NUMAAffinity", "operator": "Exists"}]}, True),
        ({"tolerations": [{"operator": "Exists", "effect": "NoScheduleNoAdmitNoExecute"}]}, True),
        ({"numaNodeID": "0"}, True),
        ({"cpuAffinity": "1"}, True),
    ],
)
def test_who_asks_for_what_a_kubelet_does_not_know(spec: dict[str, Any], speaks: bool) -> None:
    assert speaks_of_places(spec) is speaks
    assert not names_own_taints(None)


CONTAINERS = [{"name": "app", "requests": {"cpu": 2}}]


def test_a_written_pod_has_its_place_in_its_manifest() -> None:
    pod = written_pod(
        fields_of(name="p", containers=CONTAINERS, tolerations=["CPUAffinity=dedicated"], numa=1, cpus={"count": 2})
    )
    spec = pod.manifest(SIZES, "steps[0]")["spec"]
    assert (spec["tolerations"], spec["numaNodeID"], spec["cpuAffinity"]) == ([TOLERATION], "1", "2-3")
    assert pod.is_bound
    assert sorted(pod.named_nodes()) == [0, 1]
    plain = written_pod(fields_of(name="p", containers=CONTAINERS))
    assert plain.manifest(SIZES, "steps[0]")["spec"].keys() == {"containers"}
    assert not plain.is_bound


def test_a_pod_of_a_file_has_its_own(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    spec = "containers: [{name: app}], tolerations: [{key: CPUAffinity, operator: Exists}], cpuAffinity: 2-3"
    file.write_text(f"{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{{spec}}}}}")
    pod = pod_from_file(fields_of(file=str(file)))
    assert pod.is_bound
    assert list(pod.named_nodes()) == []
    assert pod.manifest(SIZES, "steps[0]")["spec"]["cpuAffinity"] == "2-3"
