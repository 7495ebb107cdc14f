"""Machines that do not exist: a model, its tree of sysfs files, and the way back."""

from numaproof.fake_sysfs.argument import parse_machine
from numaproof.fake_sysfs.catalogue import preset, preset_names
from numaproof.fake_sysfs.content import Directory, FileContent, Link
from numaproof.fake_sysfs.errors import MachineError
from numaproof.fake_sysfs.files import files
from numaproof.fake_sysfs.machine import (
    Access,
    Bar,
    Cache,
    Cpu,
    CpuKind,
    DeviceLink,
    DeviceNode,
    Hugepages,
    Machine,
    NetInterface,
    NumaNode,
    PciDevice,
    PciRoot,
    SideCache,
)
from numaproof.fake_sysfs.read import read
from numaproof.fake_sysfs.write import write

__all__ = [
    "Access",
    "Bar",
    "Cache",
    "Cpu",
    "CpuKind",
    "DeviceLink",
    "DeviceNode",
    "Directory",
    "FileContent",
    "Hugepages",
    "Link",
    "Machine",
    "MachineError",
    "NetInterface",
    "NumaNode",
    "PciDevice",
    "PciRoot",
    "SideCache",
    "files",
    "parse_machine",
    "preset",
    "preset_names",
    "read",
    "write",
]
