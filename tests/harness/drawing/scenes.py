"""Scenes to draw: presets with and without pods on them, and names that nobody should trust."""

from numaproof.fake_sysfs.catalogue import preset, preset_names
from numaproof.fake_sysfs.machine import Cpu, Machine, NumaNode
from numaproof.harness.drawing.scene import DeviceMark, Holding, Scene, Wish

PRESETS = preset_names()
GIB = 1 << 30

# Markup, controls, a mark of direction, a wide character, one that joins the one before, and far too long a name.
HOSTILE = (
    "</text><script>alert(1)</script>&amp;\"'",
    "\x1b[31mred\x00\r\nnext\tline\u2028",
    "\u202eright to left",
    "\u6f22\u5b57 e\u0301 \U0001f600",
    "\udc80 half of a pair",
    "x" * 10_000,
    "",
)


def plain_machine(nodes: int = 2, cores: int = 2, threads: int = 1, memory: int = 8 * GIB) -> Machine:
    """One NUMA node a package, its CPUs in a row."""
    size = cores * threads
    cpus = tuple(
        Cpu(cpu, core=cpu % size // threads, die=0, package=cpu // size, node=cpu // size)
        for cpu in range(nodes * size)
    )
    return Machine("plain", cpus, tuple(NumaNode(node, memory) for node in range(nodes)))


def with_pods(machine: Machine, pods: int = 10) -> Scene:
    """Pods that share out three quarters of the CPUs, devices and memory; a device for each; a refused request."""
    cpus, nodes = machine.cpu_ids, machine.node_ids
    reserved, used = frozenset(cpus[:1]), cpus[1 : 1 + len(cpus) * 3 // 4]
    offered = tuple(DeviceMark("example.com/gpu", f"gpu{n}", (nodes[n % len(nodes)],)) for n in range(pods + 2))
    holdings = tuple(
        Holding(
            f"default/pod-{pod}",
            frozenset(used[pod::pods]),
            {node.id: node.memory // (pods + 2) for node in machine.nodes},
            frozenset((f"gpu{pod}",)),
        )
        for pod in range(pods)
    )
    kept = {node.id: min(1 << 20, node.memory) for node in machine.nodes}
    wish = Wish("default/late", nodes[:1], "wants 8 CPUs, 6 free")
    return Scene(machine, holdings, offered, reserved, kept, wish)


def every_scene() -> dict[str, Scene]:
    """Every preset, bare, with ten pods, and with more pods than there are letters."""
    found = {}
    for name in PRESETS:
        machine = preset(name)
        found[name] = Scene(machine)
        found[f"{name}, 10 pods"] = with_pods(machine)
    for name in ("laptop", "dgx-h100", "big-64"):
        found[f"{name}, 70 pods"] = with_pods(preset(name), 70)
    return found


SCENES = every_scene()
