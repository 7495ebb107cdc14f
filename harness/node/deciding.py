"""Making a decision with the managers, which are pure and guarded by a lock, while plugins have to be asked."""

import threading
from collections.abc import Callable
from typing import TypeVar

from numaproof.harness.decision.managers import Managers
from numaproof.harness.node.questions import Conversation, SwitchboardPort, UnansweredError
from numaproof.harness.providers.devices.port import PreferredPort

T = TypeVar("T")

# How often a decision is made again because others changed what a plugin was asked about; then the others have to wait.
PATIENCE = 16


class Decider:
    """Runs decisions one at a time under the lock, and asks plugins with the lock free."""

    def __init__(self, lock: threading.Lock, managers: Managers, port: SwitchboardPort, plugins: PreferredPort) -> None:
        self._lock = lock
        self._managers = managers
        self._port = port
        self._plugins = plugins

    def run(self, attempt: Callable[[], T], *, keep: bool) -> T:
        """What `attempt`, called under the lock, answers; what it changed is taken back unless it is to be kept.

        If it breaks off with a question, what it changed is taken back, the plugin is asked, and it is called again.
        """
        conversation = Conversation(self._plugins)
        attempts = 0
        while True:
            attempts += 1
            with self._lock:
                try:
                    return self._try(attempt, conversation, keep=keep)
                except UnansweredError as unanswered:
                    question = unanswered.question
                if attempts > PATIENCE:
                    conversation.ask(question)
                    continue
            conversation.ask(question)

    def _try(self, attempt: Callable[[], T], conversation: Conversation, *, keep: bool) -> T:
        checkpoint = self._managers.checkpoint()
        conversation.restart()
        self._port.conversation = conversation
        kept = False
        try:
            answer = attempt()
            kept = keep
            return answer
        finally:
            self._port.conversation = None
            if not kept:
                self._managers.rollback(checkpoint)
