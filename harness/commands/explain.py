"""`numaproof explain`: why a pod is admitted or refused, where it would be, and what would help."""

import argparse
import json
from pathlib import Path
from typing import Any

from numaproof import fake_sysfs
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.harness.arguments import Parser
from numaproof.harness.commands.known import known_of
from numaproof.harness.commands.output_file import write_output
from numaproof.harness.commands.pod_arguments import pods_in
from numaproof.harness.commands.pod_files import pods_of
from numaproof.harness.commands.terminal import printable, wants_colour
from numaproof.harness.explain.as_json import as_json
from numaproof.harness.intake.manifests import the_pod
from numaproof.harness.intake.plugins_file import read_plugins
from numaproof.harness.intake.question import Answer, Question, answer
from numaproof.harness.intake.text_file import text_of
from numaproof.harness.report.explain_scene import scene_of
from numaproof.harness.vocabulary import SEMANTICS

EXAMPLES = (
    "numaproof explain pod.yaml --machine xeon-2s --config kubelet.yaml",
    "numaproof explain pod.yaml --machine dgx-a100 --html why.html",
    "numaproof explain pod.yaml --machine lscpu.txt --running web.yaml '3*db.yaml'",
    "numaproof explain pod.yaml --machine node.tar.gz --kubelet-root kubelet.tar",
)


def add_arguments(parser: Parser) -> None:
    """The pod, the node, who is there already, and how to tell."""
    parser.description = (
        "Tell whether a node admits a pod, where its CPUs, memory and devices would come from, and why; under every "
        "policy and scope; and if it is refused, what would help. Exit code 1: it is refused."
    )
    parser.add_argument("pod", metavar="POD", help="a Pod manifest, or what makes pods (a Deployment); - for stdin")
    parser.add_argument("--machine", metavar="M", default="host", help=f"{MACHINE} (default: host)")
    parser.add_argument(
        "--config",
        metavar="FILE",
        action="append",
        default=[],
        help="a KubeletConfiguration, an answer of /configz, or a kubelet's command line; the last one counts",
    )
    parser.add_argument(
        "--plugins", metavar="FILE", help="devices by resource with their NUMA nodes, or the text of nvidia-smi topo -m"
    )
    parser.add_argument(
        "--running",
        metavar="FILE",
        nargs="+",
        action="extend",
        default=[],
        help="pods that came before, in their order; 3*FILE: copies",
    )
    parser.add_argument(
        "--kubelet-root",
        metavar="PATH",
        help="what was copied of a kubelet's root, or it itself: a directory, a tar, or a text with its state files",
    )
    parser.add_argument("--pod-resources", metavar="SOCKET", help="the PodResources socket of a kubelet that runs")
    parser.add_argument("--log", metavar="FILE", help="a kubelet's log at --v=4, to compare its hints")
    parser.add_argument("--semantics", choices=SEMANTICS, default="current", help="kubelet v1.36, or the KEP's")
    parser.add_argument(
        "--json",
        action="store_true",
        help="as JSON: pod, policy, scope, verdict, blame, why, placement, decisions, remedies, remarks, matrix (of"
        " every policy and scope), and what was assumed",
    )
    parser.add_argument("--html", metavar="FILE", type=Path, help="a page with all of it, and the drawing")


def run(args: argparse.Namespace) -> int:
    """Print the explanation; exit code 1 if the pod is refused."""
    told = answer(_question(args))
    if args.html:
        write_output(args.html, _page(told))
    if args.json:
        compared = {"log": _compared(told)} if told.log else {}
        print(json.dumps(as_json(told.explanation, told.beside) | compared, indent=2))
    else:
        _print(told)
    return 0 if told.explanation.trace.verdict.admitted else 1


def _question(args: argparse.Namespace) -> Question:
    pod = the_pod(pods_of(args.pod, templates=True), args.pod, "by --running")
    machine = fake_sysfs.parse_machine(args.machine)
    known = known_of(args.config, args.kubelet_root, args.pod_resources, args.log)
    devices, unplaced = (
        read_plugins(text_of(args.plugins), args.plugins, machine.cpus_by_node()) if args.plugins else (None, ())
    )
    return Question(
        pod,
        machine,
        known.settings,
        devices,
        tuple(pods_in(args.running, running=True)),
        known.state,
        known.log,
        (*known.notes, *unplaced),
        args.semantics,
    )


def _compared(told: Answer) -> dict[str, Any]:
    from numaproof.harness.intake.log_as_json import log_as_json  # noqa: PLC0415 (few have a log)

    assert told.log is not None
    return log_as_json(told.log, told.explanation.pod, told.explanation.trace)


def _page(told: Answer) -> str:
    from numaproof.harness.report.explain_html import page_of  # noqa: PLC0415 (who reads a text needs no page)

    return page_of(told)


def _print(told: Answer) -> None:
    from numaproof.harness.drawing.text import draw_text  # noqa: PLC0415 (who reads JSON needs no text)
    from numaproof.harness.report.explain_text import WIDTH, explanation_lines  # noqa: PLC0415 (likewise)

    drawing = draw_text(scene_of(told.explanation, told.machine), WIDTH, colour=wants_colour())
    for line in printable(explanation_lines(told.explanation, told.machine.name, told.beside, drawing)):
        print(line)
