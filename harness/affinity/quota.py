"""How many dedicated CPUs the pods of a namespace may have together."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Final

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Document
from numaproof.harness.pods.affinity import is_dedicated, requested
from numaproof.harness.pods.pod import Pod
from numaproof.harness.pods.quantity import milli_value, parse_amount
from numaproof.harness.resource_names import is_domain
from numaproof.harness.topology.verdict import Verdict

RESOURCE: Final = "requests.dedicated-cpu"  # the proposal gives no name

_LONGEST_TOLD: Final = 60  # characters of a text that a message repeats
Quotas = Mapping[str, Fraction]  # CPUs, by namespace; a namespace without one may have any number


def exceeded(pod: Pod, others: Iterable[Pod], quotas: Quotas) -> Verdict | None:
    """The refusal of a pod for which its namespace has too few dedicated CPUs left; pods that wait count too."""
    if not is_dedicated(pod) or pod.namespace not in quotas:
        return None
    used = dedicated(others, pod.namespace)
    asked, most = requested(pod, "cpu"), quotas[pod.namespace]
    if used + asked <= most:
        return None
    parts = {"requested": asked, "used": used, "limited": most}
    figures = ", ".join(f"{part}: {RESOURCE}={quota_text(amount)}" for part, amount in parts.items())
    return Verdict(False, "ExceededQuota", f"exceeded quota: {pod.namespace}, {figures}")


def quotas_from(document: Document) -> dict[str, Fraction]:
    """The quotas of a file: a ResourceQuota, or a List of them; what they say of other resources has no effect."""
    value = document.value
    items = value.get("items", []) if isinstance(value, Mapping) and value.get("kind") == "List" else [value]
    if not isinstance(items, list):
        raise UserError(f"{document.where}: items: {items!r} is not a list; write ResourceQuotas")
    found: dict[str, Fraction] = {}
    for index, item in enumerate(items):
        where = f"{document.where}" if len(items) == 1 else f"{document.where}: items[{index}]"
        namespace, amount = _quota(item, where)
        if amount is not None:
            found[namespace] = min(amount, found.get(namespace, amount))
    return found


def _quota(item: Any, where: str) -> tuple[str, Fraction | None]:
    if not isinstance(item, Mapping) or item.get("kind") != "ResourceQuota":
        raise UserError(f"{where}: is not a ResourceQuota; write one with spec.hard: {{{RESOURCE}: 4}}")
    metadata = _mapping(item.get("metadata"), f"{where}: metadata")
    hard = _mapping(_mapping(item.get("spec"), f"{where}: spec").get("hard"), f"{where}: spec.hard")
    namespace = checked_namespace(metadata.get("namespace", "default"), f"{where}: metadata.namespace")
    if RESOURCE not in hard:
        return namespace, None
    return namespace, quota_amount(hard[RESOURCE], f"{where}: spec.hard.{RESOURCE}")


def _mapping(found: Any, where: str) -> Mapping[str, Any]:
    if found is not None and not isinstance(found, Mapping):
        raise UserError(f"{where}: {found!r} is not a mapping; write a ResourceQuota")
    return found or {}


def checked_namespace(name: Any, where: str) -> str:
    """The namespace itself; a UserError if it cannot be one."""
    if not isinstance(name, str) or not is_domain(name):
        told = repr(name)[:_LONGEST_TOLD]
        raise UserError(f"{where}: {told} is not a namespace; write lower-case letters, digits and dashes")
    return name


def quota_amount(text: Any, where: str) -> Fraction:
    """A number of CPUs, to the thousandth."""
    return Fraction(milli_value(parse_amount(text, where)), 1000)


def dedicated(pods: Iterable[Pod], namespace: str) -> Fraction:
    """The dedicated CPUs that the pods of a namespace have, or will have once they are bound."""
    return sum((requested(one, "cpu") for one in pods if one.namespace == namespace and is_dedicated(one)), Fraction())


def quota_text(amount: Fraction) -> str:
    """A number of CPUs as a Kubernetes quantity."""
    return str(amount.numerator) if amount.denominator == 1 else f"{milli_value(amount)}m"
