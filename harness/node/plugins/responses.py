"""What a container is given when several plugins answered for it."""

from collections.abc import Callable, Iterable

from numaproof.harness.api import deviceplugin_v1beta1_pb2 as api


class _Claims:
    """Who set what first."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._first: dict[tuple[str, str], tuple[str, str]] = {}

    def grants(self, resource: str, kind: str, key: str, value: str) -> bool:
        """Whether nobody has set this before; a different value that comes too late is logged."""
        if (kind, key) not in self._first:
            self._first[kind, key] = (resource, value)
            return True
        owner, present = self._first[kind, key]
        if present != value:
            self._log(f"{resource}: {kind} {key}: {value!r} is dropped, because {owner} has set {present!r}")
        return False


def merge_responses(
    responses: Iterable[tuple[str, api.ContainerAllocateResponse]], log: Callable[[str], None]
) -> api.ContainerAllocateResponse:
    """All answers in one; where two set the same thing the first wins, and a difference is logged.

    Each answer comes with its resource's name, for the log. Variables and annotations are the same thing when their
    names are equal, devices and mounts when their paths in the container are.
    """
    merged = api.ContainerAllocateResponse()
    claims = _Claims(log)
    for resource, response in responses:
        for name, value in sorted(response.envs.items()):
            if claims.grants(resource, "environment variable", name, value):
                merged.envs[name] = value
        for mount in response.mounts:
            source = f"{mount.host_path} ({'ro' if mount.read_only else 'rw'})"
            if claims.grants(resource, "mount", mount.container_path, source):
                merged.mounts.append(mount)
        for device in response.devices:
            source = f"{device.host_path} ({device.permissions})"
            if claims.grants(resource, "device", device.container_path, source):
                merged.devices.append(device)
        for name, value in sorted(response.annotations.items()):
            if claims.grants(resource, "annotation", name, value):
                merged.annotations[name] = value
        for cdi in response.cdi_devices:
            if claims.grants(resource, "CDI device", cdi.name, cdi.name):
                merged.cdi_devices.append(cdi)
    return merged
