"""What may be wrong with a machine that somebody described, captured or imported."""

from numaproof.errors import UserError


class MachineError(UserError):
    """A machine cannot be described, read or written; the text is one line: where, what, the remedy."""
