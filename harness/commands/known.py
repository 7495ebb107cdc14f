"""What the arguments of `numaproof explain` tell of a kubelet: its configuration, who holds what, and its log."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numaproof.harness.decision.config import Setting
from numaproof.harness.decision.kubelet_flags import with_flags
from numaproof.harness.intake.configuration import elsewhere_text, read_with_files
from numaproof.harness.intake.live_state import with_live
from numaproof.harness.intake.log_facts import LogFacts
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.intake.text_file import text_of

if TYPE_CHECKING:
    from numaproof.harness.intake.kubelet_root import KubeletRoot

Settings = dict[str, Setting]


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a kubelet, and what has to be said about it."""

    settings: Settings | None  # None: nobody tells its configuration
    state: KubeletState | None  # None: nobody tells who holds what
    log: LogFacts | None
    notes: tuple[str, ...]


def known_of(config: Sequence[str], kubelet_root: str | None, pod_resources: str | None, log: str | None) -> Known:
    """All of it: what is told nearer counts more: --config, then the kubelet's root, then the log."""
    given, notes, elsewhere = _configuration(config)
    root = _root(kubelet_root) if kubelet_root else None
    settings = root.settings if root else None
    if settings is not None and given is not None and not elsewhere:
        notes.append(f"--config is the configuration; what {kubelet_root} has of one is passed over")
    elif settings is None:
        notes += map(elsewhere_text, elsewhere)
    if given is not None:
        # Flags that name a configuration go with it.
        settings = with_flags(settings, given) if settings and elsewhere else given
    live = _live(pod_resources) if pod_resources else None
    state = with_live(root.state, live) if root and live else live or (root.state if root else None)
    notes += (*(root.notes if root else ()), *(state.notes if state else ()))
    if not log:
        return Known(settings, state, None, tuple(notes))
    facts, told, more = _log(log)
    notes += facts.notes
    if settings is None:
        settings = told or None
        notes += more
    return Known(settings, state, facts, tuple(notes))


def _configuration(config: Sequence[str]) -> tuple[Settings | None, list[str], tuple[str, ...]]:
    """The settings of all files, later ones over earlier ones; notes; configurations that are named and not given."""
    settings: Settings | None = None
    notes: list[str] = []
    named: list[str] = []
    is_given = False
    for name in config:
        found, more, files = read_with_files(text_of(name), name)
        notes += more
        named += files
        is_given |= not files
        if found is not None:
            settings = with_flags(settings or {}, found)
    return settings, notes, () if is_given else tuple(named)


# What not every explanation needs is loaded where it is needed: people wait for the answer.


def _root(path: str) -> "KubeletRoot":
    from numaproof.harness.intake.kubelet_root import read_kubelet_root  # noqa: PLC0415 (as said)

    return read_kubelet_root(path)


def _log(name: str) -> tuple[LogFacts, Settings, tuple[str, ...]]:
    """What a log tells, the configuration among it, and what has to be said of that."""
    from numaproof.harness.intake.kubelet_log import read_kubelet_log  # noqa: PLC0415 (as said)
    from numaproof.harness.intake.log_settings import settings_of_log  # noqa: PLC0415 (as said)

    text = text_of(name)
    facts = read_kubelet_log(text, name)
    return facts, *settings_of_log(facts, text, name)


def _live(socket: str) -> KubeletState:
    from numaproof.harness.intake.pod_resources import read_pod_resources  # noqa: PLC0415 (as said)

    return read_pod_resources(socket)
