"""What may be wrong with the description of a fake device plugin."""


class PluginError(Exception):
    """A fake plugin cannot be built or run as described; the text is one line: where, the value and the remedy."""
