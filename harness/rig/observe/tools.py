"""Looks at a machine through everybody's eyes where the node runs: lscpu, numactl, lstopo, and the node itself."""

from numaproof.fake_sysfs import Machine
from numaproof.harness.rig.observe.tool_views import (
    View,
    lscpu_view,
    lstopo_view,
    machine_view,
    numactl_view,
    view_differences,
)
from numaproof.harness.runtimes import Running


def look(running: Running, root: str, machine: Machine, seen_by_node: View) -> list[str]:
    """How each view differs from the machine; a tool that is not installed where the node runs is one difference.

    `root` is where programs there find their machine: "/", or the path of a tree.
    """
    expected = machine_view(machine)
    # Without -x86 hwloc asks the real CPUs as well; --disallowed shows what cgroups would hide.
    hwloc = f"HWLOC_FSROOT={root} HWLOC_COMPONENTS=-x86"
    commands = {
        "lscpu": f"lscpu --sysroot {root}",
        "lstopo-no-graphics": f"{hwloc} lstopo-no-graphics --disallowed --no-io --of xml -",
    }
    if root == "/":
        commands["numactl"] = "numactl -H"  # it knows no other root
    # testinfra is a pytest plugin: imported before pytest has looked at it, it makes pytest warn.
    from numaproof.harness.runtimes.testinfra_host import testinfra_host  # noqa: PLC0415

    there = testinfra_host(running)
    found = list(view_differences("the node", seen_by_node, expected))
    for tool, command in commands.items():
        done = there.run(f"LC_ALL=C {command} 2>/dev/null")
        if done.rc != 0:
            found.append(f"{tool} fails where the node runs (exit code {done.rc}); is it installed?")
            continue
        view = _comparable(tool, done.stdout, expected)
        found += view_differences(tool, view, expected)
    return found


def _comparable(tool: str, text: str, expected: View) -> View:
    """What a tool shows, without that of which it is known to say something else."""
    if tool == "lscpu":
        return lscpu_view(text)
    if tool == "numactl":
        view = numactl_view(text)
        # libnuma's CPU mask is as wide as the host's: of a wider machine it shows no CPUs at all.
        complete = any(view.cpus.values())
        return view if complete else View({}, view.memory, view.distances)
    view = lstopo_view(text)
    # Of a node without CPUs hwloc tells those that are near it.
    cpus = {node: ids if expected.cpus.get(node) else () for node, ids in view.cpus.items()}
    return View(cpus, view.memory, view.distances)
