"""What the device manager asks of the plugins, so that it can decide without knowing sockets."""

from typing import Protocol


class PreferredPort(Protocol):
    """The plugins' say in which devices are taken; a call that fails raises AllocationError with the kubelet's text."""

    def offers(self, resource: str) -> bool:
        """Whether the plugin of the resource implements GetPreferredAllocation."""

    def preferred(self, resource: str, available: list[str], must_include: list[str], size: int) -> list[str]:
        """The devices that the plugin would take; empty if it does not care."""

    def offers_plural(self, resource: str) -> bool:
        """Whether the plugin of the resource implements the draft GetPreferredAllocations."""

    def preferred_sets(
        self, resource: str, available: list[str], must_include: list[str], size: int
    ) -> list[list[str]]:
        """Every set of devices that the plugin would gladly take, best first."""
