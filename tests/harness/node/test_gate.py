"""The feature gate TopologyManager: on unless it is set, under either semantics."""

import pytest

from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.config import node_config
from numaproof.harness.node.node import Node
from numaproof.harness.vocabulary import SEMANTICS, Semantics
from tests.harness.node.running import STATIC, TWO_NODES, pod
from tests.places import short_directory


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize(("gates", "refused"), [({}, True), ({"TopologyManager": False}, False)])
def test_the_beta_default_holds(semantics: Semantics, gates: dict[str, bool], refused: bool) -> None:
    """Proposal, Beta (v1.18): "Enable the feature gate by default"; semantics kep is what v1.18 built."""
    config = STATIC | {"topologyManagerPolicy": "single-numa-node", "featureGates": gates}
    with (
        short_directory() as root,
        Node(node_config(config, semantics=semantics), parse_machine(TWO_NODES), root, log=lambda _line: None) as node,
    ):
        verdict = node.admit(pod("wide", {"cpu": 10, "memory": "1Gi"}))
        assert verdict.reason == ("TopologyAffinityError" if refused else "")
