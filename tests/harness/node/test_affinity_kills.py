"""A node is killed while pods are bound, and taints and quotas change: what was acknowledged is there, whole, once."""

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

from numaproof.fake_sysfs.lists import parse_cpulist
from numaproof.harness.api import numaproof_v1_pb2 as api
from tests.harness.node.binding import DEDICATED, NUMA, Binder, cpu_entries, tolerating
from tests.harness.node.launcher import launcher
from tests.harness.node.running import STATIC, TWO_NODES, pod
from tests.places import short_directory
from tests.waiting import wait_until

CONFIG = STATIC | {"topologyManagerPolicy": "restricted"}
OWN = {"key": "example.com/own", "value": "", "effect": "NoExecute"}
TOLERATES_OWN = {"key": "example.com/own", "operator": "Exists"}
PAIRS = [(f"{cpu}-{cpu + 1}", str(cpu // 8)) for cpu in range(2, 16, 2)]  # CPUs and their NUMA node
QUOTAS = ("2", "8", "30", "31")
# Answers of a node; with any other code it is gone, and nobody knows.
ANSWERED = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.ABORTED,
}

# What a pod can be: absent (None), waiting with some fields, or running with its fields and the CPUs of its containers.
State = tuple[str, str, str, tuple[tuple[int, ...], ...]] | None
ANY: State = ("any", "", "", ())  # it runs, with CPUs that nobody was told


def state_of(one: api.Pod) -> State:
    cpus = tuple(tuple(container.cpus) for container in one.containers)
    return "runs" if cpus else "waits", one.binding.numa_node_id, one.binding.cpu_affinity, cpus


def bound_state(node: str, cpus: str) -> State:
    return "runs", node, cpus, (tuple(parse_cpulist(cpus)),) * 2


@dataclass
class Books:
    """What the outside knows: for each pod all that it may be by now, and so for taints and quotas."""

    pods: dict[str, set[State]] = field(default_factory=dict)
    tainted: set[bool] = field(default_factory=lambda: {False})
    was_tainted: bool = False  # at any time since the last look: an answer may be written down long after an eviction
    quota: set[str | None] = field(default_factory=lambda: {None})
    answers: int = 0
    bound: int = 0
    faults: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reached(self, answers: int) -> bool:
        return self.answers >= answers

    def may_be(self, name: str, *states: State) -> None:
        with self.lock:
            self.pods[name] = self.pods.get(name, {None}) | set(states)

    def is_now(self, name: str, state: State) -> None:
        with self.lock:
            self.pods[name] = {state}
            if name.startswith("plain") and self.was_tainted:
                self.pods[name].add(None)  # it may be evicted before anybody looks
            self.bound += state is not None and state[0] == "runs" and bool(state[2])

    def check(self, root: Path, control: Binder) -> None:
        """Compare with the node's own word, and be sure of everything again."""
        assert self.faults == []
        state, status = control.state(), control.status()
        tainted = {"example.com/own"} == {one.key for one in status.taints}
        assert tainted in self.tainted
        quota = next((one.dedicated_cpu for one in status.quotas), None)
        assert quota in self.quota
        present = {one.name: state_of(one) for one in (*state.pods, *state.pending)}
        for name, possible in self.pods.items():
            seen = present.get(name)
            assert seen in possible or (seen is not None and ANY in possible), f"{name}: {seen}, not of {possible}"
        assert set(present) <= set(self.pods)
        assert not (tainted and any(name.startswith("plain") for name in present))
        self._check_nothing_is_half_done(state)
        self._check_files(root, state)
        self.pods = {name: {one} for name, one in present.items()}
        self.tainted, self.was_tainted, self.quota = {tainted}, tainted, {quota}

    def _check_nothing_is_half_done(self, state: api.StateResponse) -> None:
        held: list[int] = []
        for one in state.pods:
            sets = [tuple(container.cpus) for container in one.containers]
            if one.binding.cpu_affinity:
                assert sets == [tuple(parse_cpulist(one.binding.cpu_affinity))] * len(one.containers)
            held += [cpu for cpus in dict.fromkeys(sets) for cpu in cpus]
        assert len(held) == len(set(held)), f"a CPU is given twice: {sorted(held)}"
        for one in state.pending:
            assert not one.containers
            assert not (one.binding.cpu_affinity and (one.binding.numa_node_id or not one.name.startswith("both")))

    def _check_files(self, root: Path, state: api.StateResponse) -> None:
        running = {one.uid: one for one in state.pods}
        cpus = {
            uid: {name: parse_cpulist(text) for name, text in sets.items()} for uid, sets in cpu_entries(root).items()
        }
        assert cpus == {
            uid: {container.name: tuple(container.cpus) for container in one.containers} for uid, one in running.items()
        }
        memory = json.loads((root / "memory_manager_state").read_text())
        assert set(memory.get("entries", {})) == set(running)


class Worker:
    """Somebody with pods of his own; ends when he is told to, or when the node is gone."""

    def __init__(self, root: Path, books: Books, names: Iterator[int], dice: random.Random) -> None:
        self.control = Binder(root)
        self.books = books
        self.names = names
        self.dice = dice
        self.own: list[str] = []

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                self.step()
            except grpc.RpcError as error:
                if error.code() not in ANSWERED:
                    return
            finally:
                with self.books.lock:
                    self.books.answers += 1

    def step(self) -> None:
        waiting = [name for name in self.own if self._is(name, "waits")]
        if waiting and self.dice.random() < 0.6:
            self.bind(self.dice.choice(waiting))
        elif len(self.own) > 3 or (self.own and self.dice.random() < 0.2):
            self.remove(self.dice.choice(self.own))
        else:
            self.admit(self.dice.choice(("cpus", "both", "both", "placed", "plain")))

    def _is(self, name: str, what: str) -> bool:
        with self.books.lock:
            states = self.books.pods.get(name, {None})
        return all(one is not None and one[0] == what for one in states)

    def admit(self, kind: str) -> None:
        name = f"{kind}{next(self.names)}"
        size = {"cpu": 1, "memory": "1Gi"}
        if kind == "plain":
            manifest, state = pod(name, size, size), ANY
        else:
            cpus, _ = self.dice.choice(PAIRS)
            tolerations = [TOLERATES_OWN, DEDICATED, *([NUMA] if kind == "both" else [])]
            placed = {"cpuAffinity": cpus} if kind == "placed" else {}
            manifest = tolerating(name, tolerations, size, size, **placed)
            state = bound_state("", cpus) if placed else ("waits", "", "", ())
        self.books.may_be(name, state)
        self.own.append(name)
        answer = self.control.admit(manifest)
        if answer.verdict.admitted or answer.verdict.reason == "Pending":
            self.books.is_now(name, state_of(answer.pod))
        else:
            self.books.is_now(name, None)
            self.own.remove(name)

    def bind(self, name: str) -> None:
        with self.books.lock:
            (before,) = self.books.pods[name]
        assert before is not None
        cpus, node = self.dice.choice(PAIRS)
        if not name.startswith("both"):
            fields, after = {"cpu_affinity": cpus}, bound_state("", cpus)
        elif self.dice.random() < 0.4:
            fields, after = {"numa_node_id": node}, ("waits", node, before[2], ())
            if before[2]:
                after = bound_state(node, before[2])
        else:
            fields, after = {"numa_node_id": node, "cpu_affinity": cpus}, bound_state(node, cpus)
        self.books.may_be(name, after)
        try:
            answer = self.control.bind(name, **fields)
        except grpc.RpcError as error:
            if error.code() in ANSWERED:
                self.books.is_now(name, before)
            raise
        if answer.verdict.admitted or answer.verdict.reason == "Pending":
            self.books.is_now(name, after)
            if state_of(answer.pod) != after:
                self.books.faults.append(f"{name}: bound as {state_of(answer.pod)}, not as {after}")
        else:
            self.books.is_now(name, before)

    def remove(self, name: str) -> None:
        self.books.may_be(name, None)
        self.own.remove(name)
        try:
            self.control.remove(f"default/{name}")
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.NOT_FOUND:
                raise
        self.books.is_now(name, None)


class Housekeeper(Worker):
    """Somebody who changes taints and quotas."""

    def step(self) -> None:
        if self.dice.random() < 0.7:
            quota = self.dice.choice(QUOTAS)
            with self.books.lock:
                self.books.quota.add(quota)
            self.control.quota("default", quota)
            with self.books.lock:
                self.books.quota = {quota}
            return
        with self.books.lock:
            adds = self.books.tainted == {False}
            self.books.tainted = {True, False}
            self.books.was_tainted = True
            if adds:
                for name, states in self.books.pods.items():
                    if name.startswith("plain"):
                        states.add(None)
        self.control.taint(*([OWN] if adds else []), remove=[] if adds else [OWN])
        with self.books.lock:
            self.books.tainted = {adds}


ROUNDS, PARTS = 60, 2


@pytest.mark.parametrize("part", range(PARTS))
def test_kills_leave_what_was_acknowledged_and_nothing_by_halves(part: int) -> None:
    dice = random.Random(part)
    names = itertools.count()
    books = Books()
    with short_directory() as root, launcher() as starter:
        for _ in range(ROUNDS // PARTS):
            pid = starter.start("node", root=str(root), kubelet=CONFIG, machine=TWO_NODES, deadline=60)
            starter.wait_ready(pid)
            looking = Binder(root)
            books.check(root, looking)
            kept = sorted(name for name in books.pods if dice.random() < 0.7)
            for name in set(books.pods) - set(kept):  # room for others
                looking.remove(f"default/{name}")
                books.is_now(name, None)
            looking.channel.close()
            stop = threading.Event()
            workers = [kind(root, books, names, random.Random(dice.random())) for kind in (Worker, Worker, Housekeeper)]
            for index, name in enumerate(kept):
                workers[index % 2].own.append(name)
            threads = [threading.Thread(target=worker.run, args=(stop,)) for worker in workers]
            goal = books.answers + dice.randint(3, 25)
            for thread in threads:
                thread.start()
            wait_until(functools.partial(books.reached, goal), "some answers", 120)
            os.kill(pid, signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join()
            for worker in workers:
                worker.control.channel.close()
            assert starter.reap(pid) == -signal.SIGKILL
        pid = starter.start("node", root=str(root), kubelet=CONFIG, machine=TWO_NODES, deadline=60)
        starter.wait_ready(pid)
        looking = Binder(root)
        books.check(root, looking)
        assert books.bound >= 10
        for name in list(books.pods):
            looking.remove(f"default/{name}")
        assert len(looking.state().free_cpus) == 15
        assert [one.available["cpu"] for one in looking.status().numa_nodes] == ["7", "8"]
        looking.channel.close()
        starter.stop(pid)
