"""A rig of real parts: a node, fake plugins and a machine, put together."""

import shutil
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol, Self

from numaproof.fake_sysfs import Machine
from numaproof.harness.rig.plugin_fleet import FakePluginFleet, PluginWatcher
from numaproof.harness.rig.surroundings import MachineSurroundings, ObservedNode
from numaproof.harness.runtimes import Runtime
from numaproof.harness.runtimes.launcher import Launcher
from numaproof.harness.scenario.rig import FakePlugin, NodeUnderTest


class RigNode(NodeUnderTest, PluginWatcher, ObservedNode, Protocol):
    """All that a rig asks of its node, which is up from `with` to its end; a second kind of node implements this."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *reason: object) -> None: ...


class LiveRig:
    """A node on a machine with its plugins, from `with` to its end; `root` holds their files, and goes with them."""

    def __init__(
        self,
        node: RigNode,
        plugins: Collection[FakePlugin],
        root: Path,
        launcher: Launcher,
        runtime: Runtime,
        tree: Path,
        machine: Machine,
    ) -> None:
        """`launcher` starts plugins, on the machine of `tree`; `runtime` starts containers beside them."""
        self._root = root
        self._ending = ExitStack()
        self.node = node
        self.plugins = FakePluginFleet(launcher, root, plugins, node)
        self.surroundings = MachineSurroundings(runtime, tree, launcher.sysfs_root, machine, node)

    def __enter__(self) -> Self:
        with ExitStack() as ending:
            ending.callback(shutil.rmtree, self._root, ignore_errors=True)
            ending.enter_context(self.node)
            ending.enter_context(self.plugins)
            self._ending = ending.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ending.close()
