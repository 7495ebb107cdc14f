"""The processes that compute answers: killed, too slow, or asked by somebody who went away."""

import asyncio
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from numaproof.harness.serve import worker
from numaproof.harness.serve.pool import MOST_WAITING, WORKERS, LimitError, Pool
from numaproof.harness.serve.worker import HEAD
from tests.harness.serve.asking import PATIENCE, Command, Server, children_of, runs, serve_command, written
from tests.harness.serve.slow import QUICK_BODY, SLOW_BODY
from tests.waiting import wait_until

ENDED = "the process that computed this ended, perhaps for want of memory; give less"
NO_MEMORY = "this needs more memory than there is for an answer; give less"
LONG = 3600  # s: a limit that no test waits for


def pooled(act: Callable[[Pool], Coroutine[Any, Any, None]]) -> list[int]:
    """Do something with a pool; the processes that were there at its end, which are gone."""

    async def done() -> list[int]:
        async with Pool(LONG).opened() as pool, asyncio.timeout(PATIENCE):
            await until(lambda: pool._idle.qsize() == WORKERS)
            await act(pool)
            return list(pool.pids)

    pids = asyncio.run(done())
    assert not [pid for pid in pids if runs(pid)]
    return pids


async def until(condition: Callable[[], object]) -> None:
    """Return once there is a state, which other tasks bring about."""
    while not condition():
        await asyncio.sleep(0.01)


async def assert_answers(pool: Pool) -> None:
    """Every process answers as it should."""
    for status, body in await asyncio.gather(*(pool.answer("explain", QUICK_BODY) for _ in range(WORKERS * 2))):
        assert status == 200
        assert json.loads(body)["pod"] == "default/p"


def test_a_process_that_is_killed_while_it_answers_is_replaced() -> None:
    async def act(pool: Pool) -> None:
        before = set(pool.pids)
        asked = asyncio.create_task(pool.answer("explain", SLOW_BODY))
        await asyncio.sleep(0)  # it has a process now
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(LimitError, match=ENDED):
            await asked
        await until(lambda: not before & set(pool.pids))
        await assert_answers(pool)
        assert len(pool.pids) == WORKERS

    assert len(pooled(act)) == WORKERS


def test_processes_that_are_killed_while_they_wait_are_replaced_before_anybody_is_told() -> None:
    async def act(pool: Pool) -> None:
        before = set(pool.pids)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        await until(lambda: not before & set(pool.pids))
        await assert_answers(pool)

    pooled(act)


def test_an_answer_that_takes_too_long_is_ended_and_told_so() -> None:
    async def act(pool: Pool) -> None:
        before = set(pool.pids)
        pool.seconds = 1
        with pytest.raises(LimitError, match=r"takes longer than 1 s, which is the limit here; .* --time-limit"):
            await pool.answer("explain", SLOW_BODY)
        await until(lambda: not before <= set(pool.pids))  # it does not go on for nobody
        pool.seconds = LONG
        await assert_answers(pool)

    pooled(act)


