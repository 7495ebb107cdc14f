"""Policy options: names, values, and what does not go together."""

import pytest

from numaproof.errors import UserError
from numaproof.harness.providers.cpu.options import CpuOptions, check_options, parse_options
from numaproof.harness.providers.cpu.topology import CpuTopology
from tests.harness.providers.cpu.machines import machine


def test_values_are_what_go_reads_as_a_bool() -> None:
    given: dict[str, bool | str] = {"full-pcpus-only": "T", "strict-cpu-reservation": "0", "align-by-socket": True}
    assert parse_options(given) == CpuOptions(full_cores_only=True, align_by_socket=True)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"full-pcpu-only": "true"}, 'unknown CPU Manager Policy option: "full-pcpu-only" .known: full-pcpus-only'),
        ({"full-pcpus-only": "yes"}, 'bad value for option "full-pcpus-only": "yes"'),
        ({"full-pcpus-only": True, "distribute-cpus-across-cores": True}, "can not be used at the same time"),
        ({"distribute-cpus-across-numa": True, "distribute-cpus-across-cores": True}, "can not be used"),
        ({"prefer-align-cpus-by-uncorecache": True, "distribute-cpus-across-numa": True}, "can not be used"),
        ({"prefer-align-cpus-by-uncorecache": True, "distribute-cpus-across-cores": True}, "can not be used"),
    ],
)
def test_what_the_kubelet_refuses_is_refused(given: dict[str, bool | str], text: str) -> None:
    with pytest.raises(UserError, match=text):
        parse_options(given)


def test_an_excluded_pair_is_fine_while_one_is_off() -> None:
    parse_options({"full-pcpus-only": True, "distribute-cpus-across-cores": False})


def test_align_by_socket_needs_a_policy_and_a_machine_that_know_sockets() -> None:
    by_socket = CpuOptions(align_by_socket=True)
    fine = machine(sockets=2, nodes=2)
    check_options(by_socket, fine, "restricted")
    with pytest.raises(UserError, match="single-numa-node policy is incompatible"):
        check_options(by_socket, fine, "single-numa-node")
    check_options(CpuOptions(), fine, "single-numa-node")
    # One NUMA node across two sockets.
    across = CpuTopology.of((cpu, cpu, 0, 0, cpu % 2) for cpu in range(4))
    with pytest.raises(UserError, match="2 sockets, 1 NUMA nodes"):
        check_options(by_socket, across, "restricted")
