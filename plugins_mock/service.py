"""The services of a fake plugin: correct answers, unless a fault says otherwise."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn, get_args

import grpc
from google.protobuf.message import Message

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.api import pluginregistration_v1_pb2 as registration
from numaproof.harness.api import pluginregistration_v1_pb2_grpc as registration_grpc
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.harness.api import preferredallocations_draft_pb2_grpc as draft_grpc
from numaproof.plugins_mock.answers import Respond, allocation, listed, spoil_costs, spoil_list, spoil_preferred
from numaproof.plugins_mock.costs import MockCost, told
from numaproof.plugins_mock.devices import Inventory, MockDevice
from numaproof.plugins_mock.faults import Fault, FaultPlan

# Where the plural draft is served: on the path of the Topology Manager proposal's diff, or in numaproof's own service.
PluralPath = Literal["proposal", "numaproof"]
PLURAL_PATHS: tuple[PluralPath, ...] = get_args(PluralPath)

# (available, must include, size) -> the sets that the plugin likes best; none when the request cannot be met.
Preferred = Callable[[Sequence[str], Sequence[str], int], list[list[str]]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the plugin got."""

    name: str
    request: Message
    time: float  # seconds since the epoch


@dataclass(slots=True)
class PluginState:
    """What a plugin keeps while its servers come and go."""

    inventory: Inventory
    plan: FaultPlan
    respond: Respond
    preferred: Preferred | None  # None: the plugin has no preference
    plural: Collection[PluralPath]  # where the draft is served; nowhere: not at all
    sets: bool  # whether the draft answers sets, if the plugin has a preference
    resource: str
    costs: tuple[MockCost, ...]
    pre_start: bool
    on_call: Callable[[Call], None]
    on_refusal: Callable[[bool], None]  # told whether the plugin shall offer itself again
    streams: "itertools.count[int]" = field(default_factory=itertools.count)
    calls: "itertools.count[int]" = field(default_factory=itertools.count)
    sick: set[str] = field(default_factory=set)  # ids that were listed as unhealthy once


class _Common:
    """Recording and the faults that any call may meet."""

    def __init__(self, state: PluginState, stopping: threading.Event) -> None:
        self._state = state
        self._stopping = stopping

    def _begin(self, name: str, request: Message, context: grpc.ServicerContext) -> dict[str, Fault]:
        faults = self._state.plan.take(name)
        self._state.on_call(Call(name, request, time.time()))
        if "delay" in faults:
            self._idle(context, faults["delay"].number(1))
        if "hang" in faults:
            self._idle(context, None)
        if "die" in faults:
            os._exit(int(faults["die"].number(1)))
        if "error" in faults:
            code = faults["error"].value or "UNAVAILABLE"
            context.abort(grpc.StatusCode[code], f"{name} fails on purpose")
        return faults

    def _idle(self, context: grpc.ServicerContext, seconds: float | None) -> None:
        """Do nothing for so long, or for ever; the end of the call or of the server ends it early."""
        end = None if seconds is None else time.monotonic() + seconds
        while context.is_active() and not self._stopping.is_set():
            left = 0.1 if end is None else min(0.1, end - time.monotonic())
            if left <= 0:
                return
            self._stopping.wait(left)


class DevicePluginService(_Common, api_grpc.DevicePluginServicer):
    """v1beta1.DevicePlugin."""

    def __init__(self, state: PluginState, stopping: threading.Event) -> None:
        super().__init__(state, stopping)
        self._own_streams = itertools.count()

    def GetDevicePluginOptions(self, request: api.Empty, context: grpc.ServicerContext) -> api.DevicePluginOptions:  # noqa: N802
        """The options that count: the kubelet ignores those in Register."""
        self._begin("GetDevicePluginOptions", request, context)
        return options(self._state)

    def ListAndWatch(self, request: api.Empty, context: grpc.ServicerContext) -> Iterator[api.ListAndWatchResponse]:  # noqa: N802
        """The full list at once, and again after every change, until the caller or the server ends it."""
        faults = self._begin("ListAndWatch", request, context)
        number, own_number = next(self._state.streams), next(self._own_streams)
        cancelled = threading.Event()
        inventory = self._state.inventory

        def on_end() -> None:
            cancelled.set()
            inventory.wake()

        def ended() -> bool:
            return cancelled.is_set() or self._stopping.is_set()

        if not context.add_callback(on_end):
            return
        if "silent" in faults or ("single" in faults and own_number > 0):
            self._idle(context, None)
            return
        revision, before = -1, tuple[MockDevice, ...]()
        while (change := inventory.wait_beyond(revision, ended)) is not None:
            deaf = "stale" in faults and number > 0 and revision >= 0
            revision, devices = change
            shown = self._shown(devices, before, faults)
            before = devices
            if not deaf:
                yield api.ListAndWatchResponse(devices=spoil_list(listed(shown), faults))
            if "drop" in faults:
                self._idle(context, faults["drop"].number(0))
                return
        if "fragile" in faults and not self._stopping.is_set():
            os._exit(1)

    def _shown(
        self, devices: tuple[MockDevice, ...], before: tuple[MockDevice, ...], faults: dict[str, Fault]
    ) -> tuple[MockDevice, ...]:
        self._state.sick |= {device.id for device in devices if not device.healthy}
        if "no-recovery" in faults:
            devices = tuple(
                MockDevice(device.id, device.numa, device.healthy and device.id not in self._state.sick)
                for device in devices
            )
        if "partial" in faults and before:
            devices = tuple(device for device in devices if device not in before)
        return devices

    def GetPreferredAllocation(  # noqa: N802
        self, request: api.PreferredAllocationRequest, context: grpc.ServicerContext
    ) -> api.PreferredAllocationResponse:
        """The best set for each container; an empty one where the plugin has none to offer."""
        faults = self._begin("GetPreferredAllocation", request, context)
        if self._state.preferred is None:
            _abort(context, grpc.StatusCode.UNIMPLEMENTED, "this plugin has no preference")
        response = api.PreferredAllocationResponse()
        for asked in request.container_requests:
            sets = self._state.preferred(asked.available_deviceIDs, asked.must_include_deviceIDs, asked.allocation_size)
            chosen = spoil_preferred(sets[0], asked, faults, next(self._state.calls)) if sets else []
            response.container_responses.add(deviceIDs=chosen)
        return response

    def Allocate(self, request: api.AllocateRequest, context: grpc.ServicerContext) -> api.AllocateResponse:  # noqa: N802
        """What each container needs; ids that are unknown, repeated or missing are refused."""
        faults = self._begin("Allocate", request, context)
        known = {device.id for device in self._state.inventory.current()}
        for container in request.container_requests:
            ids = list(container.devices_ids)
            unknown = [device for device in ids if device not in known]
            if unknown and "die-unknown" in faults:
                os._exit(int(faults["die-unknown"].number(2)))
            if unknown and "accept-unknown" not in faults:
                _abort(context, grpc.StatusCode.NOT_FOUND, f"no device {unknown[0]!r} here")
            if len(set(ids)) < len(ids):
                _abort(context, grpc.StatusCode.INVALID_ARGUMENT, "a device is asked for twice")
            if not ids and "accept-empty" not in faults:
                _abort(context, grpc.StatusCode.INVALID_ARGUMENT, "no device is asked for")
        return allocation(request, self._state.respond, faults, next(self._state.calls))

    def PreStartContainer(  # noqa: N802
        self, request: api.PreStartContainerRequest, context: grpc.ServicerContext
    ) -> api.PreStartContainerResponse:
        """Nothing needs to be done before a start."""
        self._begin("PreStartContainer", request, context)
        return api.PreStartContainerResponse()


