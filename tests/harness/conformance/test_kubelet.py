"""The kubelet that the suite plays: what it records of registrations that its own doings cut short, and of refusals."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api
from numaproof.harness.api import deviceplugin_v1beta1_pb2_grpc as api_grpc
from numaproof.harness.conformance import kubelet
from numaproof.harness.conformance.exchange import Opened, Recorder, Registered
from numaproof.harness.conformance.happenings import Session
from numaproof.harness.conformance.kubelet import FakeKubelet
from numaproof.plugins_mock import Fault, MockDevice, MockPlugin
from tests.places import short_directory
from tests.plugins_mock.kubelet import dial
from tests.waiting import wait_until

NOBODY = api.RegisterRequest(version="v1beta1", endpoint="nobody.sock", resource_name="example.com/nobody")


@contextmanager
def started(recorder: Recorder, refusals: int = 0) -> Iterator[tuple[FakeKubelet, Path]]:
    with short_directory() as directory:
        registry = directory / "r"
        registry.mkdir()
        with FakeKubelet(recorder, Session.CALLS, directory, registry, seconds=30, refusals=refusals) as played:
            played.start()
            yield played, directory


def test_a_registration_that_the_end_of_the_session_cuts_short_is_not_held_against_the_subject() -> None:
    recorder = Recorder()
    with (
        started(recorder) as (played, directory),
        dial(directory / "kubelet.sock") as channel,
        ThreadPoolExecutor() as pool,
    ):
        register = pool.submit(api_grpc.RegistrationStub(channel).Register, NOBODY, timeout=60, wait_for_ready=True)
        wait_until(lambda: played.arrived == 1, "the registration")
        played.finish()  # as before the subject is killed
        register.result()
    assert recorder.exchange().of(Registered) == ()


def test_what_still_registers_when_it_is_about_to_be_ended_is_not_followed() -> None:
    recorder = Recorder()
    with started(recorder) as (played, directory):
        played.retire()
        with MockPlugin("example.com/x", [MockDevice("a")], directory):
            wait_until(lambda: bool(recorder.exchange().of(Registered)), "the registration")
        assert (played.accepted, recorder.exchange().of(Opened)) == (0, ())


def test_a_subject_that_does_not_serve_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubelet, "DIAL_SECONDS", 1)
    recorder = Recorder()
    with started(recorder) as (_, directory), dial(directory / "kubelet.sock") as channel:
        api_grpc.RegistrationStub(channel).Register(NOBODY, timeout=60, wait_for_ready=True)
    [event] = recorder.exchange().of(Registered)
    assert event.dial_error == "nobody answered at its socket within 1 s"


def test_who_was_refused_has_to_come_again_itself() -> None:
    sullen = {"Register": [Fault("give-up")]}
    devices = [MockDevice("a")]
    with started(Recorder(), refusals=1) as (played, directory):
        with MockPlugin("example.com/x", devices, directory, faults=sullen):
            wait_until(lambda: played.arrived == 1, "the registration that is refused")
            with MockPlugin("example.com/y", devices, directory):
                wait_until(lambda: played.accepted == 1, "the other resource's registration")
                assert not played.all_came_again
        with MockPlugin("example.com/x", devices, directory):
            wait_until(lambda: played.all_came_again, "the refused resource's registration")
