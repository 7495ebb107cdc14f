"""True and false, as policy options write them."""

# What Go's strconv.ParseBool takes: the options reach the kubelet as texts.
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def parse_bool(text: str) -> bool | None:
    """What the kubelet reads there; None: it would refuse to start."""
    if text in _TRUE:
        return True
    return False if text in _FALSE else None
