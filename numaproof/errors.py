"""What may go wrong because of what the user gave, as opposed to faults of ours or of what is tested."""


class UserError(Exception):
    """What the user gave cannot be used; the text is one line: where, what, the remedy."""
