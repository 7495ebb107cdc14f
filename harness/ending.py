"""Signals that end a command as Ctrl-C does: every `with` is left, everything is cleaned, and then one line says so."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def name_of(number: int) -> str:
    """A signal as people know it."""
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


class Ending:
    """The signal that ended a process; it raises a KeyboardInterrupt, which every library lets pass."""

    def __init__(self, *, patient: bool = False) -> None:
        self.signal: signal.Signals | None = None  # None: none has come
        self._patient = patient  # whether nothing cuts the cleaning short
        self._count = 0

    def __call__(self, number: int, _frame: FrameType | None) -> None:
        self._count += 1
        if self.signal is None:
            self.signal = signal.Signals(number)
            raise KeyboardInterrupt
        # While all is cleaned another one is passed over: make and `timeout` signal a process, then its whole group.
        # Who goes on does not want to wait.
        if self.is_cut_short:
            raise KeyboardInterrupt

    @property
    def is_cut_short(self) -> bool:
        """Whether cleaning was interrupted as well."""
        return self._count > 2 and not self._patient

    @property
    def code(self) -> int:
        """The exit code: that of any program which the signal ended."""
        return 128 + (self.signal or signal.SIGINT)

    def __str__(self) -> str:
        name = name_of(self.signal or signal.SIGINT)
        if self.is_cut_short:
            return f"{name}, and again while it cleaned; numaproof clean removes what is left"
        return f"{name}; nothing is left behind"


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """As long as it lasts, signals raise a KeyboardInterrupt; but for those that whoever started us had ignored."""
    ending = Ending()
    before = {}
    if threading.current_thread() is threading.main_thread():  # no other may say what a signal does
        for number in _ENDING:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, ending)
    try:
        yield ending
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def held_back() -> Iterator[list[int]]:
    """As long as it lasts, a signal that would end the command is only noted; the first one takes effect at the end."""
    noted: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, lambda caught, _frame: noted.append(caught))
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if noted:
        signal.raise_signal(noted[0])


def end_as_told() -> None:
    """From now on any of the signals ends this process as Ctrl-C does, once; who started it says so, or kills it."""
    ending = Ending(patient=True)
    for number in _ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, ending)
