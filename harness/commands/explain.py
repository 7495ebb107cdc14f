"""`numaproof explain`: why a pod is admitted or refused, where it would be, and what would help."""

import argparse
import json
from pathlib import Path
from typing import Any

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.harness.arguments import Parser
from numaproof.harness.commands.known import known_of, text_of
from numaproof.harness.commands.output_file import write_output
from numaproof.harness.commands.pod_arguments import pods_in
from numaproof.harness.commands.pod_files import pods_of
from numaproof.harness.commands.terminal import printable, wants_colour
from numaproof.harness.decision.trace import Trace
from numaproof.harness.explain.as_json import as_json
from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.intake.log_comparison import comparison_lines
from numaproof.harness.intake.log_facts import LogFacts
from numaproof.harness.intake.newcomer import newcomer
from numaproof.harness.intake.plugins_file import read_plugins
from numaproof.harness.pods.pod import Pod
from numaproof.harness.report.explain_scene import scene_of
from numaproof.harness.vocabulary import SEMANTICS


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
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--html", metavar="FILE", type=Path, help="a page with all of it, and the drawing")


def run(args: argparse.Namespace) -> int:
    """Print the explanation; exit code 1 if the pod is refused."""
    pod = _the_pod(args.pod)
    machine = fake_sysfs.parse_machine(args.machine)
    known = known_of(args.config, args.kubelet_root, args.pod_resources, args.log)
    devices, unplaced = (
        read_plugins(text_of(args.plugins), args.plugins, machine.cpus_by_node()) if args.plugins else (None, ())
    )
    node = assemble(
        machine,
        known.settings,
        devices,
        list(pods_in(args.running, running=True)),
        state=known.state,
        asked=sorted({name for container in pod.all_containers() for name in container.limits}),
        semantics=args.semantics,
    )
    pod, again = newcomer(node, pod)
    explanation = explain(node.replica, pod, node.history)
    beside = Beside(
        node.obstacles,
        tuple(dict.fromkeys((*known.notes, *unplaced, *node.assumptions, *again))),
        tuple(comparison_lines(known.log, pod, explanation.trace)) if known.log else (),
    )
    if args.html:
        write_output(args.html, _page(explanation, machine, beside))
    if args.json:
        compared = {"log": _compared(known.log, pod, explanation.trace)} if known.log else {}
        print(json.dumps(as_json(explanation, beside) | compared, indent=2))
    else:
        _print(explanation, machine, beside)
    return 0 if explanation.trace.verdict.admitted else 1


def _compared(log: LogFacts, pod: Pod, trace: Trace) -> dict[str, Any]:
    from numaproof.harness.intake.log_as_json import log_as_json  # noqa: PLC0415 (few have a log)

    return log_as_json(log, pod, trace)


def _page(explanation: Explanation, machine: fake_sysfs.Machine, beside: Beside) -> str:
    from numaproof.harness.drawing.svg import draw_svg  # noqa: PLC0415 (who reads a text needs no SVG)
    from numaproof.harness.report.explain_html import NARROW, explanation_page  # noqa: PLC0415 (likewise)

    scene = scene_of(explanation, machine)
    return explanation_page(explanation, machine.name, beside, draw_svg(scene), draw_svg(scene, width=NARROW))


def _print(explanation: Explanation, machine: fake_sysfs.Machine, beside: Beside) -> None:
    from numaproof.harness.drawing.text import draw_text  # noqa: PLC0415 (who reads JSON needs no text)
    from numaproof.harness.report.explain_text import WIDTH, explanation_lines  # noqa: PLC0415 (likewise)

    drawing = draw_text(scene_of(explanation, machine), WIDTH, colour=wants_colour())
    for line in printable(explanation_lines(explanation, machine.name, beside, drawing)):
        print(line)


def _the_pod(name: str) -> Pod:
    pods = list(pods_of(name, templates=True))
    if len(pods) > 1:
        raise UserError(f"{name}: has {len(pods)} pods; give the one to explain, the others by --running")
    return pods[0]
