"""A fake plugin as a program: its arguments, its signals, its end."""

import argparse
import contextlib
import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from google.protobuf.json_format import MessageToDict

from numaproof.errors import UserError
from numaproof.harness.arguments import Parser
from numaproof.harness.ending import name_of
from numaproof.plugins_mock.choose import (
    PREFERENCES,
    board_devices,
    machine_devices,
    machine_links,
    numbered_devices,
    parse_device,
    preference,
    read_devices,
)
from numaproof.plugins_mock.costs import MockCost, file_costs, machine_costs, parse_resources
from numaproof.plugins_mock.devices import MockDevice
from numaproof.plugins_mock.errors import PluginError
from numaproof.plugins_mock.faults import FAULTS, Fault, parse_fault
from numaproof.plugins_mock.kinds import KINDS, Kind
from numaproof.plugins_mock.links import Links
from numaproof.plugins_mock.plugin import MockPlugin
from numaproof.plugins_mock.service import PLURAL_PATHS, Call

_SIGNALS = {signal.SIGTERM, signal.SIGINT}
_POLL_SECONDS = 0.1


def add_arguments(parser: Parser) -> None:
    """Declare the arguments of a fake plugin."""
    parser.add_argument(
        "kind",
        nargs="?",  # none is needed where nothing is served
        choices=list(KINDS),
        help="; ".join(f"{name}: {kind.summary}" for name, kind in KINDS.items()),
    )
    parser.add_argument(
        "--dir", type=Path, default=Path("/var/lib/kubelet/device-plugins"), help="the directory of kubelet.sock"
    )
    parser.add_argument("--registry", type=Path, help="plugins_registry: be found there instead of registering")
    parser.add_argument("--resource", help="the resource's name (default: the usual one of the kind)")
    parser.add_argument("--endpoint", help="the name of the plugin's socket (default: made of the resource's)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--count", type=int, help="offer so many devices, named 0, 1, 2, ... (default: 4)")
    what.add_argument(
        "--device", action="append", metavar="ID[=[NODE,...]]", help="offer this device (may be repeated)"
    )
    what.add_argument("--devices", type=Path, metavar="FILE", help="offer the devices of a YAML file")
    what.add_argument("--sysfs-root", type=Path, metavar="DIR", help="offer what the machine in DIR/sys has")
    what.add_argument("--board", help="offer the GPUs of a known board, with its NVLinks (dgx1-v100, ...)")
    parser.add_argument("--numa", default="", metavar="NODE,...", help="with --count: spread over these NUMA nodes")
    parser.add_argument("--preferred", choices=PREFERENCES, help="which sets it prefers (default: links for a gpu)")
    parser.add_argument("--plural", action="store_true", help="serve the draft GetPreferredAllocations too")
    parser.add_argument(
        "--plural-path",
        choices=PLURAL_PATHS,
        help="serve the draft there only: on the proposal's path (/v1beta1.DevicePlugin/GetPreferredAllocations) or in"
        " numaproof's own service (default: both)",
    )
    parser.add_argument(
        "--costs",
        metavar="FILE|pci",
        help="tell what the devices cost, by the draft GetPreferredAllocations: from a file of costs, or, with"
        " --sysfs-root, from a look at the PCI tree",
    )
    parser.add_argument(
        "--costs-to",
        action="append",
        default=[],
        metavar="KIND=RESOURCE",
        help="with --costs pci: plugins of that kind offer this resource, not the usual one (may be repeated)",
    )
    parser.add_argument("--pre-start", action="store_true", help="ask for PreStartContainer")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="CALL=KIND[:VALUE][*TIMES]", help="see --list-faults"
    )
    parser.add_argument("--list-faults", action="store_true", help="print every fault, and end")
    parser.add_argument("--health-file", type=Path, metavar="FILE", help="unhealthy ids, one a line; read all the time")
    parser.add_argument("--record", type=Path, metavar="FILE", help="append every call as a line of JSON")
    parser.add_argument("--dry-run", action="store_true", help="print the devices, and end")
    parser.add_argument(
        "--json",
        action="store_true",
        help="with --dry-run, as JSON: resource, and devices, each with id, numa (null: no topology), healthy;"
        " with --list-faults: `faults` by call and kind",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT, then remove the socket; the answer is the exit code."""
    if args.list_faults and args.json:
        print(json.dumps({"faults": FAULTS}, indent=2))
        return 0
    if args.list_faults:
        for call, kinds in FAULTS.items():
            for fault, meaning in kinds.items():
                print(f"{call}={fault}: {meaning}")
        return 0
    if args.kind is None:
        raise PluginError(f"plugin: kind is missing; give one of {', '.join(KINDS)}")
    kind = KINDS[args.kind]
    faults = _faults(args.fault)
    resource = args.resource or kind.resource
    devices, links = _devices(args)
    costs = _costs(args, resource, devices)
    if args.dry_run and args.json:
        listed = [{"id": one.id, "numa": one.numa, "healthy": one.healthy} for one in devices]
        print(json.dumps({"resource": resource, "devices": listed}, indent=2))
        return 0
    if args.json:
        raise PluginError("--json: goes with --dry-run or --list-faults; add one of them")
    if args.dry_run:
        for device in devices:
            print(device.id, *(f"node{node}" for node in device.numa or ()), "" if device.healthy else "unhealthy")
        return 0
    # Blocked before any thread exists, so that no thread of gRPC's takes them: `sigtimedwait` below does. Until now,
    # while files are read and devices are printed, they end us.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        return _serve(args, kind, resource, devices, links, costs, faults)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(
    args: argparse.Namespace,
    kind: Kind,
    resource: str,
    devices: Sequence[MockDevice],
    links: Links,
    costs: Sequence[MockCost],
    faults: Mapping[str, Sequence[Fault]],
) -> int:
    if code := _at_start(args, faults):
        return code - 1
    chosen = args.preferred or ("links" if args.kind == "gpu" else "none")
    with contextlib.ExitStack() as stack:
        recorder = _Recorder(args.record, stack) if args.record else None
        plugin = stack.enter_context(
            MockPlugin(
                resource,
                devices,
                args.dir,
                registry=args.registry,
                endpoint=args.endpoint,
                faults=faults,
                respond=kind.respond(resource),
                preferred=preference(chosen, links, devices),
                plural=args.plural or args.plural_path is not None,
                costs=costs,
                plural_paths=(args.plural_path,) if args.plural_path else PLURAL_PATHS,
                pre_start=args.pre_start,
                on_call=recorder,
                log=lambda line: print(line, flush=True),
            )
        )
        print(f"serving {len(devices)} devices of {resource} at {plugin.socket}", flush=True)
        number = _until_signal(plugin, args.health_file, ignore=any(f.kind == "ignore" for f in faults.get("Stop", ())))
    print(f"ended by {name_of(number)}", flush=True)
    return next((int(fault.number(3)) for fault in faults.get("Stop", ()) if fault.kind == "exit"), 0)


def main() -> int:
    """`python -m numaproof.plugins_mock`: the same as `numaproof plugin`, without the rest of numaproof."""
    parser = Parser(prog="plugins_mock", description="Run a fake device plugin.")
    add_arguments(parser)
    try:
        return run(parser.parse_args())
    except UserError as error:
        print(f"plugins_mock: {error}", file=sys.stderr)
        return 2


def _devices(args: argparse.Namespace) -> tuple[tuple[MockDevice, ...], Links]:
    if args.board:
        return board_devices(args.board)
    if args.sysfs_root:
        return machine_devices(KINDS[args.kind], args.sysfs_root), machine_links(args.sysfs_root)
    if args.devices:
        return read_devices(args.devices)
    if args.device:
        return tuple(parse_device(text) for text in args.device), {}
    try:
        numa = [int(node) for node in args.numa.split(",") if node]
    except ValueError:
        raise PluginError(f"--numa {args.numa}: not a list of NUMA nodes; write 0 or 0,1") from None
    return numbered_devices(4 if args.count is None else args.count, numa), {}


def _costs(args: argparse.Namespace, resource: str, devices: Sequence[MockDevice]) -> tuple[MockCost, ...]:
    ids = [device.id for device in devices]
    if args.costs_to and args.costs != "pci":
        raise PluginError("--costs-to: says what other plugins offer for --costs pci; add that, or drop it")
    if args.costs is None:
        return ()
    if args.costs != "pci":
        return file_costs(Path(args.costs), resource, ids)
    if not args.sysfs_root:
        raise PluginError("--costs pci: needs the PCI tree of the devices; give --sysfs-root DIR, or a file of costs")
    return machine_costs(args.sysfs_root, resource, ids, parse_resources(args.costs_to))


def _faults(texts: list[str]) -> dict[str, list[Fault]]:
    faults: dict[str, list[Fault]] = {}
    for text in texts:
        call, fault = parse_fault(text)
        faults.setdefault(call, []).append(fault)
    return faults


def _at_start(args: argparse.Namespace, faults: Mapping[str, Sequence[Fault]]) -> int:
    """One more than the exit code with which a fault ends the program at its start; 0: it goes on."""
    for fault in faults.get("Start", ()):
        no_kubelet = not (args.dir / "kubelet.sock").exists()
        if fault.kind == "exit" and no_kubelet:
            return 1 + int(fault.number(0))
        if fault.kind == "give-up" and no_kubelet:
            signal.sigwait(_SIGNALS)
            return 1
        if fault.kind == "stale" and any(path.name != "kubelet.sock" for path in args.dir.glob("*.sock")):
            return 1
    return 0


def _until_signal(plugin: MockPlugin, health_file: Path | None, ignore: bool) -> int:
    """The signal that came."""
    while True:
        seen = signal.sigtimedwait(_SIGNALS, _POLL_SECONDS if health_file else 3600)
        if seen is not None and not ignore:
            return seen.si_signo
        if health_file:
            _apply_health(plugin, health_file)


def _apply_health(plugin: MockPlugin, health_file: Path) -> None:
    try:
        sick = set(health_file.read_text().split())
    except OSError:
        sick = set()  # no file: all are healthy
    for device in plugin.devices:
        plugin.set_health(device.id, device.id not in sick)


class _Recorder:
    """Appends each call to a file, whole lines at a time."""

    def __init__(self, path: Path, stack: contextlib.ExitStack) -> None:
        try:
            self._file = stack.enter_context(path.open("a", buffering=1))
        except OSError as error:
            raise PluginError(f"--record {path}: {error.strerror}; give a file that can be written") from error

    def __call__(self, call: Call) -> None:
        line = {"time": time.time(), "call": call.name, "request": MessageToDict(call.request)}
        self._file.write(json.dumps(line) + "\n")
