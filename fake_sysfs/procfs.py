"""`/proc/cpuinfo`, `/proc/meminfo` and `/proc/cmdline` of a machine."""

from collections import Counter

from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.fake_sysfs.machine import Machine


def cpuinfo(machine: Machine) -> str:
    """One paragraph for each online CPU, as on x86."""
    speeds = {cpu: kind.mhz for kind in machine.kinds for cpu in kind.cpus}
    online = [cpu for cpu in machine.cpus if cpu.online]
    threads = Counter(cpu.package for cpu in online)
    cores = Counter(package for package, _ in {(cpu.package, cpu.core) for cpu in online})
    return "".join(
        f"processor\t: {cpu.id}\n"
        f"vendor_id\t: {machine.cpu_vendor}\n"
        "cpu family\t: 6\n"
        "model\t\t: 85\n"
        f"model name\t: {machine.cpu_model}\n"
        "stepping\t: 7\n"
        f"cpu MHz\t\t: {speeds.get(cpu.id, machine.mhz)}.000\n"
        f"physical id\t: {cpu.package}\n"
        f"siblings\t: {threads[cpu.package]}\n"
        f"core id\t\t: {cpu.core}\n"
        f"cpu cores\t: {cores[cpu.package]}\n"
        "flags\t\t: fpu lm sse2 ht\n"
        "\n"
        for cpu in online
    )


def meminfo(machine: Machine) -> str:
    """The sums over all nodes; HugePages_* speak of the default size, 2 MiB, alone."""
    total = sum(node.memory for node in machine.nodes) // 1024
    huge = [pages for node in machine.nodes for pages in node.hugepages]
    held = sum(pages.size_kb * pages.pages for pages in huge)
    small = sum(pages.pages for pages in huge if pages.size_kb == 2048)
    sizes = [("MemTotal", total), ("MemFree", total - held), ("MemAvailable", total - held), ("Buffers", 0)]
    sizes += [("Cached", 0), ("SwapCached", 0), ("SwapTotal", 0), ("SwapFree", 0)]
    counts = [("HugePages_Total", small), ("HugePages_Free", small), ("HugePages_Rsvd", 0), ("HugePages_Surp", 0)]
    after = [("Hugepagesize", 2048), ("Hugetlb", held)]
    return (
        "".join(f"{name + ':':<15} {value:>8} kB\n" for name, value in sizes)
        + "".join(f"{name + ':':<15} {value:>8}\n" for name, value in counts)
        + "".join(f"{name + ':':<15} {value:>8} kB\n" for name, value in after)
    )


def cmdline(machine: Machine) -> str:
    """The command line of a kernel that was told which CPUs to isolate."""
    isolated = f" isolcpus={format_cpulist(machine.isolated)}" if machine.isolated else ""
    return f"BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro{isolated}\n"
