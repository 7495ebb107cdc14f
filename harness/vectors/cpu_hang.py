"""Replay of CPU requests on which the kubelet never returns: all that counts is that we do, with an error."""

from typing import Any

from numaproof.harness.vectors import cpu


def replay(case: dict[str, Any]) -> dict[str, Any]:
    """Which CPUs the container gets, or the error and its type."""
    return cpu.replay(case)


def differences(_case: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    """An answer without an error is wrong: the request cannot be met."""
    return [] if answer["error"] else [f"cpus_taken: {answer['cpus_taken']}, though the request cannot be met"]
