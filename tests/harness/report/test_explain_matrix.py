"""What every policy and scope would make of a pod, in a few words; the amounts are reckoned from the machine."""

from numaproof.harness.explain.blame import APART, DEVICES, FIT, IN_USE, POLICY, Blame
from numaproof.harness.explain.stock import Stock
from numaproof.harness.report.explain_matrix import blame_text, matrix_rows
from tests.harness.report.explained import GPU, explained, pod


def test_scopes_that_come_to_the_same_share_a_row() -> None:
    rows = list(matrix_rows(explained(pod("asked", 6))))
    assert [(row.policy, row.scope) for row in rows] == [
        ("none", "both"),
        ("best-effort", "both"),
        ("restricted", "both"),
        ("single-numa-node", "both"),
    ]
    assert [row.is_own for row in rows] == [False, False, False, True]


def test_what_decides_is_said_beside_the_verdict() -> None:
    stock = Stock("cpu", 5, {0: 2, 1: 3}, {0: 7, 1: 8}, {0: 8, 1: 8})
    assert blame_text(Blame("cpu", IN_USE, "cpu", stock=stock), admitted=False) == (
        "cpu: 5 wanted, at most 3 free on a NUMA node"
    )
    memory = Stock("memory", 252 << 30, {0: 257477 << 20, 1: 258041 << 20}, {}, {})
    assert blame_text(Blame("memory", IN_USE, "memory", stock=memory), admitted=False) == (
        "memory: 258048 MiB wanted, at most 258041 MiB free on a NUMA node"
    )
    apart = Blame(DEVICES, APART, GPU, stock=stock, others=("cpu", "memory"))
    assert blame_text(apart, admitted=True) == f"not aligned: {GPU} and cpu and memory are apart"
    assert blame_text(Blame(POLICY, "none"), admitted=True) == "not aligned: policy none"
    assert blame_text(Blame(POLICY, "Taint"), admitted=False) == "Taint"
    assert blame_text(Blame(FIT, IN_USE, "memory"), admitted=False) == "the node as a whole has too little memory"
