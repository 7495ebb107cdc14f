"""A kubelet's configuration is found wherever people have it, and what cannot be used of it is said in a line."""

import json
from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs import parse_machine
from numaproof.harness.decision.config import config_of
from numaproof.harness.intake.assembly import assemble
from numaproof.harness.intake.configuration import read_configuration, read_with_files

BOTH = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "restricted"}
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
LINES = "cpuManagerPolicy: static\ntopologyManagerPolicy: restricted\n"
WHOLE = HEAD + LINES + "authentication:\n  anonymous: {enabled: false}\nclusterDNS: [10.96.0.10]\n"
CONFIGZ = json.dumps({"kubeletconfig": {"enableServer": True, **BOTH, "logging": {"format": "text"}}})


def indented(text: str, by: int) -> str:
    return "".join(" " * by + line for line in text.splitlines(keepends=True))


# Each holds the two policies, and nothing that has to be said about.
SAME = {
    "a file": WHOLE,
    "as JSON": json.dumps({"kind": "KubeletConfiguration", **BOTH}, indent=1),
    "some of its lines": indented(LINES, 4),
    "with tabs": "cpuManagerPolicy:\tstatic\nclusterDNS:\n\t- 10.0.0.1\ntopologyManagerPolicy:  restricted\n",
    "from another system": "\ufeff" + WHOLE.replace("\n", "\r\n"),
    "with blanks of a web page": LINES.replace(" ", "\u00a0"),
    "quoted in a mail": "".join(f"> {line}" for line in WHOLE.splitlines(keepends=True)),
    "in a fence": f"```yaml\n{WHOLE}```\n",
    "below a prompt": f"[root@node ~]# cat /var/lib/kubelet/config.yaml\n{WHOLE}[root@node ~]#",
    "coloured": WHOLE.replace("static", "\x1b[32mstatic\x1b[0m"),
    "with comments": f"# ours\n{LINES}# topologyManagerScope: pod\n",
    "in braces": "{cpuManagerPolicy: static, topologyManagerPolicy: restricted}",
    "an answer of /configz": CONFIGZ,
    "in lines, below a prompt": f"$ kubectl get --raw /api/v1/nodes/n/proxy/configz | jq\n{CONFIGZ}\n$ ",
    "of several documents": f"kind: Namespace\nmetadata: {{name: a}}\n---\n{WHOLE}",
    "a ConfigMap": f"kind: ConfigMap\ndata:\n  kubelet: |\n{indented(WHOLE, 4)}",
    "a ConfigMap as JSON": json.dumps({"kind": "ConfigMap", "data": {"kubelet": WHOLE}}),
    "a list of ConfigMaps": json.dumps({"kind": "List", "items": [{"data": {"a": "b"}}, {"data": {"kubelet": WHOLE}}]}),
    "with what kubectl applied before": json.dumps(
        {
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"maxPods":3}\n'}},
            "data": {"kubelet": WHOLE},
        }
    ),
    "OpenShift": "apiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: a}\nspec:\n"
    f"  machineConfigPoolSelector:\n    matchLabels: {{a: b}}\n  kubeletConfig:\n{indented(LINES, 5)}",
    "kops": "kind: Cluster\nspec:\n  kubeAPIServer:\n    featureGates: {MemoryManager: 'false'}\n  kubelet:\n"
    + indented(LINES, 4),
    "k0s": f"kind: ClusterConfig\nspec:\n  workerProfiles:\n  - name: numa\n    values:\n{indented(LINES, 6)}",
    "eksctl": f"managedNodeGroups:\n- name: a\n  kubeletExtraConfig:\n{indented(LINES, 4)}",
    "AKS": json.dumps({**BOTH, "failSwapOn": False}),
    "kubeadm": "kind: InitConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n    cpu-manager-policy: static\n"
    "    topology-manager-policy: restricted\n---\nkind: ClusterConfiguration\napiServer:\n  extraArgs:\n"
    "    feature-gates: MemoryManager=false\n",
    "kubeadm's newer form": "kind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n"
    "  - {name: cpu-manager-policy, value: static}\n  - name: topology-manager-policy\n    value: restricted\n",
    "some lines of kubeadm": "cpu-manager-policy: static\ntopology-manager-policy: restricted\n",
    "k3s": 'write-kubeconfig-mode: "0644"\nkubelet-arg:\n- cpu-manager-policy=static\n'
    '- "topology-manager-policy=restricted"\nkube-apiserver-arg:\n- feature-gates=MemoryManager=false\n',
    "rke": "services:\n  kubelet:\n    extra_args:\n      cpu-manager-policy: static\n"
    "      topology-manager-policy: restricted\n",
    "OpenShift 3": "kubeletArguments:\n  cpu-manager-policy: [static]\n  topology-manager-policy: [restricted]\n",
    "kind": "kind: Cluster\nnodes:\n- role: worker\n  kubeadmConfigPatches:\n  - |\n    kind: JoinConfiguration\n"
    "    nodeRegistration:\n      kubeletExtraArgs:\n        cpu-manager-policy: static\n  - |\n"
    "    kind: KubeletConfiguration\n    topologyManagerPolicy: restricted\n",
    "Talos": "machine:\n  kubelet:\n    extraArgs:\n      cpu-manager-policy: static\n    extraConfig:\n"
    "      topologyManagerPolicy: restricted\ncluster:\n  apiServer:\n    extraArgs: {feature-gates: A=false}\n",
    "nodeadm": "kind: NodeConfig\nspec:\n  kubelet:\n    config:\n      cpuManagerPolicy: static\n    flags:\n"
    "    - --topology-manager-policy=restricted\n",
    "a file, and flags at a prompt": "# kubelet --topology-manager-policy=restricted\ncpuManagerPolicy: static\n",
    "flags that win": "kubelet --topology-manager-policy=restricted\ncpuManagerPolicy: static\n"
    "topologyManagerPolicy: none\n",
    "a command line": "kubelet --cpu-manager-policy=static --topology-manager-policy=restricted",
    "a log": 'I01 FLAG: --cpu-manager-policy="static"\nI01 FLAG: --topology-manager-policy="restricted"\n',
    "a list of lines": "".join(f"- {line}" for line in LINES.splitlines(keepends=True)),
}