def test_a_process_that_nobody_ends_ends_itself() -> None:
    """Some seconds behind its limit."""
    order = HEAD.pack(len("explain"), len(SLOW_BODY)) + b"explain" + SLOW_BODY
    with subprocess.Popen([sys.executable, "-m", worker.__name__, "1"], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(order)
        process.stdin.flush()
        assert process.wait(PATIENCE) == -signal.SIGALRM


def test_an_answer_that_needs_too_much_memory_is_told_so() -> None:
    """By the process itself or, where Python cannot go on, by its end; the next answers are right."""

    async def act(pool: Pool) -> None:
        await assert_answers(pool)
        for pid in pool.pids:
            [size] = re.findall(r"VmSize:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
            few = (int(size) << 10) + (1 << 20)
            _, most = resource.prlimit(pid, resource.RLIMIT_AS, (few, resource.prlimit(pid, resource.RLIMIT_AS)[1]))
            assert 1 << 30 <= most <= 2 << 30  # bytes: what there is for an answer
        try:
            status, body = await pool.answer("explain", SLOW_BODY)
            told = json.loads(body)["errors"] if status == 503 else body
        except LimitError as error:
            told = {"": str(error)}
        assert told in ({"": NO_MEMORY}, {"": ENDED})
        for pid in pool.pids:
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_AS, (most, most))
        await assert_answers(pool)

    pooled(act)


def test_too_many_questions_are_turned_away_at_once() -> None:
    async def act(pool: Pool) -> None:
        many = [asyncio.create_task(pool.answer("explain", SLOW_BODY)) for _ in range(WORKERS + MOST_WAITING)]
        await asyncio.sleep(0)
        with pytest.raises(LimitError, match="too many questions wait already"):
            await pool.answer("explain", QUICK_BODY)
        for one in many:
            one.cancel()
        await asyncio.gather(*many, return_exceptions=True)
        await assert_answers(pool)

    pooled(act)


def test_who_waits_for_others_too_long_is_told_so() -> None:
    async def act(pool: Pool) -> None:
        slow = [asyncio.create_task(pool.answer("explain", SLOW_BODY)) for _ in range(WORKERS)]
        await asyncio.sleep(0)  # their limit is set
        pool.seconds = 1
        with pytest.raises(LimitError, match="other questions take all the time"):
            await pool.answer("explain", QUICK_BODY)
        for one in slow:
            one.cancel()
        await asyncio.gather(*slow, return_exceptions=True)

    pooled(act)


def test_an_answer_that_nobody_waits_for_frees_its_process() -> None:
    """At once if it is soon there, or else by its end."""

    async def act(pool: Pool) -> None:
        for body in (QUICK_BODY, SLOW_BODY):
            asked = [asyncio.create_task(pool.answer("explain", body)) for _ in range(WORKERS)]
            await asyncio.sleep(0)
            for one in asked:
                one.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            await assert_answers(pool)

    pooled(act)


def asking(server: Server, body: bytes) -> socket.socket:
    """A connection on which a question was asked."""
    connection = server.connected()
    connection.sendall(written("POST", "/api/explain", server.host, *server.of(body)) + body)
    return connection


def ticks(pid: int) -> int:
    """The time that a process has computed."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))


@contextmanager
def serving_processes() -> Iterator[tuple[Command, list[int]]]:
    """A server and its processes, all of which wait for orders: from now on they compute for whoever asks."""
    with serve_command() as command:
        workers = children_of(command.pid)
        wait_until(lambda: all(map(waits_for_orders, workers)), "processes that wait for orders")
        yield command, workers


def waits_for_orders(pid: int) -> bool:
    """Whether a process reads from its stdin: the first argument of the call in which it is."""
    call = Path(f"/proc/{pid}/syscall").read_text().split()
    return len(call) > 1 and call[1] == "0x0"


@contextmanager
def all_computing(server: Server, workers: Sequence[int]) -> Iterator[None]:
    """As long as it lasts, somebody waits for each of the processes."""
    before = {pid: ticks(pid) for pid in workers}
    with ExitStack() as stack:
        for _ in workers:
            stack.enter_context(asking(server, SLOW_BODY))
        wait_until(lambda: all(ticks(pid) > before[pid] + 20 for pid in workers), "processes that compute")
        yield


def test_a_client_that_hangs_up_frees_its_process_and_is_no_fault() -> None:
    with serving_processes() as (command, workers):
        with all_computing(command.server, workers):
            pass
        assert command.server.post("/api/explain", QUICK_BODY).status == 200
        wait_until(lambda: not any(map(runs, workers)), "the end of who computes for nobody")
        with command.server.connected() as half:
            half.sendall(written("POST", "/api/explain", command.server.host, *command.server.of(QUICK_BODY)))
        assert command.server.post("/api/explain", QUICK_BODY).status == 200
        command.process.send_signal(signal.SIGTERM)
        _, told = command.last_words()
    assert told == "numaproof: ended by SIGTERM; nothing is left behind\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("do_they_compute", [False, True])
def test_no_process_outlives_the_server(number: signal.Signals, do_they_compute: bool) -> None:
    with serving_processes() as (command, workers):
        assert len(workers) == WORKERS
        with all_computing(command.server, workers) if do_they_compute else nullcontext():
            command.process.send_signal(number)
            command.last_words()
            if number == signal.SIGKILL:
                wait_until(lambda: not any(map(runs, workers)), "the end of its processes")
            assert not any(map(runs, workers))
