"""The files that `numaproof init` writes: values that work as they are, with the comments of their forms."""

from collections.abc import Mapping, Sequence
from typing import Any

from numaproof import fake_sysfs
from numaproof.fake_sysfs.catalogue import preset_text
from numaproof.fake_sysfs.machine_file import description_of
from numaproof.harness.commands.commented_yaml import commented
from numaproof.harness.commands.editor_schema import KINDS, form_of

_NIC = "example.com/nic"


def _pod(name: str, cpu: int | str, **more: int) -> dict[str, Any]:
    return {"name": name, "containers": [{"name": "app", "requests": {"cpu": cpu, "memory": "64Mi", **more}}]}


_SCENARIO: Mapping[str, Any] = {
    "name": "The CPUs of a pod follow its network card",
    "why": "A card on another NUMA node than the CPUs costs bandwidth, and nobody sees why.",
    "source": "a wish of ours",
    "needs": {"numa": 2, "numa_cpus": 2},
    "matrix": {
        "machine": ["xeon-2s", "epyc-7742-nps4"],
        "policy": ["restricted", "single-numa-node"],
        "scope": ["container", "pod"],
    },
    "kubelet": {"cpuManagerPolicy": "static"},
    "plugins": [{"resource": _NIC, "devices": [{"id": "nic-a", "numa": [1]}]}],
    "steps": [
        {
            "admit": _pod("first", 2, **{_NIC: 1}),
            "expect": {
                "admitted": True,
                "aligned": "container",
                "nodes": [1],
                "containers": {"app": {"cpu_count": 2, "devices": {_NIC: ["nic-a"]}}},
                "calls": {_NIC: {"Allocate": 1}},
            },
        },
        {"admit": _pod("too-large", "numa.cpus + 1"), "expect": {"reason": "TopologyAffinityError"}},
        {"remove": "first"},
        {"admit": _pod("second", 2, **{_NIC: 1}), "expect": {"admitted": True, "nodes": [1]}},
    ],
}
_MACHINE: Mapping[str, Any] = {
    "name": "two-sockets",
    "packages": 2,
    "nodes": 1,
    "cores": 8,
    "threads": 2,
    "memory": "64GiB",
    "hugepages": {"2Mi": 512, "1Gi": 4},
    "caches": {"l1d": "32KiB", "l2": {"size": "1MiB", "ways": 16}, "l3": {"size": "32MiB", "share": "node"}},
    "distances": {"local": 10, "remote": 21},
    "pci": [
        {
            "root": "0000:80",
            "node": 1,
            "devices": [
                {
                    "address": "80:01.0",
                    "id": "8086:2030",
                    "buses": "81-82",
                    "devices": [
                        {
                            "address": "81:00.0",
                            "id": "15b3:101d",
                            "class": "nic",
                            "driver": "mlx5_core",
                            "net": ["ens1"],
                            "vfs": {"total": 8, "count": 2, "id": "15b3:101e", "net": "ens1v"},
                        }
                    ],
                }
            ],
        }
    ],
}
_CHECK: Mapping[str, Any] = {
    "check": {
        "command": ["./my-plugin"],
        "runtime": "auto",
        "supervise": False,
        "level": "may",
        "strict": False,
        "exclude": [],
        "timeout": 30,
        "start-timeout": 60,
    }
}


# Kind -> what else may stand there; it is written without effect, as an example.
_MORE: Mapping[str, Mapping[str, Any]] = {
    "scenario": {
        "kubelet": {
            "memoryManagerPolicy": "Static",
            "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": "true"},
        }
    },
    "machine": {
        "cpu": {"model": "A CPU of mine", "vendor": "GenuineIntel", "mhz": 2600},
        "dies": 1,
        "numbering": "compact",
        "isolated": "4-7",
        "offline": "31",
        "spare-nodes": "2-3",
        "sources": ["lscpu and lspci of our server"],
    },
    "check": {
        "check": {
            "image": "registry.example.com/my-plugin",
            "machine": "dgx-a100",
            "bind": ["/etc/my-plugin:/etc/my-plugin:ro"],
            "env": ["LOG_LEVEL=debug"],
            "device": ["/dev/null"],
            "host-network": True,
            "unhealthy": "touch /run/my-plugin/broken",
            "healthy": "rm /run/my-plugin/broken",
            "remove-file": "/run/my-plugin/device-0",
            "features": "health",
            "plugin-version": "1.4",
            "known-failures": "known-failures.txt",
            "one-by-one": True,
        }
    },
}


def starting_point(kind: str, command: Sequence[str] = ()) -> str:
    """A file of a kind, with comments; a check file with this command of a plugin, if it is told."""
    value = {"scenario": _SCENARIO, "machine": _MACHINE, "check": _CHECK}[kind]
    if command:
        value = {"check": {**_CHECK["check"], "command": list(command)}}
    return f"{_heading(kind)}# A line behind a # that no space follows has no effect until that # is taken away.\n" + (
        commented(value, form_of(kind), _MORE[kind])
    )


def machine_text(argument: str) -> str:
    """A machine file that says what an argument means: a preset's own text, or what is known of any other machine."""
    if argument in fake_sysfs.preset_names():
        return f"{_heading('machine')}# From the preset {argument}, whose file this is.\n\n{preset_text(argument)}"
    description, lost = description_of(fake_sysfs.parse_machine(argument))
    notes = "".join(f"# A machine file cannot tell all of it: {what}.\n" for what in lost)
    return f"{_heading('machine')}{notes}{commented(description, form_of('machine'))}"


def _heading(kind: str) -> str:
    about, page, _ = KINDS[kind]
    return f"# numaproof: {about}.\n# {page} has all that may stand here; so has `numaproof schema {kind}`.\n"
