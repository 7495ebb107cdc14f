"""Making a decision with the managers, which are pure and guarded by a lock, while plugins have to be asked."""

import threading
from collections.abc import Callable
from typing import TypeVar

from numaproof.harness.decision.managers import Managers
from numaproof.harness.node import snapshot
from numaproof.harness.node.questions import Conversation, SwitchboardPort, UnansweredError
from numaproof.harness.providers.devices.port import PreferredPort

T = TypeVar("T")

# So often a decision is made anew because others changed what a plugin was asked about; then the others have to wait.
PATIENCE = 16


class Decider:
    """Runs decisions one at a time under the lock, and asks plugins with the lock free."""

    def __init__(self, lock: threading.Lock, managers: Managers, port: SwitchboardPort, plugins: PreferredPort) -> None:
        self._lock = lock
        self._managers = managers
        self._port = port
        self._plugins = plugins

    def run(self, uid: str, attempt: Callable[[], T]) -> T:
        """What `attempt`, called under the lock, answers about the pod of that uid.

        If it breaks off with a question, what it changed is taken back, the plugin is asked, and it is called again.
        """
        conversation = Conversation(self._plugins)
        attempts = 0
        while True:
            attempts += 1
            with self._lock:
                before = snapshot.before_attempt(self._managers)
                conversation.restart()
                self._port.conversation = conversation
                try:
                    return attempt()
                except UnansweredError as unanswered:
                    snapshot.take_back(self._managers, uid, before)
                    question = unanswered.question
                    if attempts > PATIENCE:
                        conversation.ask(question)
                        continue
                finally:
                    self._port.conversation = None
            conversation.ask(question)
