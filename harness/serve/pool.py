"""Processes that compute answers: a few, each answer with a limit in time; one that is too slow is ended."""

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numaproof
from numaproof.harness.serve.worker import HEAD

WORKERS = 2  # one may look for what would help while the other one answers
MOST_WAITING = 16
_Found = TypeVar("_Found")
_PATIENCE = 0.5  # s that an answer nobody waits for may still take: less than a new process takes to start


class LimitError(Exception):
    """No answer, as a limit was met; the text is for whoever asked."""


class Pool:
    """The processes; `opened` starts and ends them."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self._idle: asyncio.Queue[Process] = asyncio.Queue()
        self._all: set[Process] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._waiting = 0
        self._is_open = True

    async def answer(self, kind: str, body: bytes) -> tuple[int, bytes]:
        """The status and the JSON of an answer; a LimitError if it takes too long, or too many wait."""
        if self._waiting >= MOST_WAITING:
            raise LimitError("too many questions wait already; ask again in a moment")
        self._waiting += 1
        try:
            async with asyncio.timeout(self.seconds):
                process = await self._free()
        except TimeoutError:
            raise LimitError("other questions take all the time; ask again in a moment") from None
        finally:
            self._waiting -= 1
        asked = self._later(_asked(process, kind, body))
        patience = 0.0
        try:
            async with asyncio.timeout(self.seconds):
                return await asyncio.shield(asked)
        except TimeoutError:
            raise LimitError(
                f"takes longer than {self.seconds} s, which is the limit here; give less, ask `numaproof explain`, or "
                "start with a larger --time-limit"
            ) from None
        except (OSError, asyncio.IncompleteReadError):
            raise LimitError("the process that computed this ended, perhaps for want of memory; give less") from None
        except asyncio.CancelledError:
            patience = _PATIENCE
            raise
        finally:
            self._later(self._given_back(process, asked, patience))

    async def _given_back(self, process: Process, asked: "asyncio.Task[tuple[int, bytes]]", patience: float) -> None:
        """Have a process take the next order or, if it still computes or has ended, another one in its place."""
        await asyncio.wait([asked], timeout=patience)
        if asked.done() and not asked.cancelled() and asked.exception() is None:
            self._idle.put_nowait(process)
            return
        asked.cancel()
        await self._replaced(process)

    async def _free(self) -> Process:
        """A process that waits for an order; in the place of one that was ended meanwhile another one starts."""
        while (process := await self._idle.get()).returncode is not None:
            self._later(self._replaced(process))
        return process

    async def _replaced(self, process: Process) -> None:
        await self._ended(process)
        if self._is_open:
            await self._start()

    async def _start(self) -> None:
        # Whatever made us importable makes the process find us, too.
        place = str(Path(numaproof.__file__).parent.parent)
        path = os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH"))))
        process = await asyncio.create_subprocess_exec(
            # -P: nothing is imported from where the user happens to be.
            *(sys.executable, "-P", "-m", "numaproof.harness.serve.worker", str(self.seconds)),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": path},
            process_group=0,  # Ctrl-C in a terminal is for us
        )
        self._all.add(process)
        self._later(self._ready(process))

    async def _ready(self, process: Process) -> None:
        """Have a process take orders once it has what it needs: until then another one is quicker."""
        assert process.stdout is not None
        with contextlib.suppress(asyncio.IncompleteReadError):  # it ended: whoever asks it is told
            await process.stdout.readexactly(HEAD.size)
        self._idle.put_nowait(process)

    async def _ended(self, process: Process) -> None:
        if process.returncode is None:
            # Not by its own method: that asks whether it has ended, and takes the answer from who waits for it.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        await process.wait()
        self._all.discard(process)

    def _later(self, work: Coroutine[Any, Any, _Found]) -> "asyncio.Task[_Found]":
        """Work that goes on when nobody waits for it; the end of the pool is its end."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator["Pool"]:
        """Started; at the end all are gone."""
        try:
            for _ in range(WORKERS):
                await self._start()
            yield self
        finally:
            self._is_open = False
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await asyncio.gather(*map(self._ended, list(self._all)))

    @property
    def pids(self) -> Sequence[int]:
        """Of the processes that run."""
        return [process.pid for process in self._all if process.returncode is None]


async def _asked(process: Process, kind: str, body: bytes) -> tuple[int, bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HEAD.pack(len(kind), len(body)) + kind.encode() + body)
    await process.stdin.drain()
    status, length = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
    return status, await process.stdout.readexactly(length)
