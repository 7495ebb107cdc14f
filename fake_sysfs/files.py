"""A machine as data: every file, link and directory below `sys/` and `proc/`, and what each of them says."""

import json
from collections.abc import Mapping

from numaproof.fake_sysfs.content import FileContent, Gathering
from numaproof.fake_sysfs.files_cpus import gather_cpus
from numaproof.fake_sysfs.files_nodes import gather_nodes
from numaproof.fake_sysfs.files_pci import gather_pci
from numaproof.fake_sysfs.machine import Machine
from numaproof.fake_sysfs.procfs import cmdline, cpuinfo, meminfo

# What sysfs has no word for (the machine's name, NVLink) lies here: below devices/system, which every way of mounting
# a machine takes along, and where no tool looks for a file of this name.
EXTRA = "sys/devices/system/numaproof.json"


def files(machine: Machine) -> Mapping[str, FileContent]:
    """All files of a machine, by their paths below the tree's root."""
    gathering = Gathering()
    gather_cpus(machine, gathering)
    gather_nodes(machine, gathering)
    gather_pci(machine, gathering)
    gathering.found["proc/cmdline"] = cmdline(machine).encode()
    gathering.found["proc/cpuinfo"] = cpuinfo(machine).encode()
    gathering.found["proc/meminfo"] = meminfo(machine).encode()
    gathering.found[EXTRA] = _extra(machine)
    return gathering.found


def _extra(machine: Machine) -> bytes:
    said = {
        "name": machine.name,
        "cpu_model": machine.cpu_model,
        "cpu_vendor": machine.cpu_vendor,
        "mhz": machine.mhz,
        "notes": machine.notes,
        "links": [[link.a, link.b, link.count] for link in machine.links],
    }
    return (json.dumps(said, indent=1) + "\n").encode()
