"""A rig of real parts: a reference node, fake plugins and a machine, put together."""

import shutil
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from numaproof.fake_sysfs import Machine
from numaproof.harness.rig.plugin_fleet import FakePluginFleet
from numaproof.harness.rig.reference_node import ReferenceNode
from numaproof.harness.rig.surroundings import MachineSurroundings
from numaproof.harness.runtimes import Runtime
from numaproof.harness.runtimes.launcher import Launcher
from numaproof.harness.scenario.rig import FakePlugin


class ReferenceRig:
    """A reference node on a machine with its plugins, from `with` to its end; `root` is theirs, and goes with them."""

    def __init__(
        self,
        launcher: Launcher,
        runtime: Runtime,
        tree: Path,
        machine: Machine,
        root: Path,
        config: Mapping[str, Any],
        plugins: Collection[FakePlugin],
        semantics: str = "current",
    ) -> None:
        """`launcher` starts them, on the machine of `tree`; `runtime` starts containers beside them."""
        root.mkdir()
        self._root = root
        self._ending = ExitStack()
        self.node = ReferenceNode(launcher, root, config, semantics)
        self.plugins = FakePluginFleet(launcher, root, plugins, self.node)
        self.surroundings = MachineSurroundings(runtime, tree, launcher.sysfs_root, machine, self.node)

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            ending.callback(shutil.rmtree, self._root, ignore_errors=True)
            ending.enter_context(self.node)
            ending.enter_context(self.plugins)
            self._ending = ending.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ending.close()
