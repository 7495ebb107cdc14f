"""Nodes and plugins are killed in the middle of whatever they do: nothing is given twice, nothing is lost."""

import functools
import itertools
import json
import os
import random
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import pytest

from tests.harness.node.launcher import Launcher, launcher
from tests.harness.node.running import (
    GPU,
    NIC,
    STATIC,
    TWO_NODES,
    Assignment,
    Client,
    assignment,
    client,
    devices,
    pod,
)
from tests.places import short_directory
from tests.waiting import wait_until

CONFIG = STATIC | {"topologyManagerPolicy": "best-effort"}
DEVICES = {
    GPU: [(device.id, device.numa[0]) for device in devices("gpu", 6) if device.numa],
    NIC: [(device.id, device.numa[0]) for device in devices("nic", 6) if device.numa],
}


@dataclass
class Books:
    """What the outside knows of the pods."""

    admitted: dict[str, Assignment] = field(default_factory=dict)  # answered so, and not asked to be removed since
    unsure: set[str] = field(default_factory=set)  # asked for, without an answer
    leaving: dict[str, Assignment] = field(default_factory=dict)  # asked to be removed, without an answer
    rejected: set[str] = field(default_factory=set)
    answers: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reached(self, answers: int) -> bool:
        """Whether so many answers have come, good or bad."""
        return self.answers >= answers

    def check(self, root: Path, control: Client) -> None:
        """Compare with the node's own word, and be sure of everything again."""
        present = {one.uid: assignment(one) for one in control.state().pods}
        for uid, given in self.admitted.items():
            assert present.get(uid) == given, f"{uid} was admitted with {given}"
        for uid, given in self.leaving.items():
            assert present.get(uid, given) == given, f"{uid} is being removed, and had {given}"
        known = set(self.admitted) | set(self.leaving) | self.unsure
        assert set(present) <= known, "pods that nobody asked for, or that were rejected or removed"
        for what in range(2):
            held = [
                one
                for given in present.values()
                for one in (given[0] if what == 0 else [name for _, names in given[2] for name in names])
            ]
            assert len(held) == len(set(held)), f"something is given twice: {sorted(held)}"
        self._check_files(root, set(present))
        self.admitted = present
        self.unsure, self.leaving = set(), {}

    def _check_files(self, root: Path, present: set[str]) -> None:
        """Nobody but admitted pods is in the state files."""
        cpu = json.loads((root / "cpu_manager_state").read_text())
        memory = json.loads((root / "memory_manager_state").read_text())
        device = json.loads((root / "device-plugins" / "kubelet_internal_checkpoint").read_text())
        entries = device["Data"]["PodDeviceEntries"] or []
        written = {*cpu.get("entries", {}), *memory.get("entries", {}), *(entry["PodUID"] for entry in entries)}
        assert written <= present


def work(control: Client, books: Books, names: Iterator[str], dice: random.Random, stop: threading.Event) -> None:
    """Admit and remove pods until told to stop, or until the node is gone."""
    while not stop.is_set():
        with books.lock:
            victim = (
                dice.choice(sorted(books.admitted))
                if len(books.admitted) > 3 or (dice.random() < 0.3 and books.admitted)
                else None
            )
            if victim is not None:
                books.leaving[victim] = books.admitted.pop(victim)
            else:
                name = next(names)
                books.unsure.add(f"uid-{name}")
        try:
            if victim is not None:
                control.remove(victim)
                with books.lock:
                    del books.leaving[victim]
            else:
                manifest = pod(name, {"cpu": dice.randint(1, 3), "memory": "1Gi", GPU: dice.randint(1, 2), NIC: 1})
                answer = control.admit(manifest)
                with books.lock:
                    books.unsure.discard(f"uid-{name}")
                    if answer.verdict.admitted:
                        books.admitted[f"uid-{name}"] = assignment(answer.pod)
                    else:
                        books.rejected.add(f"uid-{name}")
        except grpc.RpcError:
            return
        finally:
            with books.lock:
                books.answers += 1


@dataclass
class World:
    """A node and two plugins, each a process that may be killed."""

    starter: Launcher
    root: Path
    pids: dict[str, int] = field(default_factory=dict)

    def start(self, name: str) -> None:
        if name == "node":
            self.pids[name] = self.starter.start(
                "node", root=str(self.root), kubelet=CONFIG, machine=TWO_NODES, deadline=60
            )
            # A plugin that starts while a node wipes the sockets may register with one that is gone by then, and has
            # to wait until the node has dialled in vain for ten seconds: as it is with a kubelet, but too slow here.
            self.starter.wait_ready(self.pids[name])
        else:
            self.pids[name] = self.starter.start(
                "plugin",
                resource=name,
                devices=DEVICES[name],
                directory=str(self.root / "device-plugins"),
                preferred=name == GPU,
            )

    def ready(self, control: Client) -> None:
        """Wait until everything runs and the node knows all devices."""

        def complete() -> bool:
            listed = {one.resource: one for one in control.state().plugins}
            return all(
                name in listed and [device.healthy for device in listed[name].devices] == [True] * len(expected)
                for name, expected in DEVICES.items()
            )

        wait_until(complete, "both plugins' devices")


ROUNDS, PARTS = 200, 4


@pytest.mark.parametrize("part", range(PARTS))
def test_random_kills_lose_nothing_and_give_nothing_twice(part: int) -> None:
    dice = random.Random(part)
    names = (f"p{number}" for number in itertools.count())
    books = Books()
    with short_directory() as root, launcher() as starter:
        world = World(starter, root)
        (root / "device-plugins").mkdir(mode=0o700)
        for name in ("node", GPU, NIC):
            world.start(name)
        for _ in range(ROUNDS // PARTS):
            with client(root) as control:
                world.ready(control)
                books.check(root, control)
                stop = threading.Event()
                threads = [
                    threading.Thread(target=work, args=(control, books, names, random.Random(dice.random()), stop))
                    for _ in range(2)
                ]
                goal = books.answers + dice.randint(0, 8)
                for thread in threads:
                    thread.start()
                wait_until(functools.partial(books.reached, goal), "some answers", 120)
                victims = dice.choice((["node"], ["node"], [GPU], ["node", NIC], ["node", GPU, NIC]))
                for victim in victims:
                    os.kill(world.pids[victim], signal.SIGKILL)
                stop.set()
                for thread in threads:
                    thread.join()
            for victim in victims:
                assert starter.reap(world.pids[victim]) == -signal.SIGKILL
            for victim in victims:
                world.start(victim)
        with client(root) as control:
            world.ready(control)
            books.check(root, control)
            assert books.rejected or books.admitted
            for uid in list(books.admitted):
                control.remove(uid)
            state = control.state()
            assert len(state.free_cpus) == 15
            assert not any(one.allocated for one in state.plugins)
        for name in ("node", GPU, NIC):
            starter.stop(world.pids[name])


def test_a_node_killed_while_it_starts_starts_again() -> None:
    dice = random.Random(1)
    with short_directory() as root, launcher() as starter:
        world = World(starter, root)
        world.start("node")
        with client(root) as control:
            first = assignment(control.admit(pod("p", {"cpu": 2, "memory": "1Gi"})).pod)
        starter.kill(world.pids["node"])
        for _ in range(15):
            pid = starter.start("node", root=str(root), kubelet=CONFIG, machine=TWO_NODES, deadline=60)
            threading.Event().wait(dice.random() * 0.1)  # somewhere on the way, or already there
            starter.kill(pid)
        world.start("node")
        with client(root) as control:
            assert [assignment(one) for one in control.state().pods] == [first]
        starter.stop(world.pids["node"])
