"""The kinds of step by their keys; a new kind is a file beside this one, and a line here."""

from numaproof.harness.scenario.steps.action import Action
from numaproof.harness.scenario.steps.admit import Admit
from numaproof.harness.scenario.steps.bind import Bind
from numaproof.harness.scenario.steps.health import Health
from numaproof.harness.scenario.steps.look import Look
from numaproof.harness.scenario.steps.lose import Lose
from numaproof.harness.scenario.steps.offline import Offline
from numaproof.harness.scenario.steps.quota import Quota
from numaproof.harness.scenario.steps.remove import Remove
from numaproof.harness.scenario.steps.restart import Restart
from numaproof.harness.scenario.steps.start import Start
from numaproof.harness.scenario.steps.stop import Stop
from numaproof.harness.scenario.steps.taint import Taint

_ALL: tuple[type[Action], ...] = (
    Admit,
    Bind,
    Taint,
    Quota,
    Remove,
    Restart,
    Stop,
    Lose,
    Health,
    Offline,
    Look,
    Start,
)
KINDS: dict[str, type[Action]] = {kind.name: kind for kind in _ALL}
