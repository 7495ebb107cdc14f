"""Prove NUMA alignment without NUMA hardware: what docs/ teaches, importable from here; the rest may move.

Each name is loaded when it is asked for: whoever needs a machine does not wait for gRPC, and pytest, which imports this
package wherever it is installed, waits for nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# What type checkers and editors read; what is loaded is below, and a test compares the two.
if TYPE_CHECKING:
    from numaproof.errors import UserError as UserError
    from numaproof.fake_sysfs import Machine as Machine
    from numaproof.fake_sysfs import MachineError as MachineError
    from numaproof.fake_sysfs import files as machine_files
    from numaproof.fake_sysfs import parse_machine as parse_machine
    from numaproof.fake_sysfs import preset_names as preset_names
    from numaproof.fake_sysfs import read as read_tree
    from numaproof.fake_sysfs import write as write_tree
    from numaproof.fake_sysfs.alter import with_cpus as with_cpus
    from numaproof.fake_sysfs.alter import with_hugepages as with_hugepages
    from numaproof.fake_sysfs.alter import with_vfs as with_vfs
    from numaproof.fake_sysfs.alter import without_cpus as without_cpus
    from numaproof.fake_sysfs.change import change as change_tree
    from numaproof.fake_sysfs.device_costs import DeviceCost as DeviceCost
    from numaproof.fake_sysfs.device_costs import device_costs as device_costs
    from numaproof.harness.api import deviceplugin_v1beta1_pb2 as deviceplugin_pb2
    from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as deviceplugin_pb2_grpc
    from numaproof.harness.api import numaproof_v1_pb2 as control_pb2
    from numaproof.harness.api import numaproof_v1_pb2_grpc as control_pb2_grpc
    from numaproof.harness.conformance import CATALOGUE as CATALOGUE
    from numaproof.harness.conformance import Report as Report
    from numaproof.harness.conformance import Settings as Settings
    from numaproof.harness.conformance import check as check
    from numaproof.harness.decision.assignment import Assignment as Assignment
    from numaproof.harness.decision.config import node_config as node_config
    from numaproof.harness.decision.discovery import describe as describe_machine
    from numaproof.harness.decision.managers import ManagerConfig as ManagerConfig
    from numaproof.harness.decision.managers import Managers as Managers
    from numaproof.harness.decision.managers import NodeDescription as NodeDescription
    from numaproof.harness.decision.trace import Trace as Trace
    from numaproof.harness.explain.explanation import Explanation as Explanation
    from numaproof.harness.intake.explain_pod import explain as explain
    from numaproof.harness.node.node import Node as Node
    from numaproof.harness.pods.manifest import pod_from as pod_from
    from numaproof.harness.pods.pod import Container as Container
    from numaproof.harness.pods.pod import Pod as Pod
    from numaproof.harness.pods.requests import pod_total as pod_total
    from numaproof.harness.rig.scenario_run import ScenarioResult as ScenarioResult
    from numaproof.harness.rig.scenario_run import run_scenario as run_scenario
    from numaproof.harness.topology import AllocationError as AllocationError
    from numaproof.harness.topology import HintFamily as HintFamily
    from numaproof.harness.topology import HintProvider as HintProvider
    from numaproof.harness.topology import Hints as Hints
    from numaproof.harness.topology import TopologyHint as TopologyHint
    from numaproof.harness.topology import ids_of as ids_of
    from numaproof.harness.topology import mask_of as mask_of
    from numaproof.plugins_mock import Fault as Fault
    from numaproof.plugins_mock import MockCost as MockCost
    from numaproof.plugins_mock import MockDevice as MockDevice
    from numaproof.plugins_mock import MockPlugin as MockPlugin

# Name -> the module that has it, and its name there.
_HOMES = {
    # Machines
    "Machine": ("fake_sysfs", "Machine"),
    "MachineError": ("fake_sysfs", "MachineError"),
    "parse_machine": ("fake_sysfs", "parse_machine"),
    "preset_names": ("fake_sysfs", "preset_names"),
    "machine_files": ("fake_sysfs", "files"),
    "write_tree": ("fake_sysfs", "write"),
    "read_tree": ("fake_sysfs", "read"),
    "change_tree": ("fake_sysfs.change", "change"),
    "with_cpus": ("fake_sysfs.alter", "with_cpus"),
    "without_cpus": ("fake_sysfs.alter", "without_cpus"),
    "with_hugepages": ("fake_sysfs.alter", "with_hugepages"),
    "with_vfs": ("fake_sysfs.alter", "with_vfs"),
    "device_costs": ("fake_sysfs.device_costs", "device_costs"),
    "DeviceCost": ("fake_sysfs.device_costs", "DeviceCost"),
    # Deciding
    "Managers": ("harness.decision.managers", "Managers"),
    "ManagerConfig": ("harness.decision.managers", "ManagerConfig"),
    "NodeDescription": ("harness.decision.managers", "NodeDescription"),
    "describe_machine": ("harness.decision.discovery", "describe"),
    "Trace": ("harness.decision.trace", "Trace"),
    "Assignment": ("harness.decision.assignment", "Assignment"),
    "Pod": ("harness.pods.pod", "Pod"),
    "Container": ("harness.pods.pod", "Container"),
    "pod_from": ("harness.pods.manifest", "pod_from"),
    "pod_total": ("harness.pods.requests", "pod_total"),
    "HintProvider": ("harness.topology", "HintProvider"),
    "AllocationError": ("harness.topology", "AllocationError"),
    "Hints": ("harness.topology", "Hints"),
    "HintFamily": ("harness.topology", "HintFamily"),
    "TopologyHint": ("harness.topology", "TopologyHint"),
    "ids_of": ("harness.topology", "ids_of"),
    "mask_of": ("harness.topology", "mask_of"),
    # Explaining
    "explain": ("harness.intake.explain_pod", "explain"),
    "Explanation": ("harness.explain.explanation", "Explanation"),
    # The node, and its control service
    "Node": ("harness.node.node", "Node"),
    "node_config": ("harness.decision.config", "node_config"),
    "control_pb2": ("harness.api", "numaproof_v1_pb2"),
    "control_pb2_grpc": ("harness.api", "numaproof_v1_pb2_grpc"),
    # Fake plugins, and the interface of device plugins
    "MockPlugin": ("plugins_mock", "MockPlugin"),
    "MockDevice": ("plugins_mock", "MockDevice"),
    "MockCost": ("plugins_mock", "MockCost"),
    "Fault": ("plugins_mock", "Fault"),
    "deviceplugin_pb2": ("harness.api", "deviceplugin_v1beta1_pb2"),
    "deviceplugin_pb2_grpc": ("harness.api", "deviceplugin_v1beta1_pb2_grpc"),
    # Scenarios
    "run_scenario": ("harness.rig.scenario_run", "run_scenario"),
    "ScenarioResult": ("harness.rig.scenario_run", "ScenarioResult"),
    # Conformance of device plugins
    "check": ("harness.conformance", "check"),
    "Settings": ("harness.conformance", "Settings"),
    "Report": ("harness.conformance", "Report"),
    "CATALOGUE": ("harness.conformance", "CATALOGUE"),
    # Bad input, of whichever part
    "UserError": ("errors", "UserError"),
}

__all__ = [
    "CATALOGUE",
    "AllocationError",
    "Assignment",
    "Container",
    "DeviceCost",
    "Explanation",
    "Fault",
    "HintFamily",
    "HintProvider",
    "Hints",
    "Machine",
    "MachineError",
    "ManagerConfig",
    "Managers",
    "MockCost",
    "MockDevice",
    "MockPlugin",
    "Node",
    "NodeDescription",
    "Pod",
    "Report",
    "ScenarioResult",
    "Settings",
    "TopologyHint",
    "Trace",
    "UserError",
    "__version__",
    "change_tree",
    "check",
    "control_pb2",
    "control_pb2_grpc",
    "describe_machine",
    "device_costs",
    "deviceplugin_pb2",
    "deviceplugin_pb2_grpc",
    "explain",
    "ids_of",
    "machine_files",
    "mask_of",
    "node_config",
    "parse_machine",
    "pod_from",
    "pod_total",
    "preset_names",
    "read_tree",
    "run_scenario",
    "with_cpus",
    "with_hugepages",
    "with_vfs",
    "without_cpus",
    "write_tree",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, its_name = _HOMES[name]
    try:
        value = getattr(import_module(f"{__name__}.{module}"), its_name)
    except AttributeError:  # a module of a package, which nobody has imported yet
        value = import_module(f"{__name__}.{module}.{its_name}")
    globals()[name] = value  # the next time nobody asks here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
