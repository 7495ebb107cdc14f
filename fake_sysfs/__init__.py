"""Machines that do not exist: a model, its tree of sysfs files, and the way back."""

from fake_sysfs.argument import parse_machine
from fake_sysfs.catalogue import preset, preset_names
from fake_sysfs.content import Directory, FileContent, Link
from fake_sysfs.errors import MachineError
from fake_sysfs.files import files
from fake_sysfs.machine import (
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
from fake_sysfs.read import read
from fake_sysfs.write import write

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
