"""What a correct plugin answers, and how each fault changes the answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import preferredallocations_draft_pb2 as draft
from numaproof.plugins_mock.devices import MockDevice
from numaproof.plugins_mock.faults import Fault

HEALTHY, UNHEALTHY = "Healthy", "Unhealthy"

# Device ids -> what a container gets with them. The ids come sorted.
Respond = Callable[[Sequence[str]], api.ContainerAllocateResponse]


def listed(devices: Iterable[MockDevice]) -> list[api.Device]:
    """The devices as a list message shows them."""
    return [
        api.Device(
            ID=device.id,
            health=HEALTHY if device.healthy else UNHEALTHY,
            topology=_topology(device.numa),
        )
        for device in devices
    ]


def _topology(numa: tuple[int, ...] | None) -> api.TopologyInfo | None:
    return None if numa is None else api.TopologyInfo(nodes=[api.NUMANode(ID=node) for node in numa])


def spoil_list(devices: list[api.Device], faults: Mapping[str, Fault]) -> list[api.Device]:
    """The list with what the faults make of it."""
    for kind, fault in faults.items():
        first = devices[0] if devices else api.Device()
        match kind:
            case "duplicate-ids":
                twin = api.Device(ID=first.ID, health=UNHEALTHY)
                devices = [*devices, twin]
            case "bad-health":
                first.health = fault.value or "healthy"
            case "bad-numa":
                first.topology.CopyFrom(api.TopologyInfo(nodes=[api.NUMANode(ID=int(fault.number(-1)))]))
            case "oversized":
                more = range(int(fault.number(60_000)))
                devices = [*devices, *(api.Device(ID=f"{number:063}", health=UNHEALTHY) for number in more)]
    return devices


def allocation(
    request: api.AllocateRequest, respond: Respond, faults: Mapping[str, Fault], call_number: int
) -> api.AllocateResponse:
    """One response for each container, changed by the faults."""
    batches = [list(container.devices_ids) for container in request.container_requests]
    if "leak" in faults:
        batches = [[device for batch in batches[: n + 1] for device in batch] for n in range(len(batches))]
    responses = [respond(ids if "ordered" in faults else sorted(ids)) for ids in batches]
    for response in responses:
        _spoil_allocation(response, faults, call_number)
    if "no-responses" in faults:
        responses = []
    if "wrong-count" in faults:
        responses = responses[: int(faults["wrong-count"].number(1))]
    return api.AllocateResponse(container_responses=responses)


def _spoil_allocation(response: api.ContainerAllocateResponse, faults: Mapping[str, Fault], call_number: int) -> None:
    for kind, fault in faults.items():
        match kind:
            case "unsteady":
                response.envs["CALL"] = str(call_number)
            case "duplicate-path":
                for host in ("/dev/null", "/dev/zero"):
                    response.devices.add(container_path="/dev/twice", host_path=host, permissions="rw")
            case "relative-path":
                response.mounts.add(container_path="etc/device", host_path="/etc")
            case "bad-permissions":
                response.devices.add(container_path="/dev/odd", host_path="/dev/null", permissions=fault.value or "rwx")
            case "bad-cdi":
                response.cdi_devices.add(name=fault.value or "gpu0")
            case "common-env":
                response.envs[fault.value or "PATH"] = "/usr/bin"


def spoil_costs(
    costs: list[draft.PreferredAllocationsForDomain], faults: Mapping[str, Fault], call_number: int
) -> list[draft.PreferredAllocationsForDomain]:
    """Costs with what the faults make of them."""
    if not costs:
        return costs
    first = costs[0]
    for kind, fault in faults.items():
        match kind:
            case "negative-cost":
                first.cost = int(fault.number(-1))
            case "unknown-id":
                first.from_deviceIDs[:] = ["no-such-device"]
            case "bad-domain":
                first.resource_domain = fault.value or "gpu"
            case "bad-instance":
                first.resource_domain = "cpu"
                first.preferred_allocations.devices_ids[:] = [fault.value or "7"]
            case "twice":
                again = draft.PreferredAllocationsForDomain()
                again.CopyFrom(first)
                again.cost += 1
                costs = [*costs, again]
            case "unsteady":
                first.cost += call_number
    return costs


def spoil_preferred(
    ids: list[str],
    request: api.ContainerPreferredAllocationRequest | draft.PreferredAllocationsRequest,
    faults: Mapping[str, Fault],
    call_number: int,
) -> list[str]:
    """A preferred allocation with what the faults make of it."""
    available, must = list(request.available_deviceIDs), set(request.must_include_deviceIDs)
    for kind in faults:
        match kind:
            case "wrong-size":
                left = [device for device in available if device not in ids]
                ids = [*ids, left[0]] if left else ids[: max(len(ids) - 1, 1)]
            case "outside":
                ids = [*ids[:-1], "no-such-device"]
            case "ignore-must":
                others = [device for device in available if device not in must]
                ids = others[: len(ids)] if len(others) >= len(ids) else ids
            case "repeat":
                ids = [*ids[:-1], ids[0]] if len(ids) > 1 else [*ids, *ids]
            case "unsteady" if not must and len(available) > len(ids):
                turn = call_number % len(available)
                ids = (available[turn:] + available[:turn])[: len(ids)]
            case "edge-empty" if len(ids) in {len(available), len(must)}:
                ids = []
    return ids


def plain_response(resource: str, *, cdi: bool = False) -> Respond:
    """A plugin without devices of its own answers with an environment variable, and /dev/null under the ids' names."""
    vendor, _, name = resource.partition("/")
    variable = "".join(c if c.isalnum() else "_" for c in resource).upper()

    def respond(ids: Sequence[str]) -> api.ContainerAllocateResponse:
        return api.ContainerAllocateResponse(
            envs={variable: ",".join(ids)},
            devices=[
                api.DeviceSpec(container_path=f"/dev/{name}/{device}", host_path="/dev/null", permissions="rw")
                for device in ids
            ],
            annotations={f"{vendor}/devices": ",".join(ids)},
            cdi_devices=[api.CDIDevice(name=f"{vendor}/{name}={device}") for device in ids] if cdi else [],
        )

    return respond
