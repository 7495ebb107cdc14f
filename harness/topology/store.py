"""The store of affinities: what was decided for each container of the admitted pods."""

from typing import Any

from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.topology.hints import TopologyHint
from numaproof.harness.vocabulary import ContainerKey

NO_AFFINITY = TopologyHint(None, False)


class Store:
    """Affinities by pod and container, and the ids under which the containers run."""

    def __init__(self) -> None:
        self._affinities: dict[ContainerKey, TopologyHint] = {}
        self._containers: dict[str, ContainerKey] = {}

    def get_affinity(self, pod_uid: str, container_name: str) -> TopologyHint:
        """The affinity stored for a container; without one, any node, not preferred."""
        return self._affinities.get((pod_uid, container_name), NO_AFFINITY)

    def restore(self, pod_uid: str, container_name: str, affinity: TopologyHint) -> None:
        """Store the affinity of a container, newly decided or from before a restart."""
        self._affinities[pod_uid, container_name] = affinity

    def add_container(self, pod: Pod, container: Container, container_id: str) -> None:
        """Remember under which id a container of the pod runs."""
        self._containers[container_id] = (pod.uid, container.name)

    def remove_container(self, container_id: str) -> None:
        """Forget a container, and its affinity unless it runs under another id by now; an unknown one is ignored."""
        key = self._containers.pop(container_id, None)
        if key is not None and key not in self._containers.values():
            self._affinities.pop(key, None)

    def containers(self) -> dict[str, ContainerKey]:
        """The containers that run, by id."""
        return self._containers.copy()

    def checkpoint(self) -> Any:
        """What is remembered, to come back to by `rollback`."""
        return self._affinities.copy(), self._containers.copy()

    def rollback(self, checkpoint: Any) -> None:
        """Remember what was remembered at the checkpoint, which can be used once."""
        self._affinities, self._containers = checkpoint

    def remove_pod(self, uid: str) -> None:
        """Forget all containers of a pod."""
        self._affinities = {key: hint for key, hint in self._affinities.items() if key[0] != uid}
        self._containers = {cid: key for cid, key in self._containers.items() if key[0] != uid}
