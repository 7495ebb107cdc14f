"""An external control loop: pods that a node has refused with a Topology Affinity error are deployed again whenever
something there may have become free.

    python redeploy_loop.py ROOT_OF_THE_NODE POD.yaml ...
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import grpc
import yaml

from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import numaproof_v1_pb2_grpc as services


def redeploy(control: services.ControlStub, manifests: Mapping[str, str]) -> None:
    """Watch the node for ever; `manifests`, by the pods' names, are those that this loop looks after."""
    refused: set[str] = set()
    seen = control.State(api.StateRequest()).last_event
    print("watching", flush=True)
    for event in control.Watch(api.WatchRequest(after=seen, kinds=[api.REJECTED, api.REMOVED, api.DEVICES])):
        if event.kind == api.REJECTED:
            if event.verdict.reason == "TopologyAffinityError" and event.pod.name in manifests:
                refused.add(event.pod.name)
            continue
        for name in sorted(refused):  # a pod has gone, or devices have come
            if control.Admit(api.AdmitRequest(manifest=manifests[name])).verdict.admitted:
                refused.remove(name)
                print(f"redeployed {name}", flush=True)


if __name__ == "__main__":
    root, *files = map(Path, sys.argv[1:])
    texts = [file.read_text() for file in files]
    with grpc.insecure_channel(f"unix:{root}/control.sock") as channel:
        redeploy(services.ControlStub(channel), {yaml.safe_load(text)["metadata"]["name"]: text for text in texts})
