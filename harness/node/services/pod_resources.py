"""The PodResources service, as the kubelet serves it."""

from typing import NoReturn

import grpc

from numaproof.harness.api import podresources_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2_grpc as api_grpc
from numaproof.harness.node.admission import Admissions
from numaproof.harness.node.encode.pod_resources import allocatable_message, pod_resources_message
from numaproof.harness.node.metrics import Metrics

VERSION = "v1"


class PodResourcesService(api_grpc.PodResourcesListerServicer):
    """Tells what each admitted pod was given, and what there is to give."""

    def __init__(self, admissions: Admissions, metrics: Metrics) -> None:
        self._admissions = admissions
        self._metrics = metrics

    def List(  # noqa: N802
        self, request: api.ListPodResourcesRequest, context: grpc.ServicerContext
    ) -> api.ListPodResourcesResponse:
        """All admitted pods."""
        self._count("list")
        return api.ListPodResourcesResponse(pod_resources=map(pod_resources_message, self._admissions.snapshot().pods))

    def GetAllocatableResources(  # noqa: N802
        self, request: api.AllocatableResourcesRequest, context: grpc.ServicerContext
    ) -> api.AllocatableResourcesResponse:
        """All that could be given to pods: healthy devices, CPUs and memory that are not reserved."""
        self._count("get_allocatable")
        return allocatable_message(self._admissions.snapshot())

    def Get(  # noqa: N802
        self, request: api.GetPodResourcesRequest, context: grpc.ServicerContext
    ) -> api.GetPodResourcesResponse:
        """One pod, by its name."""
        self._count("get")
        view = self._admissions.snapshot().find(request.pod_namespace, request.pod_name)
        if view is None:
            self._metrics.pod_resources_errors["get"].add(VERSION)
            _abort(context, f"pod {request.pod_name} in namespace {request.pod_namespace} not found")
        return api.GetPodResourcesResponse(pod_resources=pod_resources_message(view))

    def _count(self, call: str) -> None:
        self._metrics.pod_resources.add(VERSION)
        self._metrics.pod_resources_calls[call].add(VERSION)


def _abort(context: grpc.ServicerContext, text: str) -> NoReturn:
    # UNKNOWN is what a Go server, such as the kubelet, makes of an error without a code.
    context.abort(grpc.StatusCode.UNKNOWN, text)
    raise AssertionError  # abort has raised
