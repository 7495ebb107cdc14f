"""Pod manifests as text: YAML and JSON, and what is neither."""

import pytest

from numaproof.errors import UserError
from numaproof.harness.node.manifests import read_manifest

GOOD = '{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}}'


def test_manifests_are_json_or_yaml() -> None:
    as_yaml = "metadata: {name: p}\nspec:\n  containers:\n  - {name: c, resources: {limits: {cpu: '1'}}}\n"
    assert read_manifest(GOOD) == read_manifest(as_yaml)


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is missing"),
        ("{", "pod: is not JSON"),
        ("a: [", "pod:1: is not YAML"),
        ("metadata:\n  name: p\n  name: q\n", "pod:3: 'name' is there twice"),
        ("\x00", "is not YAML"),
        (BOMB, "pod:1: &a: anchors are not read"),
        ("[" * 5_000, "is nested too deeply"),
        ('{"a":' * 50_000, "pod: is not JSON"),
        (GOOD.replace('"cpu": "1"', '"cpu": "1", "cpu": "2"'), "'cpu' is there twice in one object"),
        (GOOD + " " * (1 << 20), "is too long"),
        ("a: 1\n---\nb: 2\n", "pod:2: a second document starts"),
        (GOOD.replace('"cpu": "1"', '"cpu": "-1"'), "is negative"),
        (GOOD.replace('"cpu": "1"', '"gpu": "1"'), "unknown resource 'gpu'"),
        (GOOD.replace('"limits": {', '"requests": {"cpu": "2"}, "limits": {'), "requests more cpu"),
        (GOOD.replace('"name": "p"', '"name": "../p"'), "is not a name"),
        (GOOD.replace('"name": "p"', '"name": "p", "uid": 7'), "is not a uid"),
    ],
)
def test_what_is_no_manifest_is_named_in_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read_manifest(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
