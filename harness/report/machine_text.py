"""A machine alone as text: the drawing, and below it what a drawing of pods has no place for."""

import textwrap

from numaproof.fake_sysfs import Machine
from numaproof.harness.drawing.caches import caches_told
from numaproof.harness.drawing.figures import distances, links
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.drawing.text import draw_text, figure_lines
from numaproof.harness.drawing.tree import machine_tree, pci_tree
from numaproof.harness.drawing.words import clean

_LONGEST_NOTE = 300


def machine_lines(machine: Machine, width: int, *, tree_width: int | None = None, colour: bool = False) -> list[str]:
    """The drawing, the caches, the PCI tree and the notes; the tree is wrapped at `tree_width`, if that is given."""
    lines = draw_text(Scene(machine), width, colour=colour)
    for more in (_wrapped(caches_told(machine), width), pci_tree(machine, tree_width), _notes(machine, width)):
        lines += ["", *more] if more else []
    return lines


def full_lines(machine: Machine, width: int, *, tree_width: int | None = None) -> list[str]:
    """A line for everything that there is, then distances, links and notes."""
    lines = machine_tree(machine, tree_width)
    for figure in (distances(machine), links(machine)):
        lines += figure_lines(figure, width)
    return [*lines, *_notes(machine, width)]


def _notes(machine: Machine, width: int) -> list[str]:
    return _wrapped([f"note: {clean(note, _LONGEST_NOTE)}" for note in machine.notes], width)


def _wrapped(texts: list[str], width: int) -> list[str]:
    return [line for text in texts for line in textwrap.wrap(text, width, subsequent_indent="  ")]
