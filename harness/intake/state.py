"""What a kubelet's state files say of who holds what."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from numaproof.harness.providers.devices import Device
from numaproof.harness.providers.memory import Block, MachineState
from numaproof.harness.vocabulary import ContainerKey


@dataclass(frozen=True, slots=True)
class KubeletState:
    """What a kubelet's state files say of who holds what."""

    cpu_policy: str | None = None  # None: there is no such file
    shared_cpus: frozenset[int] | None = None
    cpus: Mapping[ContainerKey, frozenset[int]] = field(default_factory=dict)
    memory_policy: str | None = None
    memory: Mapping[ContainerKey, tuple[Block, ...]] = field(default_factory=dict)
    memory_nodes: MachineState | None = None
    devices: Mapping[ContainerKey, Mapping[str, tuple[Device, ...]]] = field(default_factory=dict)
    registered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pod_names: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