class PreferredAllocationsService(_Common, draft_grpc.PreferredAllocationsServicer, draft_grpc.DevicePluginServicer):
    """The draft plural call of the design documents, for either path."""

    def GetPreferredAllocationsOptions(  # noqa: N802
        self, request: draft.PreferredAllocationsOptionsRequest, context: grpc.ServicerContext
    ) -> draft.PreferredAllocationsOptions:
        """The draft is to be used, if the plugin prefers anything, or knows what its devices cost."""
        return draft.PreferredAllocationsOptions(
            get_preferred_allocations_available=self._state.sets and self._state.preferred is not None,
            costs_available=bool(self._state.costs),
        )

    def GetPreferredAllocations(  # noqa: N802
        self, request: draft.PreferredAllocationsRequest, context: grpc.ServicerContext
    ) -> draft.PreferredAllocationsResponse:
        """All sets that the plugin likes equally well, and what the available devices cost."""
        state = self._state
        faults = self._begin("GetPreferredAllocations", request, context)
        if state.preferred is None and not state.costs:
            _abort(context, grpc.StatusCode.UNIMPLEMENTED, "this plugin has no preference")
        if "sized" in faults and request.available_deviceIDs and not request.size:
            _abort(context, grpc.StatusCode.INVALID_ARGUMENT, "no device is asked for")
        sets: list[list[str]] = []
        if state.preferred is not None and state.sets and request.size:
            sets = state.preferred(request.available_deviceIDs, request.must_include_deviceIDs, request.size)
        number = next(state.calls)
        costs = told(state.costs, state.resource, request.available_deviceIDs)
        return draft.PreferredAllocationsResponse(
            preferred_allocations=[
                api.ContainerAllocateRequest(devices_ids=spoil_preferred(ids, request, faults, number)) for ids in sets
            ],
            preferred_allocations_for_domain=spoil_costs(costs, faults, number),
        )


class WatchedService(_Common, registration_grpc.RegistrationServicer):
    """pluginregistration.Registration, for a kubelet that finds the plugin's socket in plugins_registry."""

    def __init__(self, state: PluginState, stopping: threading.Event, resource: str, endpoint: str) -> None:
        super().__init__(state, stopping)
        self._resource = resource
        self._endpoint = endpoint

    def GetInfo(self, request: registration.InfoRequest, context: grpc.ServicerContext) -> registration.PluginInfo:  # noqa: N802
        """Who this is."""
        faults = self._begin("GetInfo", request, context)
        return registration.PluginInfo(
            type=(faults["bad-type"].value or "CSIPlugin") if "bad-type" in faults else "DevicePlugin",
            name=self._resource,
            endpoint=self._endpoint,
            supported_versions=["v1beta1"],
        )

    def NotifyRegistrationStatus(  # noqa: N802
        self, request: registration.RegistrationStatus, context: grpc.ServicerContext
    ) -> registration.RegistrationStatusResponse:
        """A refusal makes the plugin offer itself again."""
        faults = self._begin("NotifyRegistrationStatus", request, context)
        if not request.plugin_registered:
            self._state.on_refusal("give-up" not in faults)
        return registration.RegistrationStatusResponse()


def options(state: PluginState) -> api.DevicePluginOptions:
    """What the plugin wants to be asked."""
    return api.DevicePluginOptions(
        pre_start_required=state.pre_start, get_preferred_allocation_available=state.preferred is not None
    )


def _abort(context: grpc.ServicerContext, code: grpc.StatusCode, text: str) -> NoReturn:
    context.abort(code, text)
    raise AssertionError("abort always raises")
