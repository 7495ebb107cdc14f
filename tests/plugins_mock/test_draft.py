"""A fake plugin and the draft GetPreferredAllocations: on the proposal's path, in our own service, or on both."""

import threading
from typing import Any

import grpc
import pytest

from tests.harness.api.wire import part, text, whole
from tests.places import short_directory
from tests.plugins_mock.kubelet import dial, kubelet
from tests.plugins_mock.serving import SECONDS, program, served

PROPOSED = "/v1beta1.DevicePlugin/GetPreferredAllocations"
OWN = "/numaproof.v1.PreferredAllocations/GetPreferredAllocations"
OWN_OPTIONS = "/numaproof.v1.PreferredAllocations/GetPreferredAllocationsOptions"


def call(channel: grpc.Channel, path: str, request: bytes) -> bytes | grpc.StatusCode:
    """The answer as bytes, or the status code of a refusal."""
    unary: Any = channel.unary_unary(path)
    answer, finished = unary.future(request, timeout=SECONDS), threading.Event()
    answer.add_done_callback(lambda _: finished.set())
    finished.wait()
    return answer.result() if answer.code() is grpc.StatusCode.OK else answer.code()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("paths", "proposed", "own"),
    [(("proposal", "numaproof"), True, True), (("proposal",), True, False), (("numaproof",), False, True)],
)
def test_the_call_is_served_where_it_is_wanted(paths: tuple[str, ...], proposed: bool, own: bool) -> None:
    """Bytes by hand: the proposal's request for two of a, b, c with b, and its answer, the lowest two with b."""
    request = text(1, "a") + text(1, "b") + text(1, "c") + text(2, "b") + whole(3, 2)
    answer = part(1, text(1, "a") + text(1, "b"))
    unknown = grpc.StatusCode.UNIMPLEMENTED
    with served(plural=True, plural_paths=paths) as (plugin, _), dial(plugin.socket) as channel:
        assert call(channel, PROPOSED, request) == (answer if proposed else unknown)
        assert call(channel, OWN, request) == (answer if own else unknown)
        assert call(channel, OWN_OPTIONS, b"") == (whole(1, 1) if own else unknown)
        assert [one.name for one in plugin.calls] == ["GetPreferredAllocations"] * (proposed + own)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], (False, False)),
        (["--plural"], (True, True)),
        (["--plural-path", "proposal"], (True, False)),
        (["--plural-path", "numaproof"], (False, True)),
    ],
)
def test_the_program_serves_it_where_it_is_told_to(arguments: list[str], expected: tuple[bool, bool]) -> None:
    with short_directory() as directory, kubelet(directory) as seen:
        options = ["--dir", str(directory), "--preferred", "lowest", *arguments]
        with program("generic", *options), dial(directory / seen.wait_for(1).endpoint) as channel:
            answers = [call(channel, path, text(1, "0") + whole(3, 1)) for path in (PROPOSED, OWN)]
    assert tuple(answer == part(1, text(1, "0")) for answer in answers) == expected


def test_a_request_for_no_device_does_no_harm() -> None:
    """A node's way to find out whether the proposal's call is served."""
    with served(plural=True) as (plugin, _), dial(plugin.socket) as channel:
        assert not isinstance(call(channel, PROPOSED, b""), grpc.StatusCode)


def test_without_the_draft_neither_path_is_known() -> None:
    with served() as (plugin, _), dial(plugin.socket) as channel:
        for path in (PROPOSED, OWN, OWN_OPTIONS):
            assert call(channel, path, b"") == grpc.StatusCode.UNIMPLEMENTED
