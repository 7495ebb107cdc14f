"""What may be wrong with a machine that somebody described, captured or imported."""


class MachineError(Exception):
    """A machine cannot be described, read or written; the text is one line: the place, the value and the remedy."""
