"""The PodResources service, as the kubelet serves it."""

from typing import NoReturn

import grpc

from numaproof.harness.api import podresources_v1_pb2 as api
from numaproof.harness.api import podresources_v1_pb2_grpc as api_grpc
from numaproof.harness.decision.managers import Managers
from numaproof.harness.node.admission import Admissions
from numaproof.harness.node.metrics import Metrics
from numaproof.harness.node.views import container_devices, container_memory, pod_resources_message

VERSION = "v1"


class PodResourcesService(api_grpc.PodResourcesListerServicer):
    """Tells what each admitted pod was given, and what there is to give."""

    def __init__(self, admissions: Admissions, managers: Managers, metrics: Metrics) -> None:
        self._admissions = admissions
        self._managers = managers
        self._metrics = metrics

    def List(  # noqa: N802
        self, request: api.ListPodResourcesRequest, context: grpc.ServicerContext
    ) -> api.ListPodResourcesResponse:
        """All admitted pods."""
        self._count("list")
        with self._admissions.lock:
            views = [self._admissions.view(record) for record in self._admissions.records if record.is_shown]
        return api.ListPodResourcesResponse(pod_resources=map(pod_resources_message, views))

    def GetAllocatableResources(  # noqa: N802
        self, request: api.AllocatableResourcesRequest, context: grpc.ServicerContext
    ) -> api.AllocatableResourcesResponse:
        """All that could be given to pods: healthy devices, CPUs and memory that are not reserved."""
        self._count("get_allocatable")
        with self._admissions.lock:
            healthy = self._managers.devices.healthy()
            devices = {
                resource: [device for device in self._managers.devices.devices(resource) if device.id in ids]
                for resource, ids in healthy.items()
            }
            cpus, memory = self._managers.cpu.allocatable, self._managers.memory.allocatable
        return api.AllocatableResourcesResponse(
            devices=[message for resource in devices for message in container_devices(resource, devices[resource])],
            cpu_ids=sorted(cpus),
            memory=container_memory(memory),
        )

    def Get(  # noqa: N802
        self, request: api.GetPodResourcesRequest, context: grpc.ServicerContext
    ) -> api.GetPodResourcesResponse:
        """One pod, by its name."""
        self._count("get")
        with self._admissions.lock:
            record = self._admissions.records.named(request.pod_namespace, request.pod_name)
            view = None if record is None or not record.is_shown else self._admissions.view(record)
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
