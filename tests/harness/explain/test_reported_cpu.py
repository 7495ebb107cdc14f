"""Refusals and misplacements of CPUs that users reported: the explanation names the cause that the maintainers named.

Machines and configurations are in the words of lscpu, numactl and kubelet flags; the figures that decided are the
reported ones. What is expected follows from the thread, or from the arithmetic beside it.
"""

from pathlib import Path

import pytest

from numaproof.harness.explain.reasons import why
from numaproof.harness.explain.remarks import remarks
from tests.harness.explain.cpu_placements import PLACEMENTS
from tests.harness.explain.cpu_refusals import REFUSALS
from tests.harness.explain.cpu_words import Case, cpus_by_node, explained, kinds


@pytest.mark.parametrize("case", [*REFUSALS, *PLACEMENTS], ids=lambda case: case.source.replace(" ", "-"))
def test_the_explanation_says_what_happened(case: Case, tmp_path: Path) -> None:
    explanation, assumptions = explained(case, tmp_path)
    verdict, blame = explanation.trace.verdict, explanation.blame
    assert (verdict.admitted, verdict.reason) == (not case.refused, case.refused)
    named = (blame.what, blame.cause, blame.resource, blame.container) if blame else ()
    assert named[: len(case.blame)] == case.blame
    assert bool(blame) == bool(case.blame)
    if case.wanted is not None or case.free is not None:
        assert blame is not None
        assert blame.stock is not None
        assert case.wanted in (None, blame.stock.wanted)
        assert case.free in (None, blame.stock.free)
    for name, expected in case.by_node.items():
        assert cpus_by_node(explanation, name) == expected
    reasons = " | ".join(why(explanation))
    assert [one for one in case.says if one not in reasons] == []
    assert [one for one in case.never if one in reasons] == []
    told = [(one.source, one.fixed_in) for one in remarks(explanation)]
    for issue, fixed_in in case.known:
        assert any(issue in source and fixed == fixed_in for source, fixed in told), (issue, told)
    assert kinds(explanation) >= set(case.helps)
    assert not (case.hopeless and explanation.remedies)
    assert case.assumed in " | ".join(assumptions)