def values(text: str) -> dict[str, Any]:
    settings, _notes = read_configuration(text, "f")
    return {key: setting.value for key, setting in (settings or {}).items()}


def notes(text: str) -> tuple[str, ...]:
    return read_configuration(text, "f")[1]


@pytest.mark.parametrize("form", SAME)
def test_settings_are_found(form: str) -> None:
    assert values(SAME[form]) == BOTH
    assert notes(SAME[form]) == ()


# Each is no whole file, but its lines can be told apart.
IN_PIECES = {
    "prose": f"My kubelet, which I: mean\n: has\n\n{LINES}\nand it refuses: why?: I ask\n",
    "prose in one line": "I have `cpuManagerPolicy: static` and `topologyManagerPolicy: restricted` here: see",
    "wrong indentation": "cpuManagerPolicy: static\n   topologyManagerPolicy: restricted\n",
    "a template": "{{- if .Values.static }}\ncpuManagerPolicy: static\n{{- end }}\ntopologyManagerPolicy: restricted\n",
    "with an equals sign": "cpuManagerPolicy = static\ntopologyManagerPolicy=restricted\n",
    "with the numbers of lines": "   7\tcpuManagerPolicy: static\n   8\ttopologyManagerPolicy: restricted\n",
    "of grep": "".join(f"/etc/kubelet/config.yaml:{line}" for line in LINES.splitlines(keepends=True)),
    "of diff": "@@ -1 @@\n cpuManagerPolicy: static\n-topologyManagerPolicy: x\n+topologyManagerPolicy: restricted\n",
    "with stars": "* cpuManagerPolicy: static\n* topologyManagerPolicy: restricted\n",
}


@pytest.mark.parametrize("form", IN_PIECES)
def test_settings_are_found_line_by_line_and_that_is_said(form: str) -> None:
    assert values(IN_PIECES[form]) == BOTH
    assert notes(IN_PIECES[form]) == ("f: is not whole; the keys that we know are read from its lines",)


