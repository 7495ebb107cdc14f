"""How calls to plugins fail: the status code, and the words of a Go client."""

import grpc


def _answer_of(error: grpc.RpcError) -> grpc.Call | None:
    """The failed call itself, which knows the code; gRPC raises it as the error, without saying so in its types."""
    return error if isinstance(error, grpc.Call) else None


def code_of(error: grpc.RpcError) -> grpc.StatusCode | None:
    """The status code of a failed call; None: it never became a call."""
    answer = _answer_of(error)
    return answer.code() if answer is not None else None


def status_text(error: grpc.RpcError) -> str:
    """A failed call in the words of a Go client, which end up in the kubelet's messages."""
    answer = _answer_of(error)
    if answer is None:
        return str(error)
    code: grpc.StatusCode = answer.code()
    # Go spells this one like an American.
    name = "Canceled" if code is grpc.StatusCode.CANCELLED else code.name.title().replace("_", "")
    return f"rpc error: code = {name} desc = {answer.details()}"
