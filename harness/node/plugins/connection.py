"""One plugin, seen from the node: its socket, its options, its device list, and the calls that are made to it."""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import grpc

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.cost.costs import Entry
from numaproof.harness.node.plugins.costs import entries_from
from numaproof.harness.node.plugins.draft import Draft, find_draft
from numaproof.harness.node.plugins.registration import RegistrationError
from numaproof.harness.node.plugins.sockets import target
from numaproof.harness.node.plugins.status import code_of, status_text
from numaproof.harness.providers.devices import Device
from numaproof.harness.topology.provider import AllocationError

T = TypeVar("T")

CHANNEL_OPTIONS: tuple[tuple[str, Any], ...] = (
    # The kubelet's limit, and the reason why a list of very many devices never arrives.
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    # Without it a plugin that comes back at the same path inherits the waiting time of the one that left.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # Servers written in Go refuse a socket's path as the name of a host.
    ("grpc.default_authority", "localhost"),
)


def device_from(message: api.Device) -> Device:
    """A device of a plugin's list; whatever is not exactly "Healthy" is unhealthy."""
    numa = tuple(node.ID for node in message.topology.nodes) if message.HasField("topology") else None
    return Device(id=message.ID, numa=numa, healthy=message.health == "Healthy")


class PluginConnection:
    """The channel to one registered plugin, from the dial until the plugin is gone or replaced."""

    def __init__(self, resource: str, path: Path, *, deadline_seconds: float, log: Callable[[str], None]) -> None:
        self.resource = resource
        self.path = path
        self.options = api.DevicePluginOptions()
        self._draft: Draft | None = None  # None: the plugin does not offer the plural draft
        self._deadline = deadline_seconds
        self._log = log
        self._channel = grpc.insecure_channel(target(path), options=CHANNEL_OPTIONS)
        self._plugin = api_grpc.DevicePluginStub(self._channel)
        self._stopped = threading.Event()
        self._follower: threading.Thread | None = None

    def dial(self, seconds: float) -> None:
        """Connect and learn what the plugin offers, or raise RegistrationError."""
        try:
            self.options = self._plugin.GetDevicePluginOptions(api.Empty(), timeout=seconds, wait_for_ready=True)
        except grpc.RpcError as error:
            raise RegistrationError(
                f"failed to get device plugin options from {self.path} within {seconds:g} s: {status_text(error)}"
            ) from error
        except ValueError as error:
            raise RegistrationError(f"the node stopped while it dialled {self.path}") from error
        self._draft = find_draft(self._channel, seconds)

    @property
    def plural(self) -> bool:
        """Whether the plugin offers sets by the draft GetPreferredAllocations."""
        return self._draft is not None and self._draft.sets

    def follow(
        self,
        listed: Callable[[tuple[Device, ...], tuple[Entry, ...] | None], None],
        ended: Callable[[str], None],
    ) -> None:
        """Call `listed` with every list that the plugin sends, and `ended` once, with the reason, when no more come.

        With a list of other devices than before, the first of all included, come their costs; else None. The list waits
        for them: who knows the devices knows what they cost.
        """

        def run() -> None:
            reason = "the plugin ended it"
            known: frozenset[str] | None = None
            try:
                for response in self._plugin.ListAndWatch(api.Empty()):
                    devices = tuple(device_from(message) for message in response.devices)
                    ids = frozenset(device.id for device in devices)
                    listed(devices, self._costs(ids) if ids != known else None)
                    known = ids
            except grpc.RpcError as error:
                reason = status_text(error)
            except ValueError:
                reason = "the connection is closed"
            ended(reason)

        self._follower = threading.Thread(target=run, name=f"list of {self.resource}", daemon=True)
        self._follower.start()

    def close(self) -> None:
        """Drop the connection; calls that are under way fail, and so do later ones."""
        self._stopped.set()
        self._channel.close()

    def join(self) -> None:
        """Wait until no thread of this connection runs; call close() before."""
        if self._follower is not None and self._follower is not threading.current_thread():
            self._follower.join()

    def allocate(self, ids: Iterable[str]) -> api.ContainerAllocateResponse:
        """What a container needs in order to use these devices."""
        request = api.AllocateRequest(container_requests=[api.ContainerAllocateRequest(devices_ids=sorted(ids))])
        response: api.AllocateResponse = self._call(
            "Allocate", lambda seconds: self._plugin.Allocate(request, timeout=seconds)
        )
        if not response.container_responses:
            raise AllocationError(f"no containers return in allocation response {response}".rstrip())
        return response.container_responses[0]

    def pre_start(self, ids: Iterable[str]) -> None:
        """Tell the plugin that a container with these devices is about to start."""
        request = api.PreStartContainerRequest(devices_ids=sorted(ids))
        self._call(
            "PreStartContainer",
            lambda seconds: self._plugin.PreStartContainer(request, timeout=seconds),
            "device plugin PreStartContainer rpc failed with err: ",
        )

    def preferred(self, available: Sequence[str], must_include: Sequence[str], size: int) -> list[str]:
        """The devices that the plugin would take; none when it has no opinion."""
        container = api.ContainerPreferredAllocationRequest(
            available_deviceIDs=available, must_include_deviceIDs=must_include, allocation_size=size
        )
        request = api.PreferredAllocationRequest(container_requests=[container])
        response = self._call(
            "GetPreferredAllocation",
            lambda seconds: self._plugin.GetPreferredAllocation(request, timeout=seconds),
            "device plugin GetPreferredAllocation rpc failed with err: ",
        )
        return list(response.container_responses[0].deviceIDs) if response.container_responses else []

    def preferred_sets(self, available: Sequence[str], must_include: Sequence[str], size: int) -> list[list[str]]:
        """All sets that the plugin would be glad of; those with a cost come last, the cheapest first."""
        found = self._draft
        if found is None or not found.sets:  # another plugin has registered since it was offered
            raise AllocationError(f"endpoint {self.resource} does not serve GetPreferredAllocations any more")
        response = self._ask(found, available, must_include, size)
        # An entry that says where its cost starts is no set.
        own = [
            entry
            for entry in response.preferred_allocations_for_domain
            if entry.resource_domain in {"", self.resource} and not entry.from_deviceIDs
        ]
        priced = [entry.preferred_allocations for entry in sorted(own, key=lambda entry: entry.cost)]
        return [list(chosen.devices_ids) for chosen in [*response.preferred_allocations, *priced]]

    def _costs(self, ids: frozenset[str]) -> tuple[Entry, ...]:
        """What the plugin says its devices cost; whatever it makes of the question, the node goes on."""
        found = self._draft
        if found is None or not found.costs or not ids:
            return ()
        try:
            response = self._ask(found, sorted(ids), (), 0)
        except AllocationError as error:
            self._log(f"{self.resource}: its costs are not known: {error}")
            return ()
        entries, problems = entries_from(self.resource, ids, response.preferred_allocations_for_domain)
        for problem in problems:
            self._log(f"{self.resource}: some of its costs do not count: {problem}")
        return entries

    def _ask(
        self, found: Draft, available: Sequence[str], must_include: Sequence[str], size: int
    ) -> draft.PreferredAllocationsResponse:
        request = draft.PreferredAllocationsRequest(
            available_deviceIDs=available, must_include_deviceIDs=must_include, size=size
        )
        return self._call(
            "GetPreferredAllocations",
            lambda seconds: found.ask(request, seconds),
            "device plugin GetPreferredAllocations rpc failed with err: ",
        )

    def _call(self, method: str, call: Callable[[float], T], prefix: str = "") -> T:
        if self._stopped.is_set():
            raise AllocationError(f"{prefix}endpoint {self.resource} has been stopped")
        begun = time.monotonic()
        try:
            return call(self._deadline)
        except grpc.RpcError as error:
            # gRPC counts in milliseconds and may be a little early; a plugin that says the same is not that late.
            late = time.monotonic() - begun >= 0.9 * self._deadline
            if late and code_of(error) is grpc.StatusCode.DEADLINE_EXCEEDED:
                text = f"the plugin of {self.resource} did not answer {method} within {self._deadline:g} s"
                raise AllocationError(f"{prefix}rpc error: code = DeadlineExceeded desc = {text}") from error
            raise AllocationError(prefix + status_text(error)) from error
        except ValueError as error:
            # The channel was closed between the look at _stopped and the call.
            raise AllocationError(f"{prefix}endpoint {self.resource} has been stopped") from error
