"""What a user asks of a node that runs: its status, why it decides so, to admit, bind and remove pods, and more."""

import argparse
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import yaml
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message

from numaproof.errors import UserError
from numaproof.fake_sysfs.lists import format_cpulist
from numaproof.harness.affinity.rules import PENDING
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.api import numaproof_v1_pb2_grpc as api_grpc
from numaproof.harness.arguments import Parser, add_command
from numaproof.harness.node.bind_token import NAME as TOKEN
from numaproof.harness.node.plugins.sockets import fits
from numaproof.harness.pods.taints import Taint, taint_from_text
from numaproof.harness.rig.explained import explanation_lines
from numaproof.harness.unix_http import get_page

_SECONDS = 120
_SHOWN = 1 << 30  # memory is shown in GiB


def add_actions(parser: Parser) -> None:
    """Declare the actions; without one a node is run."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=False)
    status = _action(actions, "status", "show the NUMA topology of a node that runs, its taints, quotas and pods")
    form = status.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the Node, with status.topology, as JSON")
    form.add_argument("--yaml", action="store_true", help="the same as YAML")
    status.add_argument(
        "--nrt", action="store_true", help="a NodeResourceTopology instead of the Node; YAML, or --json"
    )
    admit = _action(
        actions, "admit", "give a pod to it, which is admitted, waits to be bound, or is refused (exit code 1)"
    )
    admit.add_argument("pod", type=Path, metavar="POD.yaml", help="a Pod manifest")
    _add_json(admit, "AdmitResponse")
    explain = _action(actions, "explain", "why it would admit or refuse a pod, and what would help (exit code 1)")
    explain.add_argument("pod", type=Path, metavar="POD.yaml", help="a Pod manifest")
    _add_json(explain, "ExplainResponse")
    bind = _action(actions, "bind", "give a pod that waits its place; takes ROOT/bind.token (exit code 1: refused)")
    bind.add_argument("pod", metavar="[NAMESPACE/]POD", help="its name, or uid")
    bind.add_argument("--numa-node", metavar="ID", help="what its spec.numaNodeID becomes")
    bind.add_argument("--cpus", metavar="LIST", help="what its spec.cpuAffinity becomes, such as 2-5")
    _add_json(bind, "BindResponse")
    remove = _action(actions, "remove", "take a pod away")
    remove.add_argument("pod", metavar="[NAMESPACE/]POD", help="its name, or uid")
    taint = _action(actions, "taint", "change its taints; pods that do not tolerate a new one are evicted")
    taint.add_argument(
        "taints", nargs="+", metavar="KEY[=VALUE]:EFFECT", help="add one; KEY- or KEY:EFFECT- removes, as in kubectl"
    )
    _add_json(taint, "TaintResponse")
    quota = _action(actions, "quota", "limit the dedicated CPUs of a namespace's pods")
    quota.add_argument("namespace", metavar="NAMESPACE")
    quota.add_argument("cpus", metavar="CPUS", help="such as 4; none: no limit")
    _add_json(quota, "SetQuotaResponse")


def _action(actions: Any, name: str, summary: str) -> Parser:
    parser = add_command(actions, name, summary)
    parser.description = f"{parser.description} Exit code 2: it cannot be asked, or not like that."
    # Before or after the action's name; a default here would replace what stands before it.
    parser.add_argument("--root", type=Path, default=argparse.SUPPRESS, help="the directory of the node's sockets")
    return parser


def _add_json(parser: Parser, message: str) -> None:
    parser.add_argument(
        "--json", action="store_true", help=f"the answer as JSON: {message} of numaproof's own API, every field"
    )


def run_action(args: argparse.Namespace) -> int:
    """Ask the node; exit code 0: done, 1: it refused."""
    if args.action == "status" and (args.json or args.yaml or args.nrt):
        print(_page(args), end="")
        return 0
    with _control(args.root) as control:
        if args.action == "status":
            print("\n".join(_status_lines(control)))
            return 0
        if args.action in ("admit", "bind"):
            return _placed(args, control)
        if args.action == "explain":
            return _explained(args, control)
        if args.action == "remove":
            control.Remove(api.RemoveRequest(pod=_reference(args.pod, control)), timeout=_SECONDS)
        elif args.action == "taint":
            _taint(args, control)
        else:
            amount = None if args.cpus == "none" else args.cpus
            request = api.SetQuotaRequest(namespace=args.namespace, dedicated_cpu=amount)
            quotas = control.SetQuota(request, timeout=_SECONDS)
            if args.json:
                _print_json(quotas)
        return 0


def _page(args: argparse.Namespace) -> str:
    try:
        text = get_page(args.root / "http.sock", "/noderesourcetopology" if args.nrt else "/node", _SECONDS)
    except OSError as error:
        raise _nobody(args.root, error) from None
    value = json.loads(text)
    if args.json:
        return json.dumps(value, indent=2) + "\n"
    return yaml.safe_dump(value, sort_keys=False)


def _placed(args: argparse.Namespace, control: api_grpc.ControlStub) -> int:
    answer: api.AdmitResponse | api.BindResponse
    if args.action == "admit":
        answer = control.Admit(api.AdmitRequest(manifest=_manifest(args.pod)), timeout=_SECONDS)
    else:
        if args.numa_node is None and args.cpus is None:
            raise UserError("bind: nothing is given; give --numa-node, --cpus or both")
        request = api.BindRequest(
            pod=_reference(args.pod, control), numa_node_id=args.numa_node, cpu_affinity=args.cpus
        )
        answer = control.Bind(request, timeout=_SECONDS, metadata=(("authorization", f"Bearer {_token(args.root)}"),))
    verdict = answer.verdict
    if args.json:
        _print_json(answer)
    elif verdict.admitted:
        cpus = format_cpulist(cpu for container in answer.pod.containers for cpu in container.cpus)
        print(f"{answer.pod.namespace}/{answer.pod.name}: admitted{f', CPUs {cpus}' if cpus else ''}")
    else:
        print(f"{answer.pod.namespace}/{answer.pod.name}: {verdict.reason}: {verdict.message}")
    return 0 if verdict.admitted or verdict.reason == PENDING else 1


def _print_json(answer: Message) -> None:
    content = MessageToDict(answer, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    print(json.dumps(content, indent=2))


def _manifest(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); give a Pod manifest") from None


def _explained(args: argparse.Namespace, control: api_grpc.ControlStub) -> int:
    answer = control.Explain(api.ExplainRequest(manifest=_manifest(args.pod)), timeout=_SECONDS)
    verdict, name = answer.verdict, f"{answer.pod.namespace}/{answer.pod.name}"
    if args.json:
        _print_json(answer)
        return 0 if verdict.admitted else 1
    print(f"{name}: {'admitted' if verdict.admitted else f'{verdict.reason}: {verdict.message}'}")
    for line in explanation_lines(answer):
        print(f"  {line}")
    return 0 if verdict.admitted else 1


def _token(root: Path) -> str:
    try:
        token = (root / TOKEN).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{root / TOKEN}: cannot be read ({error}); it is the permission to bind") from None
    if not token.isascii() or not token.isprintable():
        raise UserError(f"{root / TOKEN}: holds no token; it is the permission to bind, made at the node's first start")
    return token


def _taint(args: argparse.Namespace, control: api_grpc.ControlStub) -> None:
    add, remove = [], []
    for text in args.taints:
        if text.endswith("-"):
            key, _, effect = text[:-1].partition(":")
            remove.append(Taint(key.partition("=")[0], "", effect))
        else:
            add.append(taint_from_text(text, f"taint {text}"))
    answer = control.Taint(
        api.TaintRequest(add=map(_taint_message, add), remove=map(_taint_message, remove)), timeout=_SECONDS
    )
    if args.json:
        _print_json(answer)
        return
    for uid in answer.evicted:
        print(f"evicted: {uid}")


def _taint_message(taint: Taint) -> api.NodeTaint:
    return api.NodeTaint(key=taint.key, value=taint.value, effect=taint.effect)


def _status_lines(control: api_grpc.ControlStub) -> Iterator[str]:
    status = control.NodeStatus(api.NodeStatusRequest(), timeout=_SECONDS)
    state = control.State(api.StateRequest(), timeout=_SECONDS)
    yield f"node {status.name}"
    taints = [Taint(one.key, one.value, one.effect) for one in status.taints]
    yield f"taints: {', '.join(map(str, taints)) or 'none'}"
    for quota in status.quotas:
        yield f"quota of {quota.namespace}: {quota.used} of {quota.dedicated_cpu} dedicated CPUs in use"
    for node in status.numa_nodes:
        yield f"NUMA node {node.numa_node_id}: CPUs {node.cpu_set or 'none'}"
        for name in sorted(node.capacity, key=lambda name: (name != "cpu", name)):
            if node.capacity[name] != "0":
                figures = (node.available[name], node.allocatable[name], node.capacity[name])
                available, allocatable, capacity = (_figure(name, figure) for figure in figures)
                yield f"  {name}: {available} available of {allocatable} allocatable, capacity {capacity}"
    for pod in state.pods:
        place = [f"NUMA node {pod.binding.numa_node_id}"] if pod.binding.numa_node_id else []
        place += [f"CPUs {pod.binding.cpu_affinity}"] if pod.binding.cpu_affinity else []
        yield f"pod {pod.namespace}/{pod.name}: runs{', bound to ' + ', '.join(place) if place else ''}"
    for pod in state.pending:
        yield f"pod {pod.namespace}/{pod.name}: waits to be bound"


def _figure(resource: str, text: str) -> str:
    if resource == "memory" or resource.startswith("hugepages-"):
        return f"{int(text) / _SHOWN:.4g}Gi"
    return text


def _reference(text: str, control: api_grpc.ControlStub) -> str:
    """What the node knows a pod by: a bare name is one of the namespace default, unless it is a uid that is there."""
    if "/" in text:
        return text
    state = control.State(api.StateRequest(), timeout=_SECONDS)
    return text if any(pod.uid == text for pod in (*state.pods, *state.pending)) else f"default/{text}"


@contextmanager
def _control(root: Path) -> Iterator[api_grpc.ControlStub]:
    path = root.absolute() / "control.sock"
    if not fits(path):
        raise UserError(f"{path}: is longer than a unix socket's path can be; no node is there, give the --root of one")
    # gRPC would say the same in many words of its own.
    try:
        with socket.socket(socket.AF_UNIX) as knock:
            knock.connect(str(path))
    except OSError as error:
        raise _nobody(root, error) from None
    address = f"unix:{path}"
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        try:
            yield api_grpc.ControlStub(channel)
        except grpc.RpcError as error:
            if not isinstance(error, grpc.Call):
                raise
            if error.code() == grpc.StatusCode.UNAVAILABLE:
                raise _nobody(root, "it has ended, or was restarted") from None
            raise UserError(str(error.details())) from None


def _nobody(root: Path, why: object) -> UserError:
    what = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
    return UserError(f"{root}: no node answers there ({what}); start one, or give the --root of one")
