"""The API server's defaults for what a pod asks for as a whole."""

from numaproof.harness.pods.pod import Pod, PodResources
from numaproof.harness.pods.requests import container_limits, container_requests


def with_defaults(pod: Pod, asked: PodResources) -> PodResources:
    """Huge pages are limited to the containers' total; with a limit, the request is theirs, or else the limit."""
    if not asked.requests and not asked.limits:
        return asked
    pages = {
        resource: limit
        for resource, limit in container_limits(pod).items()
        if is_hugepages(resource) and resource not in asked.requests
    }
    limits = {**pages, **asked.limits}
    if not limits:
        return asked
    totals = {resource: total for resource, total in container_requests(pod).items() if resource in ("cpu", "memory")}
    return PodResources({**limits, **totals, **asked.requests}, limits)


def is_hugepages(resource: str) -> bool:
    """Whether a resource is memory in huge pages."""
    return resource.startswith("hugepages-")
