"""Scenarios of the policy cost: plugins that tell costs, options of the policy, expectations of what is chosen."""

from pathlib import Path

import pytest

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.harness.scenario.model import ExpectedCost, PluginSpec
from numaproof.harness.scenario.parse import parse_scenario
from numaproof.harness.scenario.plugins import fake_plugin, functions_of
from numaproof.harness.scenario.sizes import sizes_of

STORY = """\
name: n
why: w
source: s
needs: {rdma: 1}
matrix:
  policy: [cost]
  scope: [container, pod]
kubelet:
  topologyManagerPolicyOptions: {cost-maximum: 120, cost-unlisted: farthest, cost-seed: 3}
plugins:
  - resource: e/gpu
    devices: [{id: gpu0}, {id: gpu1}]
    costs:
      e/gpu/gpu0: [{10: [e/gpu/gpu1]}]
  - resource: rdma/hca
    sysfs: rdma
    costs: pci
steps:
  - admit: {name: first, containers: [{name: app, requests: {e/gpu: 2}}]}
    expect:
      cost: {at_most: 100.5, optimal: true}
      containers: {app: {bridges: {between: [e/gpu, rdma/hca], at_most: 2}}}
  - remove: first
"""

MISTAKES = [
    (
        "[cost]",
        "[cost, strict]",
        "9: kubelet.topologyManagerPolicyOptions: cost-maximum: is an option of",
    ),
    ("cost-seed: 3", "cost-sed: 3", "9: kubelet.topologyManagerPolicyOptions: cost-sed: unknown option"),
    (
        "at_most: 100.5",
        "at_most: -1",
        "21: steps[0].expect.cost.at_most: -1 is not a cost; write a number",
    ),
    ("at_most: 100.5", "at_most: much", "21: steps[0].expect.cost.at_most: 'much' is not a cost"),
    ("at_most", "atmost", "21: steps[0].expect.cost.atmost: unknown key; known: at_most, optimal"),
    ("optimal: true", "optimal: maybe", "21: steps[0].expect.cost.optimal: 'maybe' is neither true nor false"),
    (
        "remove: first",
        "remove: first\n    expect: {cost: {at_most: 1}}",
        "24: steps[1].expect.cost: remove chooses nothing",
    ),
    (
        "sysfs: rdma",
        "per_numa: 1",
        "17: plugins[1].costs: pci are the costs of the machine's own devices",
    ),
    (
        "- resource: e/gpu",
        "- resource: e/nic",
        "13: plugins[0].costs: has no costs from e/nic; write e/nic/ID: ",
    ),
    ("[{10: [e/gpu/gpu1]}]", "[{-1: [e/gpu/gpu1]}]", '14: "-1" is no cost; write a number from 0 on'),
    (
        "between: [e/gpu, rdma/hca]",
        "between: [e/gpu]",
        "22: steps[0].expect.containers.app.bridges: {'between': ['e/gpu'], 'at_most': 2} is not {between: [RESOURCE,",
    ),
    ("at_most: 2}", "at_most: -2}", "'at_most': -2} is not {between: [RESOURCE, RESOURCE], at_most: N}"),
    ("[e/gpu, rdma/hca]", "[e/gpu, rdma/hcb]", "22: steps[0].expect.containers.app.bridges.between: "),
    (
        "remove: first",
        "remove: first\n    expect: {allocatable: {bridges: {between: [e/gpu, rdma/hca], at_most: 2}}}",
        "24: steps[1].expect.allocatable.bridges: is about the devices of a container; drop it",
    ),
    ("costs: pci", "costs: usb", "17: plugins[1].costs: 'usb' is not a mapping"),
    ("sysfs: rdma", "sysfs: ib", "16: plugins[1].sysfs: 'ib' is not known; take one of: gpu, nic, rdma"),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "theme/story.yaml"
    made.parent.mkdir()
    made.write_text(STORY)
    return made


def test_costs_are_read(file: Path) -> None:
    scenario = parse_scenario(file)
    assert [plugin.costs for plugin in scenario.plugins] == [{"e/gpu/gpu0": [{"10": ["e/gpu/gpu1"]}]}, "pci"]
    [expected] = scenario.steps[0].expected
    assert expected.cost == ExpectedCost(100.5, True)
    assert expected.containers == {"app": {"bridges": {"between": ["e/gpu", "rdma/hca"], "at_most": 2}}}
    assert expected.admitted is True
    assert scenario.needs.rdma == 1


@pytest.mark.parametrize(("right", "wrong", "said"), MISTAKES, ids=[row[1] for row in MISTAKES])
def test_a_mistake_has_a_line(file: Path, right: str, wrong: str, said: str) -> None:
    file.write_text(STORY.replace(right, wrong, 1))
    with pytest.raises(UserError) as told:
        parse_scenario(file)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_whole_network_cards_are_offered_not_their_functions() -> None:
    """The preset says by itself which of its PCI functions are InfiniBand or Ethernet cards."""
    machine = fake_sysfs.preset("dgx-a100")
    plugin = fake_plugin(
        PluginSpec("rdma/hca", sysfs="rdma", costs="pci"), machine, sizes_of(machine, memory_static=False), "x.yaml"
    )
    assert (plugin.kind, plugin.costs) == ("rdma", "pci")
    cards = {one.address for one in machine.devices() if one.class_code >> 8 in (0x0200, 0x0207)}
    assert cards
    assert {one.id for one in plugin.devices} == cards


def test_virtual_functions_are_no_cards() -> None:
    """The machine of two cards with eight virtual functions each."""
    machine = fake_sysfs.parse_machine(str(Path(__file__).parents[3] / "suites/machines/xeon-2s-sriov.yaml"))
    assert [one.address for one in functions_of("rdma", machine)] == ["0000:18:00.0", "0000:98:00.0"]
    assert len(list(functions_of("nic", machine))) == 16
