"""How a node finds out that a plugin serves the draft GetPreferredAllocations, and where it asks then."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from numaproof.harness.node.plugins.sockets import target
from numaproof.harness.topology.provider import AllocationError
from tests.harness.api.wire import part, text, whole
from tests.harness.node.plugins.listener import heard_hub
from tests.harness.node.plugins.small_plugin import register
from tests.places import short_directory

GPU = "example.com/gpu"
OPTIONS = "/v1beta1.DevicePlugin/GetDevicePluginOptions"
LIST = "/v1beta1.DevicePlugin/ListAndWatch"
PROPOSED = "/v1beta1.DevicePlugin/GetPreferredAllocations"  # the path of the proposal's diff
OWN = "/numaproof.v1.PreferredAllocations/GetPreferredAllocations"
OWN_OPTIONS = "/numaproof.v1.PreferredAllocations/GetPreferredAllocationsOptions"

# (a, b) and (a, c): the diff's PreferredAllocationsResponse, ContainerAllocateRequests of the number 1.
PAIRS = part(1, text(1, "a") + text(1, "b")) + part(1, text(1, "a") + text(1, "c"))
# The diff's PreferredAllocationsRequest: available_deviceIDs = 1, must_include_deviceIDs = 2, size = 3.
ASKED = text(1, "a") + text(1, "b") + text(1, "c") + text(2, "a") + whole(3, 2)


class Refused(Exception):  # noqa: N818
    """What a handler raises to end a call with a status code of its own."""

    def __init__(self, code: grpc.StatusCode) -> None:
        super().__init__(code)
        self.code = code


Answer = Callable[[bytes], bytes]


class RawPlugin(grpc.GenericRpcHandler):
    """A plugin of bytes: knows the paths that it is given, and no message."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self._answers = answers
        self.called: list[tuple[str, bytes]] = []

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        path = details.method
        if path == LIST:
            return grpc.unary_stream_rpc_method_handler(_until_cancelled)
        if path not in self._answers:
            self.called.append((path, b"?"))
            return None

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.called.append((path, request))
            try:
                return self._answers[path](request)
            except Refused as refused:
                context.abort(refused.code, "said by the plugin")
                raise

        return grpc.unary_unary_rpc_method_handler(answer)


def _until_cancelled(_request: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
    """A stream without any list, which the node follows as long as it likes."""
    ended = threading.Event()
    if context.add_callback(ended.set):
        ended.wait()
    return iter(())


@contextmanager
def serving(path: Path, answers: dict[str, Answer]) -> Iterator[RawPlugin]:
    plugin = RawPlugin({OPTIONS: lambda _: b"", **answers})
    server = grpc.server(ThreadPoolExecutor(4), handlers=[plugin])
    server.add_insecure_port(target(path))
    server.start()
    try:
        yield plugin
    finally:
        server.stop(None).wait()


def refuse(code: grpc.StatusCode) -> Answer:
    def answer(_request: bytes) -> bytes:
        raise Refused(code)

    return answer


def pairs_or(code: grpc.StatusCode) -> Answer:
    def answer(request: bytes) -> bytes:
        if not request:
            raise Refused(code)
        return PAIRS

    return answer


@pytest.mark.parametrize(
    "answer", [lambda _: PAIRS, pairs_or(grpc.StatusCode.INVALID_ARGUMENT), pairs_or(grpc.StatusCode.UNKNOWN)]
)
def test_a_plugin_that_implements_the_proposals_diff_is_recognised(answer: Answer) -> None:
    with (
        short_directory() as root,
        heard_hub(root) as (hub, _),
        serving(root / "dp" / "g.sock", {PROPOSED: answer}) as plugin,
    ):
        register(root / "dp", GPU, "g.sock")
        assert hub.offers_plural(GPU)
        assert hub.preferred_sets(GPU, ["a", "b", "c"], ["a"], 2) == [["a", "b"], ["a", "c"]]
        assert plugin.called == [(OPTIONS, b""), (OWN_OPTIONS, b"?"), (PROPOSED, b""), (PROPOSED, ASKED)]


def test_the_own_service_goes_first_where_both_are_served() -> None:
    answers: dict[str, Answer] = {PROPOSED: lambda _: b"", OWN: lambda _: PAIRS, OWN_OPTIONS: lambda _: whole(1, 1)}
    with (
        short_directory() as root,
        heard_hub(root) as (hub, _),
        serving(root / "dp" / "g.sock", answers) as plugin,
    ):
        register(root / "dp", GPU, "g.sock")
        assert hub.preferred_sets(GPU, ["a", "b", "c"], ["a"], 2) == [["a", "b"], ["a", "c"]]
        assert plugin.called == [(OPTIONS, b""), (OWN_OPTIONS, b""), (OWN, ASKED)]


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {PROPOSED: refuse(grpc.StatusCode.UNIMPLEMENTED)},
        {PROPOSED: refuse(grpc.StatusCode.UNAVAILABLE)},
        {PROPOSED: lambda _: PAIRS, OWN_OPTIONS: lambda _: b""},
        {PROPOSED: lambda _: PAIRS, OWN_OPTIONS: refuse(grpc.StatusCode.INTERNAL)},
    ],
    ids=["unknown", "unimplemented", "unavailable", "own service says no", "own service fails"],
)
def test_a_plugin_that_does_not_offer_the_draft_is_not_asked(answers: dict[str, Answer]) -> None:
    with short_directory() as root, heard_hub(root) as (hub, _), serving(root / "dp" / "g.sock", answers):
        register(root / "dp", GPU, "g.sock")
        assert not hub.offers_plural(GPU)
        with pytest.raises(AllocationError, match="does not serve GetPreferredAllocations"):
            hub.preferred_sets(GPU, ["a"], [], 1)
