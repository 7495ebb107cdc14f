"""A scenario file for tests of `numaproof run`, and the command."""

import sys
from pathlib import Path
from typing import Any

import yaml

GPU = "example.com/gpu"
NUMAPROOF = (sys.executable, "-m", "numaproof")


def story(place: Path, name: str = "own", **words: Any) -> Path:
    """A scenario file: a pod with a CPU and a GPU is admitted."""
    pod = {"name": "p", "containers": [{"name": "c", "requests": {"cpu": 1, GPU: 1}}]}
    told = {
        "name": f"the story {name}",
        "why": "a test of the command",
        "source": "this file",
        "matrix": {"policy": ["restricted"], "scope": ["pod"], "machine": ["laptop"]},
        "plugins": [{"resource": GPU, "per_numa": 1}],
        "steps": [{"admit": pod, "expect": {"admitted": True, "aligned": "pod"}}],
        **words,
    }
    file = place / "theme" / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(yaml.safe_dump(told))
    return file
