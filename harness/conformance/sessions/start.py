"""The sessions of beginnings and ends: before the kubelet, SIGTERM; a refusal, a stale socket."""

import contextlib
import socket

from numaproof.harness.conformance.exchange import Registered
from numaproof.harness.conformance.happenings import Happening, Method
from numaproof.harness.conformance.stage import Stage
from numaproof.harness.socket_files import sockets_in

_RETRY_FACTOR = 1.5  # some try again every 30 s, which is the usual timeout


def run_early(stage: Stage) -> None:
    """Start the subject before the kubelet; later end it by SIGTERM."""
    stage.life.supervise(False)
    stage.launch()
    stage.wait(lambda: False, stage.pace.early)
    if stage.life.alive():
        stage.kubelet.start()
        if stage.wait_for_registration():
            stage.tell(Happening.REGISTERED_LATE)
        elif stage.life.alive():
            stage.tell(Happening.IDLE_BEFORE_LATE_KUBELET, f"for {stage.pace.start:g} s")
            stage.kubelet.finish()
            stage.life.kill()
    else:
        stage.kubelet.start()
    if not stage.life.alive():
        if stage.is_hopeless():
            stage.tell(Happening.NOT_REGISTERED, stage.life.last_output())
            return
        stage.launch()
        if not stage.wait_for_registration():
            stage.tell(Happening.NOT_REGISTERED, stage.life.last_output())
            return
    _terminate(stage)


def _terminate(stage: Stage) -> None:
    # One that registered just before the news of kubelet.sock reached it begins anew: it is to be through with that.
    stage.wait(stage.is_connected)
    for connection in stage.kubelet.connections().values():
        stage.wait_for_lists(connection)
    if not stage.life.alive():
        return  # it has ended by itself meanwhile: there is nothing left to end
    stage.kubelet.retire()
    stage.tell(Happening.SIGTERM)
    stage.life.terminate()
    if not stage.wait(lambda: not stage.life.alive()):
        stage.tell(Happening.SURVIVES_SIGTERM, f"for {stage.pace.timeout:g} s")
        return
    left = (set(sockets_in(stage.directories.plugins)) - {"kubelet.sock"}) | set(sockets_in(stage.directories.registry))
    if left:
        stage.tell(Happening.SOCKET_LEFT, ", ".join(sorted(left)))


def run_refused(stage: Stage) -> None:
    """Refuse the first registration; later kill the subject and start it over its own stale socket."""
    stage.kubelet.start()
    supervised = stage.life.supervised
    stage.life.supervise(False)
    stage.launch()
    if not stage.wait(lambda: stage.kubelet.arrived > 0, stage.pace.start):
        stage.tell(Happening.NOT_REGISTERED, stage.life.last_output())
        return
    seconds = stage.pace.timeout * _RETRY_FACTOR
    if stage.wait(lambda: stage.kubelet.all_came_again, seconds):
        stage.tell(Happening.TRIED_AGAIN)
    elif stage.life.alive():
        stage.tell(Happening.GAVE_UP, f"for {seconds:g} s")
    stage.kubelet.finish()
    stage.life.kill()
    stage.life.supervise(supervised)
    _leave_sockets(stage)
    before = stage.kubelet.accepted
    stage.launch()
    if stage.wait(lambda: stage.kubelet.accepted > before, stage.pace.start):
        stage.tell(Happening.REGISTERED_OVER_STALE_SOCKET)
    else:
        stage.tell(Happening.NOT_REGISTERED_OVER_STALE_SOCKET, stage.life.last_output())


def _leave_sockets(stage: Stage) -> None:
    """A socket that nobody listens to wherever the subject had one; the killed one has left most of them."""
    for event in stage.recorder.exchange().of(Registered, stage.name):
        directory = stage.directories.registry if event.via is Method.GET_INFO else stage.directories.plugins
        name = event.endpoint.rsplit("/", 1)[-1]
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(directory / name))  # fails where the socket is still there, which is as good
