"""A kubelet's root as operators copy it: as a folder, as an archive."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.kubelet_root import KubeletRoot, read_kubelet_root
from tests.harness.intake.state_files import cpu_file, device_file, memory_file

CONFIG = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
reservedSystemCPUs: "0"
kubeReserved: {cpu: 500m, memory: 1Gi}
"""
ROOT = {
    "config.yaml": CONFIG,
    "cpu_manager_state": cpu_file(),
    "memory_manager_state": memory_file(),
    "device-plugins/kubelet_internal_checkpoint": device_file(),
}
FLAT = {name.rpartition("/")[2]: text for name, text in ROOT.items()}


def written(place: Path, files: Mapping[str, str | bytes]) -> str:
    for name, content in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return str(place)


def packed(path: Path, files: Mapping[str, str | bytes | tarfile.TarInfo]) -> bytes:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path.read_bytes()


def linked(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def refusal(path: str | Path) -> str:
    with pytest.raises(UserError) as caught:
        read_kubelet_root(str(path))
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 500
    return text


def values(root: KubeletRoot) -> dict[str, Any]:
    return {key: one.value for key, one in (root.settings or {}).items()}


def is_whole(root: KubeletRoot) -> bool:
    """Whether all of ROOT was read."""
    return (
        values(root)["reservedSystemCPUs"] == "0"
        and root.state.cpus["uid-1", "app"] == {1, 2}
        and root.state.memory["uid-1", "app"][0].nodes == (0,)
        and [one.numa for one in root.state.devices["uid-1", "app"]["example.com/gpu"]] == [(0,), (1,)]
        and root.state.registered == {"example.com/gpu": ("gpu0", "gpu1", "gpu2")}
    )
