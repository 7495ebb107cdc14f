"""What every kind of step has: how it is read, what must hold before a start, and what it does."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.fake_sysfs.forms import Form
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.scenario.outcome import Outcome
from numaproof.harness.scenario.pods import PodSpec
from numaproof.harness.scenario.rig import Rig
from numaproof.harness.scenario.sizes import Sizes
from numaproof.near import did_you_mean

NAME = Form({"type": "string", "minLength": 1})  # of a pod, or of what else the scenario has named


@dataclass(slots=True)
class Known:
    """What a scenario has named before a step; a step that names anything else is refused, before anything runs."""

    devices: Mapping[str, frozenset[str]]  # resource that is offered -> ids of its devices; empty: known on a machine
    pods: dict[str, PodSpec] = field(default_factory=dict)  # name -> what was given to the node last

    def check_resource(self, name: str, where: Where) -> str:
        """The name of a resource that a plugin of the scenario offers."""
        if name not in self.devices:
            offered = ", ".join(sorted(self.devices)) or "none"
            meant = did_you_mean(name, self.devices)
            raise UserError(f"{where}: no plugin here offers {name} (offered: {offered}){meant}")
        return name

    def check_pod(self, name: Any, where: Where) -> str:
        """The name of a pod that an earlier step admits."""
        if not isinstance(name, str) or name not in self.pods:
            given = ", ".join(sorted(self.pods)) or "none"
            meant = did_you_mean(name, self.pods)
            raise UserError(f"{where}: no step before admits a pod {name!r} (admitted: {given}){meant}")
        return name


@dataclass(slots=True)
class Story:
    """A scenario while it runs: its rig, its machine, what the pods that were admitted must keep, and who must wait."""

    rig: Rig
    machine: Machine
    sizes: Sizes
    pods: dict[str, Outcome] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)  # the pods that the node must keep, without giving them anything

    def decided(self, pod: PodSpec, outcome: Outcome) -> None:
        """Remember what the node answered about a pod: what it got it must keep, and if it waits it must wait on."""
        if outcome.admitted:
            kept = {name: given for name, given in outcome.containers.items() if name in pod.lasting}
            self.pods[pod.name] = replace(outcome, containers=kept)
            self.waiting.discard(pod.name)
        elif outcome.waits:
            self.waiting.add(pod.name)

    def gone(self, name: str) -> None:
        """Expect no more of a pod."""
        self.pods.pop(name, None)
        self.waiting.discard(name)

    def held(self) -> Outcome:
        """What all pods hold together, by `pod/container`."""
        return Outcome(
            True,
            containers={f"{pod}/{name}": one for pod, got in self.pods.items() for name, one in got.containers.items()},
        )


@dataclass(frozen=True, slots=True)
class Done:
    """What a step led to."""

    outcome: Outcome
    wrong: tuple[str, ...] = ()  # what the step itself saw that should not be


class Action(ABC):
    """What a step does."""

    __slots__ = ()
    name: ClassVar[str]  # its key in a scenario
    form: ClassVar[Form]  # of what stands there
    must_expect: ClassVar[bool] = False  # a step of this kind without `expect` shows nothing
    restarts_node: ClassVar[bool] = False  # so that the node may refuse to start again
    changes_machine: ClassVar[bool] = False  # so that its tree cannot be shared
    starts_containers: ClassVar[bool] = False  # which not every runtime can
    evicts: ClassVar[bool] = False  # so that pods may go by it

    @property
    def needs_offer(self) -> str:
        """What the node under test must offer for it; empty: nothing."""
        return ""

    @property
    def about(self) -> PodSpec | None:
        """The pod that the node decides about; None: no single one."""
        return None

    def named_nodes(self) -> Iterator[int]:
        """The NUMA nodes that it names, by their positions."""
        return iter(())

    @classmethod
    @abstractmethod
    def parse(cls, value: Any, where: Where, known: Known) -> Self:
        """The action of what stands at its key; a UserError if that cannot be, or names what is not known."""

    @abstractmethod
    def act(self, story: Story, where: str) -> Done:
        """Do it."""

    @abstractmethod
    def told(self, story: Story, where: str) -> str:
        """What it is about to do, in words."""

    def explain(self, story: Story, where: str) -> list[str]:
        """Why the node did what it did, in lines, when that is not what was expected."""
        return []
