"""A question that is told in texts alone: each is read by the reader that the command uses, and no file is opened."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import TypeVar

from numaproof.errors import UserError
from numaproof.fake_sysfs.pasted_machine import machine_of_text
from numaproof.fake_sysfs.strict_yaml import load_all
from numaproof.harness.intake.configuration import read_configuration
from numaproof.harness.intake.manifests import distinct, pods_among, the_pod
from numaproof.harness.intake.plugins_file import read_plugins
from numaproof.harness.intake.question import Question
from numaproof.harness.pods.pod import Pod
from numaproof.harness.vocabulary import Semantics

T = TypeVar("T")
FIELDS = ("machine", "config", "plugins", "running", "pod")


@dataclass(frozen=True, slots=True)
class Texts:
    """What somebody pasted; an empty text: nothing is told."""

    machine: str = ""
    config: str = ""
    plugins: str = ""
    running: str = ""
    pod: str = ""
    semantics: Semantics = "current"

    def as_dict(self) -> dict[str, str]:
        """By the names of the fields."""
        return asdict(self)


class PastedError(UserError):
    """What is wrong with the texts, by their fields; of each the first fault in a line."""

    def __init__(self, faults: dict[str, str]) -> None:
        super().__init__("; ".join(faults.values()))
        self.faults = faults


def question_of(texts: Texts) -> Question:
    """The question that texts make; a PastedError names every field that cannot be read."""
    faults: dict[str, str] = {}

    def read(field: str, reader: Callable[[], T]) -> T | None:
        try:
            return reader()
        except UserError as error:
            faults[field] = str(error)
            return None

    machine = read("machine", lambda: machine_of_text(texts.machine, "machine"))
    config = read("config", lambda: read_configuration(texts.config, "config")) if texts.config.strip() else None
    nodes = machine.cpus_by_node() if machine else None
    plugins = read("plugins", lambda: read_plugins(texts.plugins, "plugins", nodes)) if texts.plugins.strip() else None
    found = read("running", lambda: tuple(_running(texts.running))) if texts.running.strip() else ()
    pod = read("pod", lambda: the_pod(_pods(texts.pod, "pod"), "pod", "among the running ones"))
    if machine is None or pod is None or faults:
        raise PastedError(faults)
    settings, notes = config or (None, ())
    devices, unplaced = plugins or (None, ())
    return Question(pod, machine, settings, devices, found or (), notes=(*notes, *unplaced), semantics=texts.semantics)


def field_of(error: UserError) -> str:
    """The field that a fault of the whole belongs to, by the place that its text begins with; else the configuration's,
    as what can be said of all of it together is which settings a machine can have.
    """
    text = str(error).removeprefix("the ")
    return next((one for one in FIELDS if text.startswith((f"{one}:", f"{one} "))), "config")


def _running(text: str) -> Iterator[Pod]:
    return distinct(_pods(text, "running", running=True), "running", "give each a name and uid of its own")


def _pods(text: str, name: str, *, running: bool = False) -> Iterator[Pod]:
    return pods_among(load_all(text, name), name, templates=True, running=running)
