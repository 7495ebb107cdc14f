"""The Topology Manager, pure: masks, hints, merge, policies, scopes, manager."""

from numaproof.harness.topology.bitmask import NodeMask, ids_of, mask_of
from numaproof.harness.topology.hints import Demand, HintFamily, Hints, TopologyHint
from numaproof.harness.topology.manager import Manager
from numaproof.harness.topology.numa import NumaInfo
from numaproof.harness.topology.placement import Failure, Placement, Step
from numaproof.harness.topology.policies import POLICIES, Decision, Policy, PolicyOptions, policy_options
from numaproof.harness.topology.provider import AllocationError, HintProvider, SMTAlignmentError
from numaproof.harness.topology.selection import Choice, Selection, Selector
from numaproof.harness.topology.store import Store
from numaproof.harness.topology.verdict import Verdict

__all__ = [
    "POLICIES",
    "AllocationError",
    "Choice",
    "Decision",
    "Demand",
    "Failure",
    "HintFamily",
    "HintProvider",
    "Hints",
    "Manager",
    "NodeMask",
    "NumaInfo",
    "Placement",
    "Policy",
    "PolicyOptions",
    "SMTAlignmentError",
    "Selection",
    "Selector",
    "Step",
    "Store",
    "TopologyHint",
    "Verdict",
    "ids_of",
    "mask_of",
    "policy_options",
]
