"""`numaproof explain`: why a pod is admitted or refused, where it would be, and what would help."""

import argparse
import json
import sys
from pathlib import Path

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.harness.commands.output_file import write_output
from numaproof.harness.commands.pod_arguments import pods_in
from numaproof.harness.commands.pod_files import pods_of
from numaproof.harness.explain.as_json import as_json
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.intake.configuration import read_configuration
from numaproof.harness.intake.newcomer import newcomer
from numaproof.harness.intake.plugins_file import read_plugins
from numaproof.harness.pods.pod import Pod
from numaproof.harness.report.explain_scene import scene_of
from numaproof.harness.vocabulary import SEMANTICS

LARGEST = 64 << 20  # bytes of a file that is read


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The pod, the node, who is there already, and how to tell."""
    parser.description = (
        "Tell whether a node admits a pod, where its CPUs, memory and devices would come from, and why; under every "
        "policy and scope; and if it is refused, what would help. Exit code 1: it is refused."
    )
    parser.add_argument("pod", metavar="POD", help="a Pod manifest, or what makes pods (a Deployment); - for stdin")
    parser.add_argument("--machine", metavar="M", default="host", help=f"{MACHINE} (default: host)")
    parser.add_argument(
        "--config", metavar="FILE", help="a KubeletConfiguration, an answer of /configz, or a kubelet's command line"
    )
    parser.add_argument(
        "--plugins", metavar="FILE", help="devices by resource with their NUMA nodes, or the text of nvidia-smi topo -m"
    )
    parser.add_argument(
        "--running", metavar="FILE", nargs="+", default=[], help="pods that came before, in their order; 3*FILE: copies"
    )
    parser.add_argument("--semantics", choices=SEMANTICS, default="current", help="kubelet v1.36, or the KEP's")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--html", metavar="FILE", type=Path, help="a page with all of it, and the drawing")


def run(args: argparse.Namespace) -> int:
    """Print the explanation; exit code 1 if the pod is refused."""
    pod = _the_pod(args.pod)
    machine = fake_sysfs.parse_machine(args.machine)
    settings, notes = read_configuration(_text(args.config), args.config) if args.config else (None, ())
    running = list(pods_in(args.running, templates=True))
    asked = sorted({name for container in pod.all_containers() for name in container.limits})
    devices, unplaced = (
        read_plugins(_text(args.plugins), args.plugins, machine.cpus_by_node()) if args.plugins else (None, ())
    )
    node = assemble(machine, settings, devices, running, asked=asked, semantics=args.semantics)
    pod, again = newcomer(node, pod)
    explanation = explain(node.replica, pod, node.history)
    told = (*notes, *unplaced, *node.assumptions, *again)
    if args.html:
        write_output(args.html, _page(explanation, machine, told))
    if args.json:
        print(json.dumps(as_json(explanation, told), indent=2))
    else:
        _print(explanation, machine, told)
    return 0 if explanation.trace.verdict.admitted else 1


def _page(explanation: Explanation, machine: fake_sysfs.Machine, told: tuple[str, ...]) -> str:
    from numaproof.harness.drawing.svg import draw_svg  # noqa: PLC0415 (who reads a text needs no SVG)
    from numaproof.harness.report.explain_html import explanation_page  # noqa: PLC0415 (likewise)

    return explanation_page(explanation, machine.name, told, draw_svg(scene_of(explanation, machine)))


def _print(explanation: Explanation, machine: fake_sysfs.Machine, told: tuple[str, ...]) -> None:
    from numaproof.harness.drawing.text import draw_text  # noqa: PLC0415 (who reads JSON needs no text)
    from numaproof.harness.report.explain_text import WIDTH, explanation_lines  # noqa: PLC0415 (likewise)

    drawing = draw_text(scene_of(explanation, machine), WIDTH, colour=sys.stdout.isatty())
    encoding = sys.stdout.encoding or "utf-8"
    for line in explanation_lines(explanation, machine.name, told, drawing):
        print(line.encode(encoding, "backslashreplace").decode(encoding))


def _the_pod(name: str) -> Pod:
    pods = list(pods_of(name, templates=True))
    if len(pods) > 1:
        raise UserError(f"{name}: has {len(pods)} pods; give the one to explain, the others by --running")
    return pods[0]


def _text(name: str) -> str:
    """What a file holds, which has to be a text."""
    try:
        with Path(name).open("rb") as file:
            content = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise UserError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error}); give a file") from None
    if len(content) > LARGEST:
        raise UserError(f"{name}: is larger than {LARGEST >> 20} MiB; give the part that matters")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: is not UTF-8 text (byte {error.start}); give a text") from None
