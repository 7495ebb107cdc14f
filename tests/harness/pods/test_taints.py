"""Taints and tolerations match as in Kubernetes, and what is wrong with one is said with its field."""

from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.pods.taints import (
    ALL_THREE,
    ENFORCED,
    SCHEDULED,
    Taint,
    taint_from_text,
    taints_from,
    tolerations_from,
    untolerated,
)

GPU_ONLY = Taint("gpu", "yes", "NoSchedule")

# Worked out from the API's own words (kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration): keys and
# effects are the same, and the operator is Exists, or it is Equal and the values are the same; an empty key with Exists
# matches all keys and values, an empty effect all effects.
MATCHES: tuple[tuple[dict[str, Any], bool], ...] = (
    ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}, True),
    ({"key": "gpu", "value": "yes", "effect": "NoSchedule"}, True),
    ({"key": "gpu", "operator": "", "value": "yes", "effect": "NoSchedule"}, True),
    ({"key": "gpu", "operator": None, "value": "yes", "effect": None}, True),
    ({"key": "gpu", "operator": "Equal", "value": "yes"}, True),
    ({"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}, True),
    ({"key": "gpu", "operator": "Exists"}, True),
    ({"operator": "Exists"}, True),
    ({"key": "", "operator": "Exists", "effect": ""}, True),
    ({"operator": "Exists", "effect": "NoSchedule"}, True),
    ({"operator": "Exists", "effect": "NoExecute"}, False),
    ({"key": "gpu", "operator": "Exists", "effect": "NoExecute"}, False),
    ({"key": "gpu", "operator": "Exists", "effect": "PreferNoSchedule"}, False),
    ({"key": "gpu", "operator": "Exists", "effect": ALL_THREE}, False),
    ({"key": "gpu", "value": "no", "effect": "NoSchedule"}, False),
    ({"key": "gpu", "value": ""}, False),
    ({"key": "gpu"}, False),
    ({"key": "GPU", "operator": "Exists"}, False),
    ({"key": "gp", "operator": "Exists"}, False),
    ({"key": "nic", "operator": "Exists"}, False),
    ({"key": "nic", "value": "yes"}, False),
)


@pytest.mark.parametrize(("entry", "expected"), MATCHES)
def test_a_toleration_matches_as_in_kubernetes(entry: dict[str, Any], expected: bool) -> None:
    (toleration,) = tolerations_from([entry], "spec.tolerations")
    assert toleration.matches(GPU_ONLY) is expected


def test_a_taint_without_a_value_is_matched_by_one_without() -> None:
    (toleration,) = tolerations_from([{"key": "gpu"}], "t")
    assert toleration.matches(Taint("gpu", "", "NoExecute"))
    assert not toleration.matches(Taint("gpu", "yes", "NoExecute"))


DEDICATED = Taint("CPUAffinity", "dedicated", ALL_THREE)
STRICT = Taint("NUMACPUAffinity", "strict", ALL_THREE)


def test_the_first_taint_that_nobody_tolerates_is_told_and_only_of_these_effects() -> None:
    soft, hard = Taint("a", "", "PreferNoSchedule"), Taint("b", "", "NoExecute")
    assert untolerated([soft, GPU_ONLY, hard, DEDICATED], (), ENFORCED) == hard
    assert untolerated([soft, GPU_ONLY, hard, DEDICATED], (), SCHEDULED) == GPU_ONLY
    assert untolerated([soft, GPU_ONLY], (), ENFORCED) is None
    assert untolerated([soft], (), SCHEDULED) is None
    some = tolerations_from([{"key": "b", "operator": "Exists"}, {"key": "CPUAffinity", "value": "dedicated"}], "t")
    assert untolerated([hard, DEDICATED], some, ENFORCED) is None
    assert untolerated([hard, DEDICATED, STRICT], some, ENFORCED) == STRICT
    assert untolerated([], (), ENFORCED) is None


@pytest.mark.parametrize("operator", ["Exists", "Equal"])
def test_the_proposals_other_name_is_taken_for_the_taints(operator: str) -> None:
    value = {"value": "strict"} if operator == "Equal" else {}
    (toleration,) = tolerations_from([{"key": "NUMAAffinity", "operator": operator, **value}], "t")
    assert toleration.key == "NUMACPUAffinity"
    assert toleration.matches(STRICT)
    assert not toleration.matches(DEDICATED)


def test_seconds_are_kept() -> None:
    entries = [
        {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
        {"key": "b", "operator": "Exists", "effect": ALL_THREE, "tolerationSeconds": 0},
        {"key": "c", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1},
        {"key": "d", "operator": "Exists", "tolerationSeconds": None},
    ]
    assert [one.seconds for one in tolerations_from(entries, "t")] == [30, 0, -1, None]


def test_no_tolerations_are_none() -> None:
    assert tolerations_from(None, "t") == ()
    assert tolerations_from([], "t") == ()


WRONG_TOLERATIONS: tuple[tuple[Any, str], ...] = (
    ("CPUAffinity", "t: 'CPUAffinity' is not a list"),
    ({"key": "a"}, "t: "),
    (["a"], "t[0]: 'a' is not a mapping"),
    ([None], "t[0]: None is not a mapping"),
    ([{"key": "a", "operator": "Exists"}, {"key": 5}], "t[1].key: 5 is not a text"),
    ([{"key": "a", "value": True}], "t[0].value: True is not a text"),
    ([{"key": "a", "effect": ["NoExecute"]}], "t[0].effect: ['NoExecute'] is not a text"),
    ([{"key": "a", "operator": 1}], "t[0].operator: 1 is not a text"),
    ([{"key": "a", "Operator": "Exists"}], "t[0]: unknown key 'Operator'"),
    ([{"key": "a", "operator": "exists"}], "t[0].operator: 'exists' is unknown; write Equal or Exists"),
    ([{"key": "a", "operator": "Exists", "value": "b"}], "t[0].value: Exists takes no value"),
    ([{}], "t[0].operator: a toleration without a key is for all taints; write Exists"),
    ([{"operator": "Equal", "value": "x"}], "t[0].operator: "),
    ([{"key": "a", "operator": "Exists", "effect": "NoWay"}], "t[0].effect: 'NoWay' is unknown"),
    ([{"key": "a", "operator": "Exists", "effect": "noexecute"}], "t[0].effect: "),
    ([{"key": "CPUAffinity", "value": "shared"}], "t[0].value: CPUAffinity has no value 'shared'; write dedicated"),
    ([{"key": "CPUAffinity"}], "t[0].value: CPUAffinity has no value ''"),
    ([{"key": "NUMACPUAffinity", "value": "preferred"}], "t[0].value: NUMACPUAffinity has no value 'preferred'"),
    ([{"key": "NUMAAffinity", "value": "loose"}], "t[0].value: NUMACPUAffinity has no value 'loose'; write strict"),
    ([{"key": "NUMAMemoryPolicy", "value": "x"}], "t[0].value: NUMAMemoryPolicy has no value 'x'; write strict or"),
    (
        [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": "30"}],
        "t[0].tolerationSeconds: '30' is not a number",
    ),
    (
        [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": True}],
        "t[0].tolerationSeconds: True is not a number",
    ),
    (
        [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1.5}],
        "t[0].tolerationSeconds: 1.5 is not a number",
    ),
    ([{"key": "a", "operator": "Exists", "tolerationSeconds": 30}], "t[0].tolerationSeconds: goes with the effects"),
    (
        [{"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 30}],
        "t[0].tolerationSeconds: goes with the effects",
    ),
)


@pytest.mark.parametrize(("listed", "message"), WRONG_TOLERATIONS)
def test_a_wrong_toleration_is_refused_with_its_field(listed: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        tolerations_from(listed, "t")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_taints_are_read_as_registered() -> None:
    listed = [
        {"key": "CPUAffinity", "value": "dedicated", "effect": ALL_THREE},
        {"key": "NUMACPUAffinity", "value": "strict", "effect": ALL_THREE},
        {"key": "NUMAMemoryPolicy", "value": "preferred", "effect": ALL_THREE, "timeAdded": "2024-01-01T00:00:00Z"},
        {"key": "example.com/own", "effect": "NoExecute"},
        {"key": "example.com/own", "value": None, "effect": "NoSchedule"},
    ]
    assert taints_from(listed, "w") == (
        DEDICATED,
        STRICT,
        Taint("NUMAMemoryPolicy", "preferred", ALL_THREE),
        Taint("example.com/own", "", "NoExecute"),
        Taint("example.com/own", "", "NoSchedule"),
    )
    assert taints_from([], "w") == ()


WRONG_TAINTS: tuple[tuple[Any, str], ...] = (
    (None, "w: None is not a list of taints; write [{key: CPUAffinity"),
    ("CPUAffinity=dedicated", "w: 'CPUAffinity=dedicated' is not a list"),
    ({"key": "a", "effect": "NoExecute"}, "w: "),
    (["a"], "w[0]: 'a' is not a mapping"),
    ([{"key": "a", "effect": "NoExecute", "color": "red"}], "w[0]: unknown key 'color'"),
    ([{"key": 1, "effect": "NoExecute"}], "w[0].key: 1 is not a text"),
    ([{"effect": "NoExecute"}], "w[0].key: '' is not a taint's key"),
    ([{"key": "a b", "effect": "NoExecute"}], "w[0].key: 'a b' is not a taint's key"),
    ([{"key": "a\nb", "effect": "NoExecute"}], "w[0].key: 'a\\nb' is not a taint's key"),
    ([{"key": "a", "effect": "NoExecute"}, {"key": "b"}], "w[1].effect: '' is unknown; choose one of NoSchedule"),
    ([{"key": "a", "effect": "NoAdmit"}], "w[0].effect: 'NoAdmit' is unknown"),
    ([{"key": "a", "effect": ALL_THREE}], f"w[0].effect: {ALL_THREE} is for the taints CPUAffinity"),
    ([{"key": "CPUAffinity", "value": "shared", "effect": ALL_THREE}], "w[0].value: CPUAffinity has no value 'shared'"),
    ([{"key": "CPUAffinity", "effect": ALL_THREE}], "w[0].value: CPUAffinity has no value ''; write dedicated"),
    ([{"key": "NUMACPUAffinity", "value": "preferred", "effect": ALL_THREE}], "w[0].value: NUMACPUAffinity has no"),
    ([{"key": "NUMAMemoryPolicy", "value": "loose", "effect": ALL_THREE}], "w[0].value: NUMAMemoryPolicy has no"),
    ([{"key": "CPUAffinity", "value": "dedicated", "effect": "NoExecute"}], "w[0].effect: CPUAffinity does not go"),
    ([{"key": "NUMAAffinity", "value": "strict", "effect": ALL_THREE}], "w[0].key: there is no taint NUMAAffinity"),
    ([{"key": "a", "effect": "NoExecute"}] * 2, "w[1]: a:NoExecute is there twice; keep one"),
    (
        [
            {"key": "NUMAMemoryPolicy", "value": "strict", "effect": ALL_THREE},
            {"key": "NUMAMemoryPolicy", "value": "preferred", "effect": ALL_THREE},
        ],
        f"w[1]: NUMAMemoryPolicy:{ALL_THREE} is there twice",
    ),
)


@pytest.mark.parametrize(("listed", "message"), WRONG_TAINTS)
def test_a_wrong_taint_is_refused_with_its_field(listed: Any, message: str) -> None:
    with pytest.raises(UserError) as caught:
        taints_from(listed, "w")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_taint_is_written_and_read_as_kubectl_does() -> None:
    texts = {
        f"CPUAffinity=dedicated:{ALL_THREE}": DEDICATED,
        "gpu=yes:NoSchedule": GPU_ONLY,
        "gpu:NoExecute": Taint("gpu", "", "NoExecute"),
    }
    for text, taint in texts.items():
        assert taint_from_text(text, "--taint") == taint
        assert str(taint) == text
    assert taint_from_text("gpu=:NoExecute", "--taint") == Taint("gpu", "", "NoExecute")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--taint: '' is not a taint; write KEY=VALUE:EFFECT"),
        ("CPUAffinity=dedicated", "--taint: 'CPUAffinity=dedicated' is not a taint"),
        (":NoExecute", "--taint.key: '' is not a taint's key"),
        ("a=b:", "--taint.effect: '' is unknown"),
        ("CPUAffinity=x:NoExecute", "--taint.value: CPUAffinity has no value 'x'"),
    ],
)
def test_a_wrong_text_of_a_taint_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        taint_from_text(text, "--taint")
    assert str(caught.value).startswith(message)
