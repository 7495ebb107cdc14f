"""`numaproof node`: the reference node as a program, and what may be asked of one that runs."""

import argparse
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from numaproof import fake_sysfs
from numaproof.errors import UserError
from numaproof.fake_sysfs.argument import MACHINE
from numaproof.fake_sysfs.strict_yaml import read
from numaproof.harness.affinity.quota import quotas_from
from numaproof.harness.affinity.systemd import host_cpus
from numaproof.harness.arguments import Parser
from numaproof.harness.commands.node_client import add_actions, run_action
from numaproof.harness.decision.config import config_of, settings_in
from numaproof.harness.decision.kubelet_flags import FLAGS, flag_settings, with_flags
from numaproof.harness.ending import name_of
from numaproof.harness.node.node import Node
from numaproof.harness.resource_names import is_domain
from numaproof.harness.vocabulary import POLICIES, SEMANTICS

_SIGNALS = {signal.SIGTERM, signal.SIGINT}
EXAMPLES = (
    "numaproof node --root node --machine xeon-2s --config kubelet.yaml --port 0",
    "numaproof node --root node --machine host --topology-manager-policy restricted",
    "numaproof node status --root node",
    "numaproof node status --root node --nrt > topologies.yaml",
    "numaproof node admit pod.yaml --root node",
    "numaproof node explain pod.yaml --root node",
    "numaproof node bind waiting --cpus 2-5 --root node",
    "numaproof node remove web --root node",
    "numaproof node taint example.com/repair:NoSchedule --root node",
    "numaproof node quota default 4 --root node",
)


def add_arguments(parser: Parser) -> None:
    """Declare the arguments: where the node lives, its machine, and the kubelet's flags."""
    parser.add_argument("--root", type=Path, help="the directory of its sockets and state")
    parser.add_argument("--name", default="", help="its name: pods with another spec.nodeName are refused")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--machine", metavar="M", help=MACHINE)
    what.add_argument("--sysfs-root", type=Path, help="read the machine from DIR/sys instead of /sys", metavar="DIR")
    parser.add_argument("--config", type=Path, help="a KubeletConfiguration file; flags win over it", metavar="FILE")
    flags = parser.add_argument_group("the kubelet's flags")
    flags.add_argument("--topology-manager-policy", metavar="NAME", help=f"one of {', '.join(POLICIES)}")
    flags.add_argument("--topology-manager-scope", metavar="NAME", help="container or pod")
    flags.add_argument(
        "--topology-manager-policy-options", metavar="K=V,...", help="such as prefer-closest-numa-nodes=true"
    )
    flags.add_argument("--cpu-manager-policy", metavar="NAME", help="none or static")
    flags.add_argument("--cpu-manager-policy-options", metavar="K=V,...", help="such as full-pcpus-only=true")
    flags.add_argument("--reserved-cpus", metavar="LIST", help="such as 0-1,8")
    flags.add_argument("--memory-manager-policy", metavar="NAME", help="None or Static")
    flags.add_argument("--reserved-memory", action="append", metavar="N:K=V,...", help="such as 0:memory=1Gi")
    flags.add_argument("--system-reserved", metavar="K=V,...", help="such as cpu=500m,memory=1Gi")
    flags.add_argument("--kube-reserved", metavar="K=V,...", help="such as cpu=500m,memory=1Gi")
    flags.add_argument("--eviction-hard", metavar="SIGNAL<V,...", help="such as memory.available<100Mi")
    flags.add_argument("--feature-gates", metavar="K=V,...", help="such as TopologyManager=true")
    flags.add_argument("--max-pods", type=int, metavar="N", help="how many pods it admits at most")
    flags.add_argument("--register-with-taints", metavar="K=V:EFFECT,...", help="that it has until told otherwise")
    parser.add_argument(
        "--quota",
        type=Path,
        metavar="FILE",
        help="ResourceQuotas with requests.dedicated-cpu, that it has until told otherwise",
    )
    parser.add_argument(
        "--systemd-config", type=Path, metavar="FILE", help="a systemd configuration: CPUAffinity are the host's CPUs"
    )
    parser.add_argument("--semantics", choices=SEMANTICS, default="current", help="kubelet v1.36, or the KEP's")
    parser.add_argument(
        "--port",
        type=int,
        help="serve what http.sock serves (/pods, /node, /metrics, ...) on this loopback port too; 0: any",
    )
    parser.add_argument(
        "--grace", type=float, default=300, metavar="SECONDS", help="wait so long for a plugin's return (default: 300)"
    )
    parser.add_argument(
        "--deadline", type=float, default=30, metavar="SECONDS", help="a plugin's time to answer (default: 30)"
    )
    add_actions(parser)


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT, or ask a node that runs; the answer is the exit code."""
    if args.root is None:
        raise UserError("--root: is missing; give the directory of the node's sockets and state")
    if args.action is not None:
        return run_action(args)
    for name in ("grace", "deadline"):
        if getattr(args, name) <= 0:
            raise UserError(f"--{name} {getattr(args, name):g}: give a number of seconds above 0")
    settings = settings_in(read(args.config)) if args.config else {}
    given = {name: getattr(args, name.replace("-", "_")) for name in FLAGS}
    flags = flag_settings({name: one for name, one in given.items() if one is not None})
    config = replace(config_of(with_flags(settings, flags), args.semantics), host_cpus=_host_cpus(args.systemd_config))
    machine, name = _machine(args), _checked_name(args.name)
    quotas = quotas_from(read(args.quota)) if args.quota else None
    # Blocked before any thread exists, so that no thread of gRPC's takes them: `sigwait` below does. Until now, while
    # files are read that may be pipes, they end us.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    node = Node(
        config,
        machine,
        args.root,
        name=name,
        quotas=quotas,
        http_port=args.port,
        grace_seconds=args.grace,
        deadline_seconds=args.deadline,
        log=_log,
    )
    with node:
        port = "" if node.http_port is None else f", http://127.0.0.1:{node.http_port}"
        nodes, cpus = len(node.machine.node_ids), len(node.machine.cpu_ids)
        print(
            f"ready: {node.machine.name}, {nodes} NUMA node{'' if nodes == 1 else 's'}, {cpus} CPUs; "
            f"policy {config.topology_policy}, scope {config.topology_scope}; {node.root}{port}",
            flush=True,
        )
        number = signal.sigwait(_SIGNALS)
    _log(f"ended by {name_of(number)}")
    return 0


def _checked_name(name: str) -> str:
    if name and not is_domain(name):
        raise UserError(
            f"--name {name[:60]!r}: is not a node's name; write lower-case letters, digits, dashes and dots"
        )
    return name


def _log(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _machine(args: argparse.Namespace) -> fake_sysfs.Machine:
    if args.machine:
        return fake_sysfs.parse_machine(args.machine)
    return fake_sysfs.read(args.sysfs_root or Path("/"))


def _host_cpus(path: Path | None) -> frozenset[int] | None:
    if path is None:
        return None
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--systemd-config {path}: cannot be read ({error})") from None
    return host_cpus(text, str(path))
