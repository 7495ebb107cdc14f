"""The plugin under test: how it is started, in which surroundings, and how long it lives."""

import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from numaproof.harness.conformance.exchange import Happened, Recorder
from numaproof.harness.conformance.happenings import Happening, Session
from numaproof.harness.runtimes.program import Bind, CannotStartError, DeviceNode, Finished, Program, Running, Runtime
from numaproof.harness.vocabulary import DEVICE_PLUGIN_DIRECTORY, PLUGIN_REGISTRY_DIRECTORY

_OWN_NETWORK = str(Path(__file__).with_name("own_network.py"))
# In the namespace the launcher is process 1, and the subject its child.
_IN_ITS_NETWORK = 'exec nsenter --net --target "$(cut -d" " -f1 /proc/1/task/1/children)" sh -c "$1"'
_COMMAND_SECONDS = 60
_MOST_RESTARTS = 30
_LONGEST_PAUSE_SECONDS = 2.0
_NOT_RUN = 126


@dataclass(frozen=True, slots=True)
class SessionDirectories:
    """The directories of one session, as the host sees them."""

    plugins: Path  # where plugins register
    registry: Path  # where the plugin watcher finds them


class Subject(Protocol):
    """Something that can be started, in a session's directories."""

    def start(self, directories: SessionDirectories) -> Running:
        """Start it; raises CannotStartError."""

    def shell(self, command: str) -> list[str]:
        """What runs a shell command beside it, given to `Running.execute`."""

    @property
    def meeting_place(self) -> str:
        """Where it meets the kubelet, in words for whoever waits for it in vain."""


@dataclass(frozen=True, slots=True)
class CommandSubject:
    """A command. In a namespace the session's directories are mounted where the kubelet has them; as a plain process
    the command gets them for `{dir}` and `{registry}` in its arguments."""

    command: tuple[str, ...]
    runtime: Runtime
    machine: Path | None = None  # a tree that holds sys/ and proc/; None: the host's own
    binds: tuple[Bind, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    devices: tuple[DeviceNode, ...] = ()
    own_network: bool = True

    def start(self, directories: SessionDirectories) -> Running:
        """Start the command in a session's directories."""
        mounts = self._has_own_directories
        directory = DEVICE_PLUGIN_DIRECTORY if mounts else str(directories.plugins)
        registry = PLUGIN_REGISTRY_DIRECTORY if mounts else str(directories.registry)
        command = tuple(word.replace("{dir}", directory).replace("{registry}", registry) for word in self.command)
        if self._has_own_network:
            command = (sys.executable, "-I", "-S", _OWN_NETWORK, *command)
        own = (
            (Bind(directories.plugins, DEVICE_PLUGIN_DIRECTORY), Bind(directories.registry, PLUGIN_REGISTRY_DIRECTORY))
            if mounts
            else ()
        )
        return self.runtime.start(
            Program(
                command=command,
                machine=self.machine,
                binds=(*own, *self.binds),
                environment=self.environment,
                directory=str(Path.cwd()) if self.runtime.name != "docker" else None,
                devices=self.devices,
            )
        )

    def shell(self, command: str) -> list[str]:
        """In the subject's own network too, so that a command reaches a port that it listens on."""
        return ["sh", "-c", _IN_ITS_NETWORK, "sh", command] if self._has_own_network else ["sh", "-c", command]

    @property
    def meeting_place(self) -> str:
        """The kubelet's own path where that is the suite's; else what its command is told, or lacks to be told."""
        if self._has_own_directories:
            return f"{DEVICE_PLUGIN_DIRECTORY}/kubelet.sock"
        if any("{dir}" in word or "{registry}" in word for word in self.command):
            return "the paths that its command got for {dir} and {registry}"
        return "kubelet.sock in {dir}; write {dir} where its command takes that path"

    @property
    def _has_own_directories(self) -> bool:
        return self.runtime.name != "process"

    @property
    def _has_own_network(self) -> bool:
        return self.runtime.name == "namespace" and self.own_network


class Life:
    """The subject within one session: started, watched, restarted when it is to be, and always ended."""

    def __init__(
        self,
        subject: Subject | None,
        directories: SessionDirectories,
        recorder: Recorder,
        session: Session,
        supervise: bool,
    ) -> None:
        self._subject = subject  # None: somebody else runs it
        self._directories = directories
        self._recorder = recorder
        self._session = session
        self._supervise = supervise
        self._running: Running | None = None
        self._restarts = 0
        self._restart_at: float | None = None  # None: no restart is due
        self._last_output = ""
        self.exits = 0

    @property
    def is_ours(self) -> bool:
        """Whether the suite starts and ends the subject."""
        return self._subject is not None

    def launch(self) -> None:
        """Start the subject; one that cannot be started has exited at once."""
        assert self._subject is not None
        self._restart_at = None
        self._tell(Happening.SUBJECT_STARTED)
        try:
            self._running = self._subject.start(self._directories)
        except CannotStartError as error:
            self._last_output = str(error)
            self.exits += 1
            self._tell(Happening.SUBJECT_EXITED, str(error), 125)

    def alive(self) -> bool:
        """Whether it runs, or is going to again; notes its end, and restarts it if that is what the user wants."""
        if not self.is_ours:
            return True
        if self._running is not None and (code := self._running.poll()) is not None:
            self._tell(Happening.SUBJECT_EXITED, _tail(self._running.output()), code)
            self.exits += 1
            self._bury()
            if self._supervise and self._restarts < _MOST_RESTARTS:
                # Later and later: one that exits for want of a kubelet is not worn out before there is one.
                self._restart_at = time.monotonic() + min(0.1 * 2**self._restarts, _LONGEST_PAUSE_SECONDS)
                self._restarts += 1
        if self._restart_at is not None and time.monotonic() >= self._restart_at:
            self._tell(Happening.SUBJECT_RESTARTED, "the suite restarts it, as a DaemonSet would")
            self.launch()
        return self._running is not None or self._restart_at is not None

    @property
    def supervised(self) -> bool:
        """Whether the subject is restarted when it exits."""
        return self._supervise

    def supervise(self, wanted: bool) -> None:
        """Whether the subject is to be restarted when it exits."""
        self._supervise = wanted

    def last_output(self) -> str:
        """The last that it printed, or that the one before it did."""
        return _tail(self._running.output()) if self._running is not None else self._last_output

    def terminate(self) -> None:
        """Send SIGTERM."""
        if self._running is not None:
            self._running.terminate()

    def execute(self, command: str) -> Finished:
        """Run a shell command where the subject runs."""
        try:
            return self._execute(command)
        except (OSError, subprocess.SubprocessError) as error:
            return Finished(_NOT_RUN, str(error))

    def _execute(self, command: str) -> Finished:
        if self._running is not None and self._subject is not None:
            return self._running.execute(self._subject.shell(command), timeout=_COMMAND_SECONDS)
        done = subprocess.run(
            ["sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(errors="replace"))

    def kill(self) -> None:
        """End it, with everything that it started."""
        self._restart_at = None
        if self._running is not None:
            self._bury()

    def _bury(self) -> None:
        assert self._running is not None
        running, self._running = self._running, None
        # Asked for first: of a container that is removed nothing can be read any more.
        self._last_output = _tail(running.output())
        self._recorder.add_output(self._session, running.lines())
        running.__exit__(None, None, None)

    def _tell(self, what: Happening, details: str = "", value: int = 0) -> None:
        self._recorder.add(Happened(self._session, self._recorder.now(), what, details, value))


def _tail(output: str) -> str:
    return "\n".join(output.strip().splitlines()[-15:])[-4000:]
