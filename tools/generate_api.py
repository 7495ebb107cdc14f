#!/usr/bin/env python3
"""Make the stubs of harness/api from its .proto files; with --check say which are out of date, and exit 1."""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
API = Path("numaproof/harness/api")
STUBS = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
# Our messages live in proto packages of our own, so that they load beside stubs that somebody else generated from the
# public .proto files. On the wire only the paths of the services and the numbers of the fields count: the paths are the
# kubelet's. Service here -> service in the path.
WIRE_SERVICES = {
    "numaproof.deviceplugin.v1beta1.Registration": "v1beta1.Registration",
    "numaproof.deviceplugin.v1beta1.DevicePlugin": "v1beta1.DevicePlugin",
    "numaproof.podresources.v1.PodResourcesLister": "v1.PodResourcesLister",
    "numaproof.pluginregistration.v1.Registration": "pluginregistration.Registration",
    "numaproof.v1.DevicePlugin": "v1beta1.DevicePlugin",
}


def generate(destination: Path) -> None:
    """Write the stubs of every .proto file below `destination`."""
    protos = sorted(str(API / path.name) for path in (ROOT / API).glob("*.proto"))
    outputs = {"python": "", "grpc_python": "", "mypy": "quiet:", "mypy_grpc": "quiet:"}
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT}"]
    command += [f"--{output}_out={options}{destination}" for output, options in outputs.items()] + protos
    # protoc finds the mypy plugins on PATH; they are installed beside the interpreter that runs this.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PATH": path})


def stubs(root: Path) -> dict[str, str]:
    """The text of every stub below `root`, by its name."""
    return {path.name: path.read_text() for path in (root / API).iterdir() if path.name.endswith(STUBS)}


def as_on_the_wire(name: str, text: str) -> str:
    """A generated stub with the kubelet's service paths in the place of those that our proto packages would give."""
    if name.endswith("_grpc.py"):
        for service, wire in WIRE_SERVICES.items():
            text = text.replace(f"'/{service}/", f"'/{wire}/").replace(f"'{service}'", f"'{wire}'")
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a stub is out of date")
    check = parser.parse_args().check
    with tempfile.TemporaryDirectory() as place:
        generate(Path(place))
        wanted = {name: as_on_the_wire(name, text) for name, text in stubs(Path(place)).items()}
        present = stubs(ROOT)
    stale = sorted(name for name in wanted.keys() | present.keys() if wanted.get(name) != present.get(name))
    for name in stale:
        if check:
            print(f"{API / name}: out of date; run tools/generate_api.py", file=sys.stderr)
        elif name in wanted:
            (ROOT / API / name).write_text(wanted[name])
        else:
            (ROOT / API / name).unlink()
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
