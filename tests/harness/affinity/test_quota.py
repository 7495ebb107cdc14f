"""Quotas of dedicated CPUs: who counts, what is too much, and what a file may say."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import load
from numaproof.harness.affinity.quota import dedicated, exceeded, quota_amount, quota_text, quotas_from
from numaproof.harness.node.state import affinity
from numaproof.harness.node.state.affinity import AffinityState
from numaproof.harness.pods.pod import Pod
from tests.harness.affinity.sites import DEDICATED, EVERYTHING, NUMA, pod


def asking(cpu: object, namespace: str = "team", *tolerations: dict[str, str], **spec: Any) -> Pod:
    return pod("p", {"cpu": cpu}, tolerations=tolerations or (DEDICATED,), namespace=namespace, **spec)


def test_dedicated_cpus_of_a_namespace_are_those_of_pods_that_name_the_toleration() -> None:
    pods = [
        asking(2),
        asking(3, "team", DEDICATED, cpuAffinity="1-3"),  # bound
        asking(4, "team", EVERYTHING),
        asking(4, "team", NUMA),
        asking(4, "other"),
        pod("plain", {"cpu": 4}, namespace="team"),
    ]
    assert dedicated(pods, "team") == 5
    assert dedicated(pods, "other") == 4
    assert dedicated(pods, "nobody") == 0


@pytest.mark.parametrize(
    ("cpu", "most", "refused"),
    [(1, 3, False), (2, 3, True), (1, 2, True), (1, "2500m", True), (1, 0, True), (1, None, False), (9, "3e3", False)],
)
def test_more_than_the_quota_is_refused(cpu: int, most: Any, refused: bool) -> None:
    quotas = {"other": Fraction(0)} | ({} if most is None else {"team": quota_amount(most, "w")})
    verdict = exceeded(asking(cpu), [asking(2)], quotas)
    assert (verdict is not None) is refused
    if verdict is not None:
        assert (verdict.admitted, verdict.reason) == (False, "ExceededQuota")


def test_the_refusal_has_the_figures_as_kubernetes_tells_them() -> None:
    verdict = exceeded(asking(2), [asking(3)], {"team": Fraction(9, 2)})
    assert verdict is not None
    assert verdict.message == (
        "exceeded quota: team, requested: requests.dedicated-cpu=2, used: requests.dedicated-cpu=3, "
        "limited: requests.dedicated-cpu=4500m"
    )


def test_the_quota_is_nothing_to_pods_that_are_not_dedicated() -> None:
    for tolerations in ((EVERYTHING,), (NUMA,)):
        assert exceeded(asking(2, "team", *tolerations), [], {"team": Fraction(0)}) is None


ONE = "kind: ResourceQuota\nmetadata: {name: q, namespace: team}\nspec: {hard: {requests.dedicated-cpu: 4, pods: 9}}\n"


def read(text: str) -> dict[str, Fraction]:
    return quotas_from(load(text, "quota.yaml"))


def test_a_file_has_one_quota_or_a_list() -> None:
    assert read(ONE) == {"team": 4}
    assert read("kind: ResourceQuota\nspec: {hard: {requests.dedicated-cpu: 2500m}}") == {"default": Fraction(5, 2)}
    assert read("kind: ResourceQuota\nspec: {hard: {pods: 1}}") == {}
    items = ", ".join(
        f"{{kind: ResourceQuota, metadata: {{namespace: {name}}}, spec: {{hard: {{requests.dedicated-cpu: {cpus}}}}}}}"
        for name, cpus in (("a", 4), ("b", 1), ("a", 3), ("a", 5))
    )
    assert read(f"kind: List\nitems: [{items}]") == {"a": 3, "b": 1}  # all of a namespace hold: the least
    assert read("kind: List\nitems: []") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "quota.yaml:1: is not a ResourceQuota; write one with spec.hard: {requests.dedicated-cpu: 4}"),
        ("kind: Pod", "quota.yaml:1: is not a ResourceQuota"),
        ("kind: List\nitems: 4", "quota.yaml:1: items: 4 is not a list"),
        ("kind: List\nitems: [{kind: ResourceQuota}, {kind: Pod}]", "quota.yaml:1: items[1]: is not a ResourceQuota"),
        ("kind: ResourceQuota\nspec: 4", "quota.yaml:1: spec: 4 is not a mapping"),
        ("kind: ResourceQuota\nspec: {hard: 4}", "quota.yaml:1: spec.hard: 4 is not a mapping"),
        ("kind: ResourceQuota\nspec: []", "quota.yaml:1: spec: [] is not a mapping"),
        (
            "kind: ResourceQuota\nmetadata: {namespace: A B}",
            "quota.yaml:1: metadata.namespace: 'A B' is not a namespace",
        ),
        ("kind: ResourceQuota\nmetadata: {namespace: 5}\nspec: {}", "quota.yaml:1: metadata.namespace: 5 is not"),
        (ONE.replace("4", "x"), 'quota.yaml:1: spec.hard.requests.dedicated-cpu: "x" is not a quantity'),
        (ONE.replace("4", "-1"), "quota.yaml:1: spec.hard.requests.dedicated-cpu: -1 is negative"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


def test_amounts_are_to_the_thousandth() -> None:
    assert quota_amount("1500m", "w") == Fraction(3, 2)
    assert quota_amount(2, "w") == 2
    assert quota_amount("1u", "w") == Fraction(1, 1000)
    assert [quota_text(Fraction(n, 1000)) for n in (0, 1, 1500, 4000)] == ["0", "1m", "1500m", "4"]


@pytest.mark.parametrize("text", ["1e300", "9" * 60 + "E", "1e99"])
def test_more_cpus_than_anybody_has_are_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"^w: .* is more than a quantity can be"):
        quota_amount(text, "w")


@pytest.mark.parametrize("text", ["1e17", "9223372036854775807", "123456789012345678.001", "1n", "0"])
def test_every_amount_can_be_written_and_read_again(text: str, tmp_path: Path) -> None:
    state = AffinityState((), {"team": quota_amount(text, "w")})
    file = tmp_path / "affinity_state"
    file.write_text(affinity.dump(state))
    assert affinity.load(file) == state
