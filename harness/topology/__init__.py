"""The Topology Manager, pure: masks, hints, merge, policies, scopes, manager."""

from harness.topology.bitmask import NodeMask, ids_of, mask_of
from harness.topology.hints import Demand, HintFamily, Hints, TopologyHint
from harness.topology.manager import Manager
from harness.topology.numa import NumaInfo
from harness.topology.policies import POLICIES, Decision, Policy, PolicyOptions, policy_options
from harness.topology.provider import AllocationError, HintProvider, SMTAlignmentError
from harness.topology.store import Store
from harness.topology.verdict import Verdict

__all__ = [
    "POLICIES",
    "AllocationError",
    "Decision",
    "Demand",
    "HintFamily",
    "HintProvider",
    "Hints",
    "Manager",
    "NodeMask",
    "NumaInfo",
    "Policy",
    "PolicyOptions",
    "SMTAlignmentError",
    "Store",
    "TopologyHint",
    "Verdict",
    "ids_of",
    "mask_of",
    "policy_options",
]
