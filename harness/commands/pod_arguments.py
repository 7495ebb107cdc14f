"""Pods as arguments of a command: files of them, and `100*FILE` for as many copies."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from numaproof.errors import UserError
from numaproof.harness.commands.pod_files import pods_of
from numaproof.harness.intake.manifests import distinct
from numaproof.harness.pods.pod import Pod

_COPIES = re.compile(r"([0-9]{1,7})\*(.+)", re.DOTALL)


def copies(argument: str) -> tuple[int | None, str]:
    """The number of copies that an argument asks for, and what of; None: the thing itself."""
    match = _COPIES.fullmatch(argument)
    if match is None:
        return None, argument
    if int(match[1]) == 0:
        raise UserError(f"{argument}: no copy is asked for; give a number from 1 on")
    return int(match[1]), match[2]


def pods_in(arguments: Sequence[str], *, running: bool = False) -> Iterator[Pod]:
    """The pods of all arguments, in their order; those that are said to run may be workloads, or have ended."""
    seen: set[str] = set()
    for argument in arguments:
        count, name = copies(argument)
        pods = _copied(list(pods_of(name, templates=running, running=running)), count)
        yield from distinct(pods, name, f"give each a name and uid of its own, or 2*{name}", seen)


def _copied(pods: Sequence[Pod], count: int | None) -> Iterator[Pod]:
    """The pods of a file, or so many times all of them in their order, with names and uids of their own."""
    if count is None:
        yield from pods
        return
    for number in range(count):
        for pod in pods:
            yield replace(pod, name=f"{pod.name}-{number}", uid=f"{pod.uid}-{number}")
