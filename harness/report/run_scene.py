"""What the drawings of an instance show: the machine, before its first step and after each."""

from collections.abc import Hashable, Sequence

from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.drawing.scene import DeviceMark, Holding, Scene, Wish
from numaproof.harness.drawing.svg import draw_svg
from numaproof.harness.drawing.svg_parts import STYLE
from numaproof.harness.scenario.record import HeldRecord, InstanceRecord, StepRecord

DRAWING_STYLE = STYLE  # of all drawings: the page says it once
_WIDTH = 620  # px: two side by side fill a page of 1280
_STYLE_ELEMENT = f"<style>{STYLE}</style>\n"


class Drawings:
    """Draws machines as they stand after steps; what was drawn before is not drawn again."""

    def __init__(self) -> None:
        self._drawn: dict[Hashable, str] = {}

    def after(self, record: InstanceRecord, name: str, machine: Machine) -> list[str]:
        """The machine of this name before the first step, and after each; empty after one that broke off."""
        found = [self._draw(record, name, machine, None, [])]
        pods: dict[str, None] = {}  # all that held something so far, so that nobody's colour goes to somebody else
        for step in record.steps:
            pods |= dict.fromkeys(one.pod for one in step.held)
            found.append("" if step.verdict == "failed" else self._draw(record, name, machine, step, list(pods)))
        return found

    def _draw(
        self, record: InstanceRecord, name: str, machine: Machine, step: StepRecord | None, pods: Sequence[str]
    ) -> str:
        devices = step.devices if step else record.devices
        held = step.held if step else ()
        wish = _wish(step) if step else None
        kept = tuple(sorted(record.reserved_memory.items()))
        what = (name, devices, tuple(map(_value, held)), tuple(pods), wish, record.reserved_cpus, kept)
        if what not in self._drawn:
            of_pod = {one.pod: one for one in held}
            scene = Scene(
                machine,
                tuple(_holding(pod, of_pod.get(pod)) for pod in pods),
                tuple(DeviceMark(one.resource, one.id, one.numa, one.healthy) for one in devices),
                frozenset(parse_cpulist(record.reserved_cpus)),
                record.reserved_memory,
                wish,
            )
            self._drawn[what] = draw_svg(scene, width=_WIDTH).replace(_STYLE_ELEMENT, "", 1)
        return self._drawn[what]


def _value(held: HeldRecord) -> Hashable:
    return held.pod, held.cpus, tuple(sorted(held.memory.items())), held.devices


def _holding(pod: str, held: HeldRecord | None) -> Holding:
    if held is None:
        return Holding(pod, gone=True)
    return Holding(pod, frozenset(parse_cpulist(held.cpus)), held.memory, frozenset(held.devices))


def _wish(step: StepRecord) -> Wish | None:
    """A pod that was refused; nobody knows where it nearly fits, so it is told above the drawing."""
    return Wish(step.told, (), step.message or step.reason) if step.verdict == "refused" else None