def test_in_pieces_a_value_has_the_lines_below_it() -> None:
    text = (
        "systemReserved:\n  cpu: 1\n  memory: 1Gi\nreservedMemory:\n- numaNode: 0\n  limits: {memory: 1Gi}\na: b: c\n"
    )
    assert values(text) == {
        "systemReserved": {"cpu": 1, "memory": "1Gi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    }


def test_a_place_has_its_line_also_in_pieces_and_beside_flags() -> None:
    for text in (
        "a: b\nmaxPods: many\n",
        "a: b: c\nmaxPods: many\n",
        "kubelet --cpu-manager-policy=none\nmaxPods: many\n",
    ):
        settings, _notes = read_configuration(text, "f")
        assert settings is not None
        with pytest.raises(UserError, match=r"^f:2: maxPods: 'many' is not a count of pods; give a number"):
            config_of(settings)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('kind: KubeletConfig\nspec:\n  kubeletConfig: {maxPods: "3"}\n', "f:3: spec.kubeletConfig.maxPods: "),
        ("data:\n  kubelet: |\n    a: 1\n    maxPods: x\n", "f:2: data.kubelet:2: maxPods: "),
        ("kubelet-arg:\n- max-pods=x\n", "f:1: kubelet-arg: --max-pods: "),
        ("kubelet --max-pods=x", "f: --max-pods: "),
        ('{"kubeletconfig": {"maxPods": "3"}}', "f: kubeletconfig.maxPods: "),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(text: str, place: str) -> None:
    settings, _notes = read_configuration(text, "f")
    assert settings is not None
    with pytest.raises(UserError) as caught:
        config_of(settings)
    assert str(caught.value).startswith(place)


def test_a_file_that_is_only_named_is_no_configuration() -> None:
    text = "/usr/bin/kubelet --config=/var/lib/kubelet/config.yaml --v=2"
    assert read_configuration(text, "ps") == (
        None,
        ("the configuration '/var/lib/kubelet/config.yaml' is named by flags, and is not given",),
    )
    assert read_with_files(text, "ps") == (None, (), ("/var/lib/kubelet/config.yaml",))
    assert read_configuration("kubelet-arg:\n- config=/etc/k.yaml\n", "k3s")[0] is None


def test_a_configuration_without_any_key_of_ours_is_one() -> None:
    settings, said = read_configuration(HEAD + "failSwapOn: false\n", "f")
    assert (settings, said) == ({}, ())
    # Its kubelet aligns nothing; where no configuration is given, one that aligns is assumed.
    machine = parse_machine("numa:2 core:2 pu:1")
    policies = [assemble(machine, one, None, []).replica.setup.config.topology_policy for one in (settings, None)]
    assert policies == ["none", "single-numa-node"]


@pytest.mark.parametrize(
    ("text", "kept", "note"),
    [
        (
            "cpuManagerPolicy: static\ntopologyManagerPolcy: restricted\n",
            {"cpuManagerPolicy": "static"},
            "f:2: topologyManagerPolcy: is unknown, and passed over; did you mean topologyManagerPolicy?",
        ),
        (
            "cpuManagerPolicy: static\nTopologyManagerPolicy: restricted\n",  # a kubelet minds the case
            {"cpuManagerPolicy": "static"},
            "f:2: TopologyManagerPolicy: is unknown, and passed over; did you mean topologyManagerPolicy?",
        ),
        ("maxPods: 3\nfoo: 1\nbar: 2\n", {"maxPods": 3}, "f: unknown keys are passed over: foo, bar"),
        (
            "maxPods: 3\na: 1\nb: 1\nc: 1\nd: 1\ne: 1\nf: 1\n",
            {"maxPods": 3},
            "f: unknown keys are passed over: a, b, c, d and 2 more",
        ),
        (
            HEAD + "spec:\n  cpuManagerPolicy: static\n",
            {},
            "f:4: spec.cpuManagerPolicy: has no effect there; write it at the top",
        ),
        (
            "maxPods: 3\nlogging: {}\nfoo:\n  cpuManagerPolicy: static\n",
            {"maxPods": 3},
            "f:4: foo.cpuManagerPolicy: has no effect there; write it at the top",
        ),
        (
            "maxPods: 3\nsystemReserved:\ncpu: 1\n",
            {"maxPods": 3},
            "f:2: systemReserved: has no value, and is passed over; indent what belongs to it",
        ),
        (
            "maxPods: 3\n...\ncpuManagerPolicy: none\n",
            {"maxPods": 3, "cpuManagerPolicy": "none"},
            'f: lines are elided ("...")',
        ),
        ("maxPods: 3\nkubeReserved: ...\n", {"maxPods": 3}, "f:2: kubeReserved: is elided, and not known ('...')"),
        (
            "maxPods: 3\nreservedMemory: [...]\n",
            {"maxPods": 3},
            "f:2: reservedMemory[0]: is elided, and not known ('...')",
        ),
        (
            "kubeReserved:\n  cpu: 1\n  memory: <snip>\n",
            {"kubeReserved": {"cpu": 1}},
            "f:3: kubeReserved.memory: is elided, and not known ('<snip>')",
        ),
        ('{"maxPods": 3, ...}', {"maxPods": 3}, 'f: something is elided ("...")'),
        ("maxPods: 3\n---\nmaxPods: 4\n", {"maxPods": 4}, "f:3: maxPods: is given before, as '3'; the last one counts"),
        ("maxPods: 3\nmaxPods: 4\n", {"maxPods": 4}, "f:2: maxPods: is given before, as '3'; the last one counts"),
        ('{"maxPods": 3, "maxPods": 4}', {"maxPods": 4}, "f: maxPods is there twice; the last one counts"),
        (
            "maxPods: 3\nkubeReserved: *own\n",
            {"maxPods": 3},
            "f:2: kubeReserved: is passed over: *own: aliases are not read",
        ),
        (
            "maxPods: 3\npodsPerCore: {\n",
            {"maxPods": 3},
            "f: is not whole; the keys that we know are read from its lines",
        ),
        (
            "kind: KubeletConfiguration\napiVersion: v1alpha1\nmaxPods: 3\n",
            {"maxPods": 3},
            "f: is of 'v1alpha1'; it is read as kubelet.config.k8s.io/v1beta1",
        ),
        (
            '{"kubeletconfig": {"maxPods": 3, "top',
            {"maxPods": 3},
            "f: the text ends in the middle, in kubeletconfig; what follows is not known",
        ),
    ],
)
def test_what_is_passed_over_or_not_known_is_said(text: str, kept: dict[str, Any], note: str) -> None:
    assert values(text) == kept
    assert note in notes(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: is not a kubelet's configuration; give a KubeletConfiguration, the answer of /configz, or a "),
        ("kind: Pod\nmetadata: {name: a}\n", "f: is not a kubelet's configuration; give"),
        ("- 1", "f: is not a kubelet's configuration; give"),
        ("a: [", "f:1: is not YAML: "),
        ("nothing but words: or so: it seems", "f:1: is not YAML: "),
        ("cpuManagerPolcy: static\n", "f:1: cpuManagerPolcy: is unknown; did you mean cpuManagerPolicy?"),
        ("so: it: is\ncpuManagerPolcy: static\n", "f:2: cpuManagerPolcy: is unknown; did you mean cpuManagerPolicy?"),
        (
            "systemReserved:\n  cpu: 1\n  cpuManagerPolicy: static\n",
            "f:3: systemReserved.cpuManagerPolicy: is not a part of systemReserved; write it at the top, beside sys",
        ),
        (
            "kubelet-arg:\n- kube-reserved=cpu\n",
            "f:1: kubelet-arg: --kube-reserved: 'cpu' is not of the form NAME=VALUE",
        ),
        (
            "kind: PerformanceProfile\nspec:\n  numa: {topologyPolicy: restricted}\n",
            "f:1: is a PerformanceProfile, from which an operator makes the configuration; give the result of `oc",
        ),
        ("x" * (16 << 20) + "x", "f: is larger than 16 MiB; give the part that matters"),
    ],
)
def test_what_is_no_configuration_is_refused_in_a_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read_configuration(text, "f")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_log_that_tells_nothing_is_no_configuration() -> None:
    assert read_configuration('I01 FLAG: --topology-manager-policy="none"\n', "log") == (
        None,
        ("log: all flags are at their defaults, and no configuration file is named",),
    )


@pytest.mark.parametrize("text", [*SAME.values(), *IN_PIECES.values()])
def test_any_beginning_is_read_or_refused_in_a_line(text: str) -> None:
    for length in range(len(text)):
        try:
            _settings, said = read_configuration(text[:length], "f")
        except UserError as error:
            said = (str(error),)
        assert all("\n" not in one and one.startswith("f") for one in said), text[:length]


@pytest.mark.parametrize(
    "line", ["maxPods: {\n", "maxPods:\n", "cpuManagerPolcx: 1\n", "x: `maxPods: 3`: y\n", "- maxPods: [\n"]
)
def test_much_rubbish_is_read_or_refused_in_a_short_line(line: str) -> None:
    """Without a limit to the keys that are read one by one this would not end."""
    for text in (line * 50_000, "".join(" " * (i % 90) + line for i in range(20_000))):
        try:
            said = notes(text)
        except UserError as error:
            said = (str(error),)
        assert all(len(one) < 300 for one in said)
