"""systemd's CPUAffinity, by the words of systemd-system.conf(5)."""

import pytest

from numaproof.errors import UserError
from numaproof.harness.affinity.systemd import host_cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("[Manager]\nCPUAffinity=0-1 48\n", {0, 1, 48}),
        ("CPUAffinity=0,2,4-5", {0, 2, 4, 5}),
        ("  CPUAffinity = 3\n", {3}),
        ("CPUAffinity=0\nCPUAffinity=1\n", {0, 1}),  # several lines add up
        ("CPUAffinity=0 1 \\\n# the others\n  48 \\\n 49\nLogLevel=info\n", {0, 1, 48, 49}),  # systemd.syntax(7)
        ("CPUAffinity=3\\", {3}),
        ("CPUAffinity=0-7\nCPUAffinity=\nCPUAffinity=2\n", {2}),  # an empty one takes back what was before
    ],
)
def test_the_cpus_of_all_lines(text: str, cpus: set[int]) -> None:
    assert host_cpus(text, "system.conf") == frozenset(cpus)


@pytest.mark.parametrize(
    "text", ["", "[Manager]\n#CPUAffinity=1\n; CPUAffinity=2\n", "CPUAffinity=\n", "LogLevel=info"]
)
def test_none_are_told(text: str) -> None:
    assert host_cpus(text, "system.conf") is None


@pytest.mark.parametrize("value", ["numa", "0-", "5-3", "1;2"])
def test_what_is_not_a_list_is_told_with_its_line(value: str) -> None:
    with pytest.raises(UserError, match=r"^system\.conf:2: CPUAffinity: .*write a list such as"):
        host_cpus(f"[Manager]\nCPUAffinity={value}\n", "system.conf")
