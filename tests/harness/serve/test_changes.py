"""What the controls of the page and the remedies do to texts: the value changes, all else stays as it was written."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from numaproof.harness.intake.pasted import PastedError, Texts, question_of
from numaproof.harness.serve.answers import answered
from numaproof.harness.serve.changes import changed

POD = """\
# The pod in question.
kind: Pod
metadata: {name: p}
spec:
  initContainers:
  - name: first
    resources: {limits: {cpu: 2, memory: 1Gi}}
  containers:
  - name: app # the one that counts
    resources:
      requests: {cpu: 2, memory: 1Gi}
      limits:
        cpu: "2" # quoted
        memory: 1Gi
  - name: beside
    image: x
"""
JOB = """\
kind: Job
metadata: {name: j}
spec:
  template:
    spec:
      containers:
      - name: app
        resources: {limits: {cpu: 2}} # here
"""
AS_JSON = """\
{"kind": "Pod", "metadata": {"name": "p"},
 "spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": 2}}}]}}
"""

# The pod's text, a change, and what is another text afterwards: before -> after.
AMOUNTS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "a limit and its request": (
        POD,
        {"pod": {"app": {"cpu": "3"}}},
        {'cpu: "2" # quoted': "cpu: 3 # quoted", "requests: {cpu: 2, memory": "requests: {cpu: 3, memory"},
    ),
    "a limit alone": (POD, {"limits": {"app": {"cpu": "3"}}}, {'cpu: "2" # quoted': "cpu: 3 # quoted"}),
    "a request alone": (POD, {"requests": {"app": {"cpu": "1"}}}, {"requests: {cpu: 2,": "requests: {cpu: 1,"}),
    "a request where the limit was one": (
        POD,
        {"requests": {"first": {"cpu": "1"}}},
        {"limits: {cpu: 2, memory: 1Gi}}\n": "limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}\n"},
    ),
    "of an init container": (POD, {"pod": {"first": {"cpu": "4"}}}, {"limits: {cpu: 2,": "limits: {cpu: 4,"}),
    "an amount with a unit": (
        POD,
        {"pod": {"first": {"memory": "4Gi"}}},
        {"limits: {cpu: 2, memory: 1Gi}}\n": "limits: {cpu: 2, memory: 4Gi}}\n"},
    ),
    "a part of a CPU": (POD, {"limits": {"app": {"cpu": "2.5"}}}, {'cpu: "2" # quoted': "cpu: '2.5' # quoted"}),
    "a device that is not asked for yet": (
        POD,
        {"pod": {"app": {"nvidia.com/gpu": "1"}}},
        {"        memory: 1Gi\n": "        memory: 1Gi\n        nvidia.com/gpu: 1\n"},
    ),
    "of a container that asks for nothing": (
        POD,
        {"pod": {"beside": {"cpu": "1"}}},
        {"    image: x\n": "    image: x\n    resources: {limits: {cpu: 1}}\n"},
    ),
    "of several containers": (
        POD,
        {"pod": {"first": {"cpu": "1"}, "beside": {"cpu": "1"}}},
        {
            "    resources: {limits: {cpu: 2,": "    resources: {limits: {cpu: 1,",
            "    image: x\n": "    image: x\n    resources: {limits: {cpu: 1}}\n",
        },
    ),
    "of a workload's template": (JOB, {"pod": {"app": {"cpu": "3"}}}, {"{cpu: 2}} # here": "{cpu: 3}} # here"}),
    "of a later document": (
        "kind: Service\nmetadata: {name: s}\n---\n" + JOB,
        {"pod": {"app": {"cpu": "3"}}},
        {"{cpu: 2}} # here": "{cpu: 3}} # here"},
    ),
    "of an item of a list": (
        "kind: List\nitems:\n- kind: Pod\n  metadata: {name: p}\n  spec: {containers: [{name: app}]} # one\n",
        {"pod": {"app": {"cpu": "3"}}},
        {"{name: app}": "{name: app, resources: {limits: {cpu: 3}}}"},
    ),
    "in JSON": (AS_JSON, {"pod": {"app": {"cpu": "3"}}}, {'"cpu": 2': '"cpu": 3'}),
    "with the line ends of Windows": (
        JOB.replace("\n", "\r\n"),
        {"pod": {"app": {"cpu": "3"}}},
        {"{cpu: 2}} # here": "{cpu: 3}} # here"},
    ),
}

CONFIG = """\
# Of the nodes with GPUs.
kind: KubeletConfiguration
topologyManagerPolicy: restricted # strict enough
cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
reservedSystemCPUs: "0"
kubeReserved: {cpu: 500m, memory: 1Gi}
"""
SETTINGS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "a policy": (CONFIG, {"topologyManagerPolicy": "best-effort"}, {"restricted # strict": "best-effort # strict"}),
    "a scope that was not told": (
        CONFIG,
        {"topologyManagerScope": "pod"},
        {"memory: 1Gi}\n": "memory: 1Gi}\ntopologyManagerScope: pod\n"},
    ),
    "an option that is off": (
        CONFIG,
        {"cpuManagerPolicyOptions": {"full-pcpus-only": "false"}},
        {'full-pcpus-only: "true"': "full-pcpus-only: 'false'"},
    ),
    "an amount that is kept": (
        CONFIG,
        {"kubeReserved": {"cpu": "1"}},
        {"kubeReserved: {cpu: 500m,": "kubeReserved: {cpu: '1',"},
    ),
    "CPUs that are kept": (CONFIG, {"reservedSystemCPUs": "0-1"}, {'CPUs: "0"': "CPUs: 0-1"}),
    "CPUs that are kept no more": (CONFIG, {"reservedSystemCPUs": None}, {'reservedSystemCPUs: "0"\n': ""}),
    "what was not told is not told still": (CONFIG, {"topologyManagerScope": None}, {}),
    "an option that needs its gate": (
        CONFIG,
        {"cpuManagerPolicyOptions": {"distribute-cpus-across-cores": "true"}},
        {
            '  full-pcpus-only: "true"\n': "  full-pcpus-only: \"true\"\n  distribute-cpus-across-cores: 'true'\n",
            "memory: 1Gi}\n": "memory: 1Gi}\nfeatureGates: {CPUManagerPolicyAlphaOptions: true}\n",
        },
    ),
}


def edited(text: str, edits: dict[str, str]) -> str:
    for before, after in edits.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


@pytest.mark.parametrize("case", AMOUNTS)
def test_an_amount_changes_and_all_else_stays(case: str) -> None:
    text, change, edits = AMOUNTS[case]
    assert changed(Texts(pod=text), change) == Texts(pod=edited(text, edits))


@pytest.mark.parametrize("case", SETTINGS)
def test_a_setting_changes_and_all_else_stays(case: str) -> None:
    text, settings, edits = SETTINGS[case]
    assert changed(Texts(config=text), {"config": settings}) == Texts(config=edited(text, edits))


NUMBERS = st.integers(0, 10**15 - 1)


@given(cpu=NUMBERS, memory=st.integers(0, 10**12), gpu=NUMBERS)
def test_what_the_reader_of_pods_reads_are_the_new_amounts(cpu: int, memory: int, gpu: int) -> None:
    amounts = {"cpu": str(cpu), "memory": f"{memory}Mi", "example.com/gpu": str(gpu)}
    texts = changed(Texts(machine="laptop", pod=POD), {"pod": {"app": amounts}})
    app, beside = question_of(texts).pod.containers
    assert app.limits == {"cpu": cpu, "memory": memory << 20, "example.com/gpu": gpu}
    assert {name: app.requests[name] for name in ("cpu", "memory")} == {"cpu": cpu, "memory": memory << 20}
    assert not beside.limits


def read(text: str) -> Any:
    """As another reader of YAML reads it."""
    return yaml.safe_load(text)


def test_a_configuration_that_nobody_told_is_written_out() -> None:
    """With what is assumed of it, so that the change is the only one."""
    found = read(changed(Texts(), {"config": {"topologyManagerPolicy": "restricted"}}).config)
    assert found["kind"] == "KubeletConfiguration"
    assert found["topologyManagerPolicy"] == "restricted"
    assert found["cpuManagerPolicy"] == "static"


OTHER_FORMS = {
    "flags": "kubelet --cpu-manager-policy=static --reserved-cpus=0 --topology-manager-policy=restricted\n",
    "configz": json.dumps(
        {
            "kubeletconfig": {
                "cpuManagerPolicy": "static",
                "reservedSystemCPUs": "0",
                "topologyManagerPolicy": "restricted",
            }
        }
    ),
    "a fence": '```yaml\ncpuManagerPolicy: static\nreservedSystemCPUs: "0"\ntopologyManagerPolicy: restricted\n```\n',
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_a_configuration_in_another_form_becomes_one(form: str) -> None:
    found = read(changed(Texts(config=OTHER_FORMS[form]), {"config": {"topologyManagerPolicy": "best-effort"}}).config)
    told = {name: found[name] for name in ("cpuManagerPolicy", "reservedSystemCPUs", "topologyManagerPolicy")}
    assert told == {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "topologyManagerPolicy": "best-effort"}


def running(*names: str, separator: Callable[[str], str] = lambda name: f"--- # {name}\n") -> str:
    return "".join(
        f"{separator(name)}kind: Pod # {name}\nmetadata: {{name: {name}}}\nspec: {{containers: [{{name: c}}]}}\n"
        for name in names
    )


def removed(text: str, *names: str) -> list[str]:
    """The pods that are left."""
    found = changed(Texts(running=text), {"remove": list(names)}).running
    return [one["metadata"]["name"] for one in yaml.safe_load_all(found) if one]


def test_pods_that_go_leave_the_others_as_they_are_written() -> None:
    found = changed(Texts(running=running("a", "b", "c")), {"remove": ["default/b"]}).running
    assert found.replace("---\n", "") == running("a", "c", separator=lambda _: "")
    assert removed(running("a", "b", "c"), "default/b") == ["a", "c"]
    assert removed(running("a", "b"), "default/a", "default/b", "default/x") == []
    assert removed(running("a", "b"), "other/a") == ["a", "b"]


def test_a_pod_of_another_namespace_and_one_of_a_list() -> None:
    text = "kind: Pod\nmetadata: {name: a, namespace: n}\n---\n" + json.dumps(
        {"kind": "PodList", "items": [{"metadata": {"name": one}} for one in "ab"]}
    )
    assert removed(text, "n/a", "default/a") == ["b"]
    assert removed(text, "default/a", "default/b") == ["a"]


FAULTS: dict[str, tuple[Texts, Any, dict[str, str]]] = {
    "another container": (
        Texts(pod=POD),
        {"pod": {"other": {"cpu": "1"}}},
        {"pod": "pod: has no container 'other'; edit the text"},
    ),
    "amounts that are none": (
        Texts(pod=POD),
        {"limits": {"app": 3}},
        {"pod": "pod: change: '3' is not a table; reload the page"},
    ),
    "resources of another kind": (
        Texts(pod="metadata: {name: p}\nspec: {containers: [{name: app, resources: 5}]}"),
        {"pod": {"app": {"cpu": "1"}}},
        {"pod": "pod: resources: is no mapping, in which limits could stand; mend the text"},
    ),
    "a text that is none": (Texts(pod="a: ["), {"pod": {"app": {"cpu": "1"}}}, {"pod": "pod:1: is not YAML"}),
    "a setting within something else": (
        Texts(config="cpuManagerPolicy: static\nkubeReserved: 5\n"),
        {"config": {"kubeReserved": {"cpu": "1"}}},
        {"config": "config: kubeReserved: is no mapping, in which cpu could stand; mend the text"},
    ),
    "a configuration that is none": (
        Texts(config="- 1\n"),
        {"config": {"cpuManagerPolicy": "none"}},
        {"config": "config"},
    ),
    "names that are none": (
        Texts(running=running("a")),
        {"remove": "default/a"},
        {"running": "running: change: 'default/a' is not a list; reload the page"},
    ),
    "a fault in the second pod": (
        Texts(running=running("a") + "---\na: [\n"),
        {"remove": ["default/a"]},
        {"running": "running:6: is not YAML"},
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_change_that_cannot_be_made_is_told_at_its_field(case: str) -> None:
    texts, change, faults = FAULTS[case]
    with pytest.raises(PastedError) as error:
        changed(texts, change)
    assert list(error.value.faults) == list(faults)
    for field, told in faults.items():
        assert error.value.faults[field].startswith(told)
        assert error.value.faults[field].isprintable()


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["4Gi", "\ud800", "# x", "a: b"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5) | st.just("cpu"), inner, max_size=2)
    ),
    max_leaves=4,
)
PODS = st.sampled_from([POD, JOB, AS_JSON, "", "5", "a: ["]) | st.sampled_from(
    [
        "5",
        "[]",
        "{}",
        "x",
        "{limits: 5}",
        "{limits: []}",
        "{limits: {cpu}}",
        "{limits: {cpu: [1]}}",
        "{limits: {cpu: 1}, requests: 5}",
    ]
).map(lambda told: f"metadata: {{name: p}}\nspec:\n  containers:\n  - name: app\n    resources: {told}\n")
CONFIGS = st.sampled_from(
    [
        CONFIG,
        *OTHER_FORMS.values(),
        "",
        "5",
        "kubeReserved: 5\ncpuManagerPolicy: none",
        "kubeReserved: []\ncpuManagerPolicy: none",
        "cpuManagerPolicyOptions: x\ncpuManagerPolicy: static",
        "featureGates: x\ncpuManagerPolicy: static",
        "cpuManagerPolicy: static\nkubeReserved: {cpu}",
    ]
)
CHANGES = (
    st.fixed_dictionaries(
        {},
        optional={
            kind: st.fixed_dictionaries({"app": st.fixed_dictionaries({"cpu": JSON_VALUES})}) | JSON_VALUES
            for kind in ("pod", "limits", "requests")
        },
    )
    | st.fixed_dictionaries(
        {
            "config": st.fixed_dictionaries(
                {},
                optional={
                    name: JSON_VALUES | st.fixed_dictionaries({inner: JSON_VALUES})
                    for name, inner in (
                        ("kubeReserved", "cpu"),
                        ("cpuManagerPolicyOptions", "distribute-cpus-across-cores"),
                        ("topologyManagerPolicy", "x"),
                    )
                },
            )
        }
    )
    | st.fixed_dictionaries({"remove": JSON_VALUES | st.just(["default/a"])})
)


@given(pod=PODS, config=CONFIGS, change=CHANGES)
def test_no_change_of_any_text_is_a_fault_of_ours(pod: str, config: str, change: Any) -> None:
    texts = Texts("laptop", config, "", running("a", "b"), pod)
    status, body = answered("show", json.dumps({"texts": texts.as_dict(), "change": change}).encode())
    assert status in (200, 422)
    if status == 422:
        assert all(text.isprintable() for text in json.loads(body)["errors"].values())


def test_a_change_that_makes_no_good_text_is_not_kept() -> None:
    texts = Texts(machine="laptop", config=CONFIG, pod=POD)
    status, body = answered(
        "show", json.dumps({"texts": texts.as_dict(), "change": {"pod": {"app": {"cpu": "-1"}}}}).encode()
    )
    assert status == 422
    [told] = json.loads(body)["errors"].values()
    assert told.startswith("not changed: pod:")


def test_a_change_is_answered_with_the_texts_that_it_made() -> None:
    texts = Texts(machine="laptop", pod=POD)
    change = {"pod": {"first": {"cpu": "1"}}, "config": {"cpuManagerPolicy": "none", "topologyManagerPolicy": "none"}}
    status, body = answered("show", json.dumps({"texts": texts.as_dict(), "change": change}).encode())
    assert status == 200
    assert json.loads(body)["texts"] == changed(texts, change).as_dict()
