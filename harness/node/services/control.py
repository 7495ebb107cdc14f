"""The control service: what a harness or a user asks of the node."""

import threading
from collections.abc import Callable, Iterator
from typing import NoReturn, TypeVar

import grpc

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.harness.affinity.quota import checked_namespace, quota_amount
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import numaproof_v1_pb2_grpc as api_grpc
from numaproof.harness.decision.discovery import hugepage_resource
from numaproof.harness.node.admission import Admissions, BusyError, ConflictError, UnknownPodError
from numaproof.harness.node.bind_token import NOT_PERMITTED, BindToken
from numaproof.harness.node.encode.control import (
    admission_message,
    bind_message,
    explain_message,
    state_message,
)
from numaproof.harness.node.encode.node_status import quota_messages, status_message, taint_messages
from numaproof.harness.node.events import EventLog
from numaproof.harness.node.plugins import PluginHub
from numaproof.harness.pods.taints import Taint, taints_from

T = TypeVar("T")

# Each watcher holds a thread of the server as long as it watches.
MOST_WATCHERS = 32
# Bytes of an error's text: a message may repeat what it was given, and clients take no longer ones.
LONGEST_TEXT = 2000


class ControlService(api_grpc.ControlServicer):
    """Admit, bind, remove, taint, explain, look."""

    def __init__(
        self,
        *,
        admissions: Admissions,
        plugins: PluginHub,
        events: EventLog,
        machine: Machine,
        reserved_cpus: frozenset[int],
        token: BindToken,
    ) -> None:
        self._admissions = admissions
        self._plugins = plugins
        self._events = events
        self._machine = machine
        self._reserved_cpus = reserved_cpus
        self._token = token
        self._watchers = threading.BoundedSemaphore(MOST_WATCHERS)

    def Admit(self, request: api.AdmitRequest, context: grpc.ServicerContext) -> api.AdmitResponse:  # noqa: N802
        """Decide about a pod."""
        admission = _answer(context, lambda: self._admissions.admit(request.manifest))
        return admission_message(admission, traced=request.trace)

    def Remove(self, request: api.RemoveRequest, context: grpc.ServicerContext) -> api.RemoveResponse:  # noqa: N802
        """Free all that a pod was given."""
        return api.RemoveResponse(uid=_answer(context, lambda: self._admissions.remove(request.pod)))

    def Explain(self, request: api.ExplainRequest, context: grpc.ServicerContext) -> api.ExplainResponse:  # noqa: N802
        """Tell how a pod would be decided about."""
        return explain_message(_answer(context, lambda: self._admissions.explain(request.manifest)))

    def State(self, request: api.StateRequest, context: grpc.ServicerContext) -> api.StateResponse:  # noqa: N802
        """All pods, plugins and what is free."""
        # Before the snapshot, which then has at least what these tell of.
        last_event, plugins = self._events.last, self._plugins.plugins()
        return state_message(self._admissions.snapshot(), plugins, self._reserved_cpus, last_event)

    def Watch(self, request: api.WatchRequest, context: grpc.ServicerContext) -> Iterator[api.Event]:  # noqa: N802
        """What happened, and what happens from now on."""
        if not self._watchers.acquire(blocking=False):
            _abort(
                context, grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MOST_WATCHERS} others watch already; try again later"
            )
        wanted = threading.Event()
        wanted.set()

        def leave() -> None:
            wanted.clear()
            self._events.wake()

        try:
            if not context.add_callback(leave):
                return
            # The client knows by this that it misses nothing from here on.
            context.send_initial_metadata(())
            for event in self._events.follow(request.after, wanted):
                if not request.kinds or event.kind in request.kinds:
                    yield event
        finally:
            self._watchers.release()

    def Machine(self, request: api.MachineRequest, context: grpc.ServicerContext) -> api.MachineResponse:  # noqa: N802
        """The machine as the node sees it."""
        cpus = self._machine.cpus_by_node()
        return api.MachineResponse(
            name=self._machine.name,
            nodes=[
                api.NumaNode(
                    id=node.id,
                    cpus=cpus[node.id],
                    memory=node.memory,
                    hugepages={
                        hugepage_resource(one.size_kb): one.size_kb * 1024 * one.pages for one in node.hugepages
                    },
                    distances=node.distances,
                )
                for node in self._machine.nodes
            ],
        )

    def NodeStatus(  # noqa: N802
        self, request: api.NodeStatusRequest, context: grpc.ServicerContext
    ) -> api.NodeStatusResponse:
        """The node's NUMA topology, taints and quotas."""
        return status_message(self._admissions.snapshot())

    def Taint(self, request: api.TaintRequest, context: grpc.ServicerContext) -> api.TaintResponse:  # noqa: N802
        """Change the node's taints."""

        def change() -> tuple[tuple[Taint, ...], tuple[str, ...]]:
            add = [{"key": one.key, "value": one.value, "effect": one.effect} for one in request.add]
            remove = [Taint(one.key, one.value, one.effect) for one in request.remove]
            return self._admissions.change_taints(taints_from(add, "add"), remove)

        taints, evicted = _answer(context, change)
        return api.TaintResponse(taints=taint_messages(taints), evicted=evicted)

    def Bind(self, request: api.BindRequest, context: grpc.ServicerContext) -> api.BindResponse:  # noqa: N802
        """Give a pod that waits its place."""
        told = {name.lower(): text for name, text in context.invocation_metadata()}
        if not self._token.allows(str(told.get("authorization", ""))):
            _abort(context, grpc.StatusCode.PERMISSION_DENIED, NOT_PERMITTED)
        admission = _answer(
            context,
            lambda: self._admissions.bind(
                request.pod,
                request.numa_node_id if request.HasField("numa_node_id") else None,
                request.cpu_affinity if request.HasField("cpu_affinity") else None,
            ),
        )
        return bind_message(admission, traced=request.trace)

    def SetQuota(  # noqa: N802
        self, request: api.SetQuotaRequest, context: grpc.ServicerContext
    ) -> api.SetQuotaResponse:
        """Limit the dedicated CPUs of a namespace."""

        def change() -> None:
            namespace = checked_namespace(request.namespace, "namespace")
            told = request.HasField("dedicated_cpu")
            amount = quota_amount(request.dedicated_cpu, "dedicated_cpu") if told else None
            self._admissions.set_quota(namespace, amount)

        _answer(context, change)
        return api.SetQuotaResponse(quotas=quota_messages(self._admissions.snapshot().quotas))


def _answer(context: grpc.ServicerContext, call: Callable[[], T]) -> T:
    try:
        return call()
    except UnknownPodError as error:
        _abort(context, grpc.StatusCode.NOT_FOUND, str(error))
    except ConflictError as error:
        _abort(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))
    except BusyError as error:
        _abort(context, grpc.StatusCode.ABORTED, str(error))
    except UserError as error:
        _abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))


def _abort(context: grpc.ServicerContext, code: grpc.StatusCode, text: str) -> NoReturn:
    context.abort(code, text.encode(errors="replace")[:LONGEST_TEXT].decode(errors="ignore"))
    raise AssertionError  # abort has raised
