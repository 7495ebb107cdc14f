"""docs/examples/redeploy_loop.py beside a node, as a program."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.harness.node.running import STATIC, client, pod, running_node
from tests.waiting import wait_until

EXAMPLE = Path(__file__).parents[3] / "docs/examples/redeploy_loop.py"


@contextmanager
def loop(root: Path, *manifests: Path) -> Iterator["subprocess.Popen[str]"]:
    """The example, from when it watches the node on; killed at the end, as nothing else ends it."""
    command = [sys.executable, str(EXAMPLE), str(root), *map(str, manifests)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "watching\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_refused_pod_is_redeployed_when_another_goes(tmp_path: Path) -> None:
    """Documentation: "An external control loop could be also implemented to trigger a redeployment of pods that have
    the Topology Affinity error".
    """
    manifest = tmp_path / "refused.yaml"
    manifest.write_text(json.dumps(pod("refused", {"cpu": 8, "memory": "1Gi"})))
    config = STATIC | {"topologyManagerPolicy": "single-numa-node"}
    with running_node(config) as node, client(node.root) as control, loop(node.root, manifest) as process:
        assert process.stdout is not None
        assert control.admit(pod("first", {"cpu": 8, "memory": "1Gi"})).verdict.admitted  # all of node 1
        assert control.admit(manifest.read_text()).verdict.reason == "TopologyAffinityError"
        assert control.admit(pod("stranger", {"cpu": 8, "memory": "1Gi"})).verdict.reason == "TopologyAffinityError"
        assert control.admit(pod("too-large", {"cpu": 20, "memory": "1Gi"})).verdict.reason != ""
        control.remove("default/first")
        wait_until(lambda: [one.name for one in control.state().pods] == ["refused"], "the pod's second deployment")
        assert process.stdout.readline() == "redeployed refused\n"
