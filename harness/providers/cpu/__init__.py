"""The CPU manager as a hint provider."""

from harness.providers.cpu.manager import CpuManager
from harness.providers.cpu.options import CpuOptions, parse_options
from harness.providers.cpu.picking import reserve
from harness.providers.cpu.topology import CpuTopology

__all__ = ["CpuManager", "CpuOptions", "CpuTopology", "parse_options", "reserve"]
