"""`numaproof explain`: why a pod is admitted or refused, where it would be, and what would help."""

import argparse
import json
from pathlib import Path

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs import strict_yaml
from numaproof.harness.commands.machine import MACHINE
from numaproof.harness.commands.pod_files import pods_of
from numaproof.harness.decision.config import settings_in
from numaproof.harness.explain.as_json import as_json
from numaproof.harness.explain.explanation import explain
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.pods.pod import Pod
from numaproof.harness.report.explain_text import explanation_lines
from numaproof.harness.vocabulary import SEMANTICS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The pod, the node, who is there already, and how to tell."""
    parser.description = (
        "Tell whether a node admits a pod, where its CPUs, memory and devices would come from, and why; under every "
        "policy and scope; and if it is refused, what would help. Exit code 1: it is refused."
    )
    parser.add_argument("pod", metavar="POD", help="a Pod manifest, or what makes pods (a Deployment); - for stdin")
    parser.add_argument("--machine", metavar="M", default="host", help=f"{MACHINE} (default: host)")
    parser.add_argument("--config", metavar="FILE", type=Path, help="a KubeletConfiguration")
    parser.add_argument(
        "--running", metavar="FILE", nargs="+", default=[], help="pods that came before, in their order"
    )
    parser.add_argument("--semantics", choices=SEMANTICS, default="current", help="kubelet v1.36, or the KEP's")
    parser.add_argument("--json", action="store_true", help="as JSON")


def run(args: argparse.Namespace) -> int:
    """Print the explanation; exit code 1 if the pod is refused."""
    pod = _the_pod(args.pod)
    machine = fake_sysfs.parse_machine(args.machine)
    settings = settings_in(strict_yaml.read(args.config)) if args.config else None
    running = [one for name in args.running for one in pods_of(name, templates=True)]
    asked = sorted({name for container in pod.all_containers() for name in container.limits})
    node = assemble(machine, settings, None, running, asked=asked, semantics=args.semantics)
    explanation = explain(node.replica, pod, node.history)
    if args.json:
        print(json.dumps(as_json(explanation, node.assumptions), indent=2))
    else:
        for line in explanation_lines(explanation, machine.name, node.assumptions):
            print(line)
    return 0 if explanation.trace.verdict.admitted else 1


def _the_pod(name: str) -> Pod:
    pods = list(pods_of(name, templates=True))
    if len(pods) > 1:
        raise UserError(f"{name}: has {len(pods)} pods; give the one to explain, the others by --running")
    return pods[0]
