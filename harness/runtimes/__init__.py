"""Where programs run: each runtime gives a program its machine as /sys, its directories, and an end."""

from numaproof.harness.runtimes.program import Bind, CannotStartError, DeviceNode, Finished, Program, Running, Runtime

__all__ = ["Bind", "CannotStartError", "DeviceNode", "Finished", "Program", "Running", "Runtime"]
