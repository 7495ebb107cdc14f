"""Changing the node's taints and quotas while it runs, and ending the pods that do not tolerate a new taint."""

import threading
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

from numaproof.errors import UserError
from numaproof.harness.api import numaproof_v1_pb2 as api
from numaproof.harness.node.encode.control import pod_message, verdict_message
from numaproof.harness.node.events import EventLog
from numaproof.harness.node.house_rules import HouseRules, changed_quotas, changed_taints
from numaproof.harness.node.keeping import Keeper
from numaproof.harness.node.records import Phase
from numaproof.harness.node.snapshot import Admission, PodView
from numaproof.harness.node.state.affinity import AffinityState
from numaproof.harness.pods.taints import Taint

EVICTED = "Evicted"  # the reason of a pod that had to go


class Tainter:
    """One change after the other; each is durable when it is answered."""

    def __init__(self, keeper: Keeper, rules: HouseRules, events: EventLog, log: Callable[[str], None]) -> None:
        self._changing = threading.Lock()
        self._keeper = keeper
        self._rules = rules
        self._events = events
        self._log = log

    def change_taints(self, add: Iterable[Taint], remove: Iterable[Taint]) -> tuple[tuple[Taint, ...], tuple[str, ...]]:
        """Change the node's taints; pods that do not tolerate a new one are gone when this returns.

        The answer is what taints there are now, and the uids of those pods.
        """
        gone = tuple(remove)
        with self._changing:
            taints = self._rules.state.taints
            for one in gone:
                if not any(one.key == other.key and one.effect in ("", other.effect) for other in taints):
                    there = ", ".join(map(str, taints)) or "none"
                    raise UserError(f"taint {one.key}: is not there to be removed (there is: {there})")
            now = changed_taints(taints, add, gone)
            self._change(replace(self._rules.state, taints=now))
        self._events.add(api.Event(kind=api.TAINTED, message=", ".join(map(str, now))))
        return now, self.evict_unwelcome()

    def set_quota(self, namespace: str, amount: Fraction | None) -> None:
        """Limit the dedicated CPUs of a namespace (None: no longer); pods that are here stay."""
        with self._changing:
            state = self._rules.state
            self._change(replace(state, quotas=changed_quotas(state.quotas, namespace, amount)))

    def _change(self, state: AffinityState) -> None:
        try:
            self._keeper.store.save_affinity(state)
        except OSError as error:
            raise UserError(f"taints and quotas cannot be written ({error}); mend the disk, try again") from None
        with self._keeper.lock:
            self._rules.state = state

    def evict_unwelcome(self) -> tuple[str, ...]:
        """Remove the pods that do not tolerate a taint of the node, and tell their uids.

        Those on their way are not touched: whoever brings them looks again when they arrive.
        """
        doomed = []
        with self._keeper.lock:
            for record in self._keeper.records:
                unwelcome = self._rules.unwelcome(record.pod)
                if unwelcome is not None and record.phase in (Phase.ADMITTED, Phase.PENDING):
                    doomed.append((record, record.phase, replace(unwelcome, reason=EVICTED)))
                    record.phase = Phase.REMOVING
        evicted = []
        for record, before, verdict in doomed:
            try:
                self._keeper.take_away(record, before)
            except OSError as error:
                self._log(f"pod {record.pod.name}: cannot be evicted ({error}); remove it when the disk is mended")
                continue
            view = PodView(record.pod, record.manifest)
            self._keeper.remember(Admission(verdict, view))
            told = verdict_message(verdict)
            self._events.add(api.Event(kind=api.EVICTED, pod=pod_message(view), verdict=told, message=verdict.message))
            evicted.append(record.pod.uid)
        return tuple(evicted)
