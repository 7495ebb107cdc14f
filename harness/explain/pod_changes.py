"""What a pod could ask for instead."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate

from numaproof.harness.explain.amounts import amount_text, quantity, short_amount
from numaproof.harness.explain.blame import Blame
from numaproof.harness.explain.change import Change
from numaproof.harness.explain.replica import Replica
from numaproof.harness.explain.stock import CPU
from numaproof.harness.pods.pod import Container, Pod
from numaproof.harness.pods.qos import is_pinned
from numaproof.harness.pods.quantity import parse_quantity, value
from numaproof.harness.providers.cpu.requests import exclusive_cpus
from numaproof.harness.providers.cpu.topology import Level
from numaproof.harness.providers.memory.state import MEMORY

_MIB = 1 << 20
_MOST_MORE = 2  # times as many CPUs: nobody wants 65 instead of 2


@dataclass(frozen=True, slots=True)
class Shrinking:
    """Asking for less of a resource, in one container: some amounts to try first, and the step between amounts."""

    container: Container
    resource: str
    now: int
    first: tuple[int, ...]  # largest first, all below `now`
    unit: int  # amounts are multiples of it

    def change(self, pod: Pod, amount: int) -> Change:
        """To ask for so much instead."""
        name, resource = self.container.name, self.resource
        text = f"ask for {amount_text(resource, amount)} instead of {short_amount(resource, self.now)}"
        asked = {resource: _quantity(resource, amount)}
        return Change(
            f"{text} in container {name}",
            {"pod": {name: asked}},
            pod=asking(pod, name, {resource: Fraction(amount)}),
        )


def shrinking(replica: Replica, pod: Pod, blame: Blame) -> Shrinking | None:
    """How the pod could ask for less of what is to blame; None: it cannot."""
    missing = _missing(blame)
    resource = blame.stock.resource if blame.stock else blame.resource
    asking_most = sorted(
        (one for one in pod.all_containers() if blame.container in ("", one.name) and _asked(pod, one, resource)),
        key=lambda one: -_asked(pod, one, resource),
    )
    if not missing or not asking_most or (blame.shortage is not None and not is_pinned(pod)):
        return None
    container = asking_most[0]
    now = _asked(pod, container, resource)
    unit = _unit(replica, resource)
    amounts = {(now - one) // unit * unit for one in (*missing, 1)} | {unit}
    first = sorted((one for one in amounts if unit <= one < now), reverse=True)
    return Shrinking(container, resource, now, tuple(first), unit) if first else None


def _missing(blame: Blame) -> set[int]:
    """By how much the request is too large: for NUMA nodes, one or the richest together, or the node as a whole."""
    if blame.shortage is not None:
        over = blame.shortage.requested - (blame.shortage.capacity - blame.shortage.used)
        return {-(-over // 1000) if blame.resource == CPU else over}
    stock = blame.stock
    if stock is None:
        return set()
    together = accumulate(sorted(stock.free.values(), reverse=True))
    return {stock.wanted - free for free in (*stock.free.values(), *together) if free < stock.wanted}


def fitting(replica: Replica, pod: Pod, blame: Blame) -> Iterator[Change]:
    """To ask for just so much less that the node as a whole has enough, of what `shrinking` does not know: requests
    that are not limits, and parts of CPUs.
    """
    short = blame.shortage
    if short is None:
        return
    resource = short.resource
    over = Fraction(short.requested - (short.capacity - short.used), 1000 if resource == CPU else 1)
    unit = Fraction(1, 1000) if resource == CPU else Fraction(_unit(replica, resource))
    asking_most = sorted(pod.all_containers(), key=lambda one: -one.requests.get(resource, Fraction(0)))
    for container in asking_most:
        now = container.requests.get(resource, Fraction(0))
        less = (now - over) // unit * unit
        if less <= 0 or (is_pinned(pod) and (resource != CPU or exclusive_cpus(pod, container))):
            continue
        asked = f"{less * 1000}m" if resource == CPU else _quantity(resource, value(less))
        texts = [
            f"{float(one * 1000):g}m CPUs" if resource == CPU else amount_text(resource, value(one))
            for one in (less, now)
        ]
        yield Change(
            f"ask for {texts[0]} instead of {texts[1]} in container {container.name}, as request and limit",
            {"pod": {container.name: {resource: asked}}},
            asking(pod, container.name, {resource: Fraction(less)}),
        )


def whole_cores(replica: Replica, pod: Pod) -> Iterator[Change]:
    """To ask for as many CPUs as fill whole cores, more or fewer."""
    per_core = replica.managers.cpu.topology.cpus_per_core
    if not replica.managers.cpu.options.full_cores_only:
        return
    odd = {one.name: count for one in pod.all_containers() if (count := exclusive_cpus(pod, one)) % per_core}
    for more in (per_core, 0) if odd else ():
        changed, asked, texts = pod, {}, []
        for name, count in odd.items():
            amount = count - count % per_core + more
            if amount:
                changed = asking(changed, name, {CPU: Fraction(amount)})
                asked[name] = {CPU: str(amount)}
                texts.append(f"{amount} CPUs instead of {count} in container {name}")
        if texts:
            yield Change(f"ask for whole cores: {', '.join(texts)}", {"pod": asked}, changed)


def wider(replica: Replica, pod: Pod, blame: Blame) -> Iterator[Change]:
    """To ask for just so many more CPUs that they need more NUMA nodes, as others do; twice as many at most."""
    groups = replica.managers.cpu.topology.groups[Level.NODE].values()
    sizes = sorted((group.bit_count() for group in groups), reverse=True)
    unit = _unit(replica, CPU)
    for container in pod.all_containers():
        now = exclusive_cpus(pod, container)
        if not now or blame.container not in ("", container.name):
            continue
        for count in range(1, len(sizes)):
            amount = -(-(sum(sizes[:count]) + 1) // unit) * unit
            if now < amount <= now * _MOST_MORE:
                yield Change(
                    f"ask for {amount} CPUs instead of {now} in container {container.name}: they need "
                    f"{count + 1} NUMA nodes then",
                    {"pod": {container.name: {CPU: str(amount)}}},
                    asking(pod, container.name, {CPU: Fraction(amount)}),
                )


def sharing(replica: Replica, pod: Pod, blame: Blame) -> Iterator[Change]:
    """To give CPUs of its own up: CPUs have no say then in where the container is."""
    for container in pod.containers:
        count = exclusive_cpus(pod, container)
        if count and blame.container in ("", container.name) and replica.managers.cpu.allocatable:
            asked = f"{count * 1000 - 100}m"
            yield Change(
                f"do without CPUs of its own: ask for {asked} CPUs instead of {count} in container {container.name}",
                {"pod": {container.name: {CPU: asked}}},
                asking(pod, container.name, {CPU: Fraction(count) - Fraction(1, 10)}),
            )


def sharing_init(replica: Replica, pod: Pod) -> Iterator[Change]:
    """To have init containers run on shared CPUs: they leave nothing then that others must cover."""
    changed, asked = pod, {}
    for container in filter(pod.ends, pod.init_containers):
        count = exclusive_cpus(pod, container)
        if count:
            amount = Fraction(count) - Fraction(1, 10)
            asked[container.name] = {CPU: f"{count * 1000 - 100}m"}
            changed = asking(changed, container.name, {CPU: amount})
    if asked:
        which = ", ".join(f"{name} {one[CPU]}" for name, one in asked.items())
        yield Change(f"let init containers share CPUs: ask for part of a CPU less ({which})", {"pod": asked}, changed)


def matching_init(replica: Replica, pod: Pod) -> Iterator[Change]:
    """To have init containers ask for as many CPUs as the container with most: it takes over all that they leave."""
    most = max((exclusive_cpus(pod, one) for one in pod.containers), default=0)
    changed, asked = pod, {}
    for container in filter(pod.ends, pod.init_containers):
        if 0 < exclusive_cpus(pod, container) < most:
            asked[container.name] = {CPU: str(most)}
            changed = asking(changed, container.name, {CPU: Fraction(most)})
    if asked:
        yield Change(f"ask for {most} CPUs in init container {', '.join(asked)}, too", {"pod": asked}, changed)


def guaranteed(replica: Replica, pod: Pod) -> Iterator[Change]:
    """To have CPUs of its own: whole CPUs, and limits equal to requests in every container."""
    if pod.resources is not None:
        return
    changed, asked = pod, {}
    for container in pod.all_containers():
        own: dict[str, Fraction] = {}
        for resource in (CPU, MEMORY):
            amount = max(container.requests.get(resource, Fraction(0)), container.limits.get(resource, Fraction(0)))
            if not amount:
                return  # nobody knows how much it needs
            own[resource] = Fraction(value(amount)) if resource == CPU else amount
        changed = asking(changed, container.name, own)
        asked[container.name] = {name: _quantity(name, value(amount)) for name, amount in own.items()}
    which = "; ".join(f"{name}: {_listed(one)}" for name, one in asked.items())
    yield Change(f"make it Guaranteed, with whole CPUs: limits equal to requests ({which})", {"pod": asked}, changed)


def asking(pod: Pod, name: str, amounts: Mapping[str, Fraction]) -> Pod:
    """The pod with other amounts, as request and limit, in one container."""

    def changed(container: Container) -> Container:
        if container.name != name:
            return container
        return replace(container, requests={**container.requests, **amounts}, limits={**container.limits, **amounts})

    return replace(
        pod,
        init_containers=tuple(map(changed, pod.init_containers)),
        containers=tuple(map(changed, pod.containers)),
    )


def _asked(pod: Pod, container: Container, resource: str) -> int:
    if resource == CPU:
        return exclusive_cpus(pod, container)
    return value(container.limits.get(resource, container.requests.get(resource, Fraction(0))))


def _unit(replica: Replica, resource: str) -> int:
    cpu = replica.managers.cpu
    if resource == CPU:
        return cpu.topology.cpus_per_core if cpu.options.full_cores_only else 1
    if resource == MEMORY:
        return _MIB
    return value(parse_quantity(resource.removeprefix("hugepages-"))) if resource.startswith("hugepages-") else 1


def _quantity(resource: str, amount: int) -> str:
    """An amount as a manifest has it."""
    return quantity(amount) if resource == MEMORY else str(amount)


def _listed(asked: Mapping[str, str]) -> str:
    return ", ".join(f"{resource} {amount}" for resource, amount in asked.items())
