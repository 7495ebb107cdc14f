"""The results of a run of scenarios as JUnit's XML."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from numaproof.harness.report.junit import Case, junit_xml
from numaproof.harness.report.matrix import InstanceResult
from numaproof.harness.report.source_path import shown

_KINDS = {"failed": ("failure", "difference"), "skipped": ("skipped", "does-not-apply")}


def scenario_junit(results: Sequence[InstanceResult], seconds: float, root: Path) -> str:
    """A test for each instance, sorted by id; files are told as seen from a repository's root."""
    ordered = sorted(results, key=lambda result: result.words["id"])
    return junit_xml("numaproof run", [_case(result, root) for result in ordered], seconds)


def _case(result: InstanceResult, root: Path) -> Case:
    instance = result.words["id"]
    case = Case(
        classname=instance.partition("[")[0],
        name=instance,
        file=shown(Path(result.path), root) if result.path else "",
        line=result.line,
        seconds=result.seconds,
        properties={"numaproof": json.dumps(dict(result.words))},
    )
    if result.outcome not in _KINDS:
        return case
    kind, word = _KINDS[result.outcome]
    told = result.differences or (result.reason.removeprefix("Skipped: ") or result.outcome,)
    return replace(case, kind=kind, type=word, message=told[0].partition("\n")[0], text="\n".join(told))
