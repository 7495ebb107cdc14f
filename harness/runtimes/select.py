"""Which runtime a name stands for: the one place where `auto` is decided."""

from numaproof.errors import UserError
from numaproof.harness.runtimes.local import NamespaceRuntime, ProcessRuntime, namespaces_work
from numaproof.harness.runtimes.program import Runtime


def select_runtime(name: str, *, containers: bool = True) -> str:
    """What a runtime's name stands for here; `auto`: docker where an engine answers, else namespaces, else processes.

    Without `containers` (what is to be started is a program of this host) docker is left out. A runtime that was asked
    for and cannot be had is refused.
    """
    if name == "process":
        return name
    if name == "namespace":
        if not namespaces_work():
            raise UserError("--runtime namespace: namespaces cannot be made here (unshare fails); take process")
        return name
    if containers:
        from numaproof.harness.runtimes.docker import connect, engine_answers  # noqa: PLC0415 (the SDK takes long to import)

        if name == "docker":
            connect().close()
            return name
        if engine_answers():
            return "docker"
    elif name == "docker":
        raise UserError("--runtime docker: a command of this host cannot run in a container; give --image IMAGE")
    return "namespace" if namespaces_work() else "process"


def select_local_runtime(name: str) -> Runtime:
    """The runtime that a name stands for where programs of this host are to be started."""
    return NamespaceRuntime() if select_runtime(name, containers=False) == "namespace" else ProcessRuntime()
