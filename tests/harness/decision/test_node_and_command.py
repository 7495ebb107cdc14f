"""The node and the command choose the same: one solver, and the same costs however they get there."""

import io
import json
from collections.abc import Mapping
from contextlib import redirect_stdout
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from numaproof.fake_sysfs import Machine, preset
from numaproof.fake_sysfs.device_costs import by_resource, device_costs
from numaproof.harness.cli import main
from numaproof.harness.cost.costs import Entry
from numaproof.harness.cost.machine_costs import resources_of
from numaproof.harness.decision.discovery import describe
from numaproof.harness.decision.managers import ManagerConfig, Managers
from numaproof.harness.providers.devices import Device
from tests.harness.decision.choosing import container, pod_of

MACHINES = {name: preset(name) for name in ("xeon-2s", "dgx1-v100", "aws-p4d", "dgx-a100")}
RESERVED = frozenset({0, 1})


def _node(machine: Machine) -> Managers:
    """A node on the machine, whose plugins report what the library for their authors tells them."""
    config = ManagerConfig("cost", cpu_policy="static", reserved_cpus=RESERVED)
    managers = Managers(describe(machine), config)
    resources = resources_of(machine)
    owners = {address: resource for resource, addresses in resources.items() for address in addresses}
    for resource, addresses in resources.items():
        managers.devices.update(resource, [Device(address, None) for address in addresses])
        found = by_resource(device_costs(machine, addresses, tuple(owners)), owners)
        managers.update_costs(resource, tuple(Entry(resource, a, to, b, Fraction(cost)) for a, to, b, cost in found))
    return managers


def _command(name: str, request: Mapping[str, int]) -> dict[str, list[str]]:
    wanted = ",".join(f"{resource}={count}" for resource, count in request.items())
    reserved = ",".join(f"cpu/cpu{cpu}" for cpu in sorted(RESERVED))
    with redirect_stdout(io.StringIO()) as output:
        assert main(["cost", "solve", "--machine", name, "--request", wanted, "--without", reserved, "--json"]) == 0
    chosen: dict[str, list[str]] = json.loads(output.getvalue())["chosen"]
    return chosen


@settings(max_examples=40)
@given(st.data())
def test_node_and_command_agree(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(MACHINES)))
    machine = MACHINES[name]
    request = {"cpu": data.draw(st.integers(1, 40))}
    for resource, addresses in resources_of(machine).items():
        if count := data.draw(st.integers(0, min(4, len(addresses)))):
            request[resource] = count
    trace = _node(machine).admit(pod_of("p", container("c", memory="1Gi", **request)))
    assert trace.verdict.admitted
    given_ = trace.given["c"]
    chosen = {"cpu": [f"cpu{cpu}" for cpu in sorted(given_.cpus)]}
    chosen |= {resource: [one.id for one in devices] for resource, devices in given_.devices.items()}
    assert chosen == _command(name, request)
