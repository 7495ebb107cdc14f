"""How a registration is refused."""

from collections.abc import Callable
from typing import cast

import grpc
import pytest


def refusal_of(attempt: Callable[[], None]) -> str:
    """The text with which a registration is refused."""
    with pytest.raises(grpc.RpcError) as caught:
        attempt()
    call = cast("grpc.Call", caught.value)
    assert call.code() is grpc.StatusCode.UNKNOWN
    return str(call.details())
