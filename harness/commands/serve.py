"""`numaproof serve`: a playground in the browser, on this machine alone."""

import argparse
import threading
import webbrowser

EXAMPLES = (
    "numaproof serve",
    "numaproof serve --open",
    "numaproof serve saved.json",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to open, and where to listen."""
    parser.description = (
        "Serve a page on 127.0.0.1 and ::1: choose or paste a machine, a kubelet's configuration, plugins and pods, "
        "change a number, and see what every policy and scope decides, why, and what would help. Ctrl-C ends it."
    )
    parser.add_argument(
        "saved", metavar="FILE", nargs="?", help="what the playground saved, or a link that it made, to start with"
    )
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="where to listen (default: a free port)")
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument(
        "--time-limit", type=_seconds, default=10, metavar="S", help="seconds that an answer may take (default: 10)"
    )


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes, which ends it as it ends any command."""
    from numaproof.harness.serve.saved import opened  # noqa: PLC0415 (no other command waits for what it needs)
    from numaproof.harness.serve.server import listening, serve  # noqa: PLC0415 (likewise)

    texts = opened(args.saved).as_dict() if args.saved is not None else None
    sockets = listening(args.port)
    address = f"http://127.0.0.1:{sockets[0].getsockname()[1]}/"

    def ready() -> None:
        print(f"playground: {address} (Ctrl-C ends it)", flush=True)
        if args.open:  # some browsers are waited for until they end
            threading.Thread(target=_open, args=(address,), daemon=True).start()

    serve(sockets, args.time_limit, texts, ready)
    return 0


def _open(address: str) -> None:
    if not webbrowser.open(address):
        print("no browser was found; open that address in one", flush=True)


def _port(text: str) -> int:
    return _number(text, 0, 65535)


def _seconds(text: str) -> int:
    return _number(text, 1, 3600)


def _number(text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"is not a number from {least} to {most}; write one")
    return number
