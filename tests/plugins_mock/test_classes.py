"""What counts as a GPU and as a network card: the fake plugin, which reads files, and a scenario, which has the machine
in hand, find the same ones.
"""

import subprocess
import sys
from pathlib import Path

from numaproof.fake_sysfs import files, parse_machine, write
from numaproof.plugins_mock.choose import machine_devices
from numaproof.plugins_mock.kinds import KINDS

# A GPU of class 0x0380 (display controller of another kind, as AMD's Instinct), and an InfiniBand card (0x0207).
MACHINE = """
preset: xeon-2s
pci:
  - root: "0000:c0"
    node: 1
    devices:
      - address: "c0:01.0"
        id: "8086:2030"
        buses: "c1"
        devices: [{address: "c1:00.0", id: "1002:740f", class: 0x038000}]
      - address: "c0:02.0"
        id: "8086:2030"
        buses: "c2"
        devices:
          - address: "c2:00.0"
            id: "15b3:101b"
            class: 0x020700
            vfs: {count: 2, total: 4, first: "c2:00.1", id: "15b3:101c"}
"""
SCENARIO = """
name: Devices of rarer classes
why: A display controller without a screen is a GPU, and an InfiniBand card is a network card.
source: PCI class codes 0x0380 and 0x0207
needs: {gpus: 1}
plugins:
  - {resource: amd.com/gpu, sysfs: gpu}
  - {resource: nvidia.com/ib, sysfs: nic}
steps:
  - admit: {name: all, containers: [{name: app, requests: {amd.com/gpu: 1, nvidia.com/ib: 2}}]}
    expect:
      admitted: true
      containers: {app: {devices: {amd.com/gpu: ["0000:c1:00.0"], nvidia.com/ib: ["0000:c2:00.1", "0000:c2:00.2"]}}}
"""


def test_the_plugin_finds_them_in_the_files(tmp_path: Path) -> None:
    described = tmp_path / "instinct.yaml"
    described.write_text(MACHINE)
    write(files(parse_machine(str(described))), tmp_path / "tree")
    found = {kind: [one.id for one in machine_devices(KINDS[kind], tmp_path / "tree")] for kind in ("gpu", "nic")}
    assert found == {"gpu": ["0000:c1:00.0"], "nic": ["0000:c2:00.1", "0000:c2:00.2"]}


def test_a_scenario_offers_the_same(tmp_path: Path) -> None:
    (tmp_path / "instinct.yaml").write_text(MACHINE)
    (tmp_path / "classes.yaml").write_text(SCENARIO)
    words = ["run", "--runtime", "process", "-n", "1", "--machine", "instinct.yaml", "--require", "all", "classes.yaml"]
    done = subprocess.run(
        [Path(sys.executable).with_name("numaproof"), *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED: 1 of 1 instance on 1 machine" in done.stdout
