"""The pods of a node in memory and on disk: what is answered is durable first, and what is refused leaves nothing."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from numaproof.errors import UserError
from numaproof.harness.decision.config import NodeConfig
from numaproof.harness.decision.managers import Managers
from numaproof.harness.node import saving
from numaproof.harness.node.measures import Measures
from numaproof.harness.node.records import Phase, PodRecord, PodRecords
from numaproof.harness.node.snapshot import Admission
from numaproof.harness.node.state.pods import SavedPod
from numaproof.harness.node.store import NodeState, Store
from numaproof.harness.topology.verdict import ADMITTED, Verdict, unexpected

REMEMBERED_REFUSALS = 1000


class Keeper:
    """Records and their files. Its lock guards managers and records, and is never held while the disk is written."""

    def __init__(
        self, config: NodeConfig, managers: Managers, store: Store, measures: Measures, log: Callable[[str], None]
    ) -> None:
        self.lock = threading.Lock()
        self.records = PodRecords()
        self.refused: OrderedDict[str, Admission] = OrderedDict()  # by uid, oldest first
        self.store = store
        self._config = config
        self._managers = managers
        self._measures = measures
        self._log = log
        self._version = 0

    def save(self) -> None:
        """Bring the managers' files up to date; an OSError if that fails."""
        self.store.save(self._version, self._take)

    def save_now(self) -> None:
        """The same; if it fails, the files say too much, which the next start puts right."""
        try:
            self.save()
        except OSError as error:
            self._log(f"the state files cannot be written: {error}")

    def changed(self) -> None:
        """What the managers hold has changed, and their files have to; the lock is held."""
        self._version += 1

    def commit(self, record: PodRecord, unwelcome: Callable[[], Verdict | None]) -> Verdict:
        """Make an admission durable; the pod is not admitted if that cannot be done, or `unwelcome` at its end."""
        with self.lock:
            self._release_finished(record)
            self._version += 1
            version = self._version
            saved = saving.saved_pod(record)
        try:
            self.store.save(version, self._take)
            self.store.save_pod(saved)
        except OSError as error:
            self._take_file_back(record)
            return unexpected("UnexpectedAdmissionError", f"could not save state to checkpoint: {error}")
        with self.lock:
            refusal = unwelcome()
            if refusal is None:
                record.phase, record.waiting_as = Phase.ADMITTED, None
                self._measures.holdings(self._managers)
        if refusal is not None:
            self._take_file_back(record)
            return refusal
        return ADMITTED

    def wait(self, record: PodRecord) -> None:
        """Have a pod wait to be bound, durably; a UserError if that cannot be done."""
        saved = SavedPod(record.pod, record.manifest, {}, {}, waits=True)
        try:
            self.store.save_pod(saved)
        except OSError as error:
            self._take_file_back(record)
            raise UserError(
                f"pod {record.pod.name}: cannot be written to disk ({error}); mend the disk, try again"
            ) from None
        with self.lock:
            record.phase, record.waiting_as = Phase.PENDING, saved

    def wait_again(self, record: PodRecord) -> None:
        """Have a pod that could not be bound wait as before."""
        assert record.waiting_as is not None
        with self.lock:
            self._managers.remove(record.pod.uid)
            record.release()
            record.pod, record.manifest, record.phase = record.waiting_as.pod, record.waiting_as.manifest, Phase.PENDING
            self._version += 1

    def drop(self, record: PodRecord) -> None:
        """Forget a pod that has no file, and free what it has."""
        with self.lock:
            self._managers.remove(record.pod.uid)
            self.records.drop(record)
            self._version += 1

    def take_away(self, record: PodRecord, before: Phase) -> None:
        """Free all that a pod has, durably; if that cannot be, it is what it was before, and the OSError goes on."""
        try:
            self.store.delete_pod(record.pod.uid)
        except OSError:
            with self.lock:
                record.phase = before
            raise
        self.drop(record)
        self.save_now()
        with self.lock:
            self._measures.holdings(self._managers)

    def remember(self, refusal: Admission) -> None:
        """Keep a refusal to be shown for a while."""
        with self.lock:
            self.refused[refusal.pod.pod.uid] = replace(refusal, trace=None)  # a trace may hold thousands of hints
            if len(self.refused) > REMEMBERED_REFUSALS:
                self.refused.popitem(last=False)

    def _take(self) -> tuple[int, NodeState]:
        with self.lock:
            return self._version, saving.state_of(self._managers, self._config, self.records)

    def _take_file_back(self, record: PodRecord) -> None:
        """See to it that a pod that is not admitted has no file, or the one that it had while it waited; even if the
        writing failed at the very end only.
        """
        try:
            if record.waiting_as is None:
                self.store.delete_pod(record.pod.uid)
            else:
                self.store.save_pod(record.waiting_as)
        except OSError as error:
            self._log(f"the file of pod {record.pod.uid} cannot be taken back: {error}")

    def _release_finished(self, record: PodRecord) -> None:
        """Free the memory of the containers that end before the next one starts."""
        left = dict(record.assignments)
        for container in filter(record.pod.ends, record.pod.all_containers()):
            self._managers.memory.release_init(record.pod.uid, container.name)
            left[container.name] = replace(left[container.name], memory=())
        record.assignments = left
