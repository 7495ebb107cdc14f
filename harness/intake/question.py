"""A question about a pod on a node, put together and answered: what the command, the playground and its API share."""

from dataclasses import dataclass

from numaproof.fake_sysfs import Machine
from numaproof.harness.explain.beside import Beside
from numaproof.harness.explain.explanation import Explanation, explain
from numaproof.harness.intake.assembly import Devices, Settings, assemble
from numaproof.harness.intake.log_comparison import comparison_lines
from numaproof.harness.intake.log_facts import LogFacts
from numaproof.harness.intake.newcomer import newcomer
from numaproof.harness.intake.state import KubeletState
from numaproof.harness.pods.pod import Pod
from numaproof.harness.vocabulary import Semantics


@dataclass(frozen=True, slots=True)
class Question:
    """A pod, and what is known of the node."""

    pod: Pod
    machine: Machine
    settings: Settings | None = None  # None: nobody tells its configuration
    devices: Devices | None = None  # None: nobody tells what plugins offer
    running: tuple[Pod, ...] = ()  # in the order in which they came
    state: KubeletState | None = None  # None: nobody tells who holds what
    log: LogFacts | None = None
    notes: tuple[str, ...] = ()  # what has to be said of how the rest was read
    semantics: Semantics = "current"


@dataclass(frozen=True, slots=True)
class Answer:
    """The explanation, and what is said beside it."""

    explanation: Explanation
    machine: Machine
    beside: Beside
    log: LogFacts | None = None  # that was compared


def answer(question: Question, *, remedies: bool = True, matrix: bool = True) -> Answer:
    """Why the node decides as it does; what would help and the other policies take longest, and may be left out."""
    asked = sorted({name for container in question.pod.all_containers() for name in container.limits})
    node = assemble(
        question.machine,
        question.settings,
        question.devices,
        question.running,
        state=question.state,
        asked=asked,
        semantics=question.semantics,
    )
    pod, again = newcomer(node, question.pod)
    explanation = explain(node.replica, pod, node.history, remedies=remedies, matrix=matrix)
    beside = Beside(
        node.obstacles,
        tuple(dict.fromkeys((*question.notes, *node.assumptions, *again))),
        tuple(comparison_lines(question.log, pod, explanation.trace)) if question.log else (),
    )
    return Answer(explanation, question.machine, beside, question.log)
