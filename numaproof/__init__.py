"""Prove NUMA alignment without NUMA hardware."""

__version__ = "0.1.0"
