"""What may be wrong with the description of a fake device plugin."""

from numaproof.errors import UserError


class PluginError(UserError):
    """A fake plugin cannot be built or run as described; the text is one line: where, what, the remedy."""
