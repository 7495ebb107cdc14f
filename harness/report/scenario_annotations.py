"""What a run of scenarios has to say beside the scenarios' files."""

from collections.abc import Sequence
from pathlib import Path

from numaproof.harness.report.annotations import Annotation, Severity, named
from numaproof.harness.report.matrix import InstanceResult


def of_scenarios(results: Sequence[InstanceResult]) -> list[Annotation]:
    """An annotation for each place of a scenario's file where instances failed, however many of them."""
    places: dict[tuple[str, str], list[InstanceResult]] = {}
    for result in sorted(results, key=lambda result: result.words["id"]):
        if result.outcome == "failed":
            scenario = result.words["id"].partition("[")[0]
            places.setdefault((scenario, _step(result)), []).append(result)
    return [_of_place(scenario, step, failed) for (scenario, step), failed in places.items()]


def _of_place(scenario: str, step: str, failed: Sequence[InstanceResult]) -> Annotation:
    first = failed[0]
    prefix = f"{first.path}:{first.line}: "
    many = f" ({len(failed)} instances)" if len(failed) > 1 else ""
    lines = [text.removeprefix(prefix) for text in first.differences]
    path = Path(first.path) if first.path else None
    text = "\n".join([*lines, f"in {named([result.words['id'] for result in failed])}"])
    return Annotation(Severity.ERROR, f"{scenario} {step}".rstrip(), f"{scenario}{many}", text, path, first.line)


def _step(result: InstanceResult) -> str:
    """The step of the first difference, as `steps[2]`; empty: it is about none."""
    place = f"{result.path}:{result.line}: "
    told = next((text.removeprefix(place) for text in result.differences if text.startswith(place)), "")
    word = told.partition(": ")[0]
    return word if word.startswith("steps[") else ""
