"""The CPU manager as a hint provider."""

from numaproof.harness.providers.cpu.manager import CpuManager
from numaproof.harness.providers.cpu.options import CpuOptions, parse_options
from numaproof.harness.providers.cpu.picking import reserve
from numaproof.harness.providers.cpu.topology import CpuTopology

__all__ = ["CpuManager", "CpuOptions", "CpuTopology", "parse_options", "reserve"]
