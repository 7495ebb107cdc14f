"""The pods as the kubelet's /pods shows them."""

from typing import Any

from numaproof.harness.node.snapshot import NodeSnapshot, PodView
from numaproof.harness.pods.affinity import missing_fields
from numaproof.harness.pods.qos import qos_class


def pod_list(snapshot: NodeSnapshot) -> dict[str, Any]:
    """A PodList of the admitted pods, of those that wait to be bound, and of those refused lately."""
    items = [_pod(view, {"phase": "Running"}) for view in snapshot.pods]
    for view in snapshot.pending:
        missing = " and ".join(missing_fields(view.pod))
        condition = {"type": "NUMABound", "status": "False", "reason": "Unbound", "message": f"waits for {missing}"}
        items.append(_pod(view, {"phase": "Pending", "conditions": [condition]}))
    for one in snapshot.refused:
        message = f"Pod was rejected: {one.verdict.message}"
        items.append(_pod(one.pod, {"phase": "Failed", "reason": one.verdict.reason, "message": message}))
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}


def _pod(view: PodView, status: dict[str, Any]) -> dict[str, Any]:
    metadata = {**view.manifest.get("metadata", {}), "namespace": view.pod.namespace, "uid": view.pod.uid}
    return {
        "metadata": metadata,
        "spec": view.manifest["spec"],
        "status": {**status, "qosClass": qos_class(view.pod)},
    }
