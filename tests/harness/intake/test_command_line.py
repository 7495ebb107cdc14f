"""Flags of a kubelet, wherever people have them: `ps`, units, environment files, logs, and what wraps them."""

from typing import Any

import pytest

from numaproof.errors import UserError
from numaproof.harness.intake.command_line import names_flags, read_command_line, read_logged_flags, shows_flags


def values(text: str) -> dict[str, Any]:
    return {key: setting.value for key, setting in read_command_line(text, "f").settings.items()}


BOTH = {"cpuManagerPolicy": "static", "topologyManagerPolicy": "restricted"}
# Each says the same in another way.
SAME = {
    "ps": "root 812 2.1 0.2 9 8 ? Ssl 10:00 1:02 /usr/bin/kubelet --cpu-manager-policy=static "
    "--topology-manager-policy=restricted --v=2",
    "values that follow blanks": "kubelet --cpu-manager-policy static --v 2 --topology-manager-policy  restricted",
    "flags that have no value": "kubelet --cpu-manager-policy static --fail-swap-on --topology-manager-policy "
    "restricted --rotate-certificates",
    "quotes": "kubelet --cpu-manager-policy=\"static\" --topology-manager-policy='restricted'",
    "underscores": "kubelet --cpu_manager_policy=static --topology_manager_policy=restricted",
    "a unit": "[Service]\nExecStart=/usr/bin/kubelet \\\n  --cpu-manager-policy=static \\  \n"
    "  --topology-manager-policy=restricted\nRestart=always",
    "an environment file": 'KUBELET_EXTRA_ARGS="--cpu-manager-policy=static --topology-manager-policy=restricted"',
    "with single quotes": "KUBELET_EXTRA_ARGS='--cpu-manager-policy=static --topology-manager-policy=restricted'",
    "a unit's environment": 'Environment="A=--cpu-manager-policy=static" "B=--topology-manager-policy=restricted"',
    "arguments of a bootstrap script": "/etc/eks/bootstrap.sh mine --kubelet-extra-args "
    "'--cpu-manager-policy=static --topology-manager-policy=restricted' --use-max-pods false",
    "which are one quoted value": 'k0s worker --kubelet-extra-args=" --cpu-manager-policy=static '
    '--topology-manager-policy=restricted"',
    "k3s": "k3s agent --kubelet-arg=cpu-manager-policy=static --kubelet-arg 'topology-manager-policy=restricted'",
    "k3s, with dashes": 'k3s agent --kubelet-arg="--cpu-manager-policy=static" '
    "--kubelet-arg=--topology-manager-policy=restricted",
    "k3s, in its unit": "ExecStart=/usr/local/bin/k3s \\\n   agent \\\n\t'--kubelet-arg=cpu-manager-policy=static' \\\n"
    "\t'--kubelet-arg=topology-manager-policy=restricted' \\\n",
    "minikube": "minikube start --extra-config=kubelet.cpu-manager-policy=static "
    "--extra-config=kubelet.topology-manager-policy=restricted",
    "a list": '["kubelet", "--cpu-manager-policy=static", "--topology-manager-policy=restricted"]',
    "a list of names and values": '["--cpu-manager-policy", "static",\n "--topology-manager-policy", "restricted"]',
    "escaped quotes": '"args": "--cpu-manager-policy=\\"static\\" --topology-manager-policy=\\"restricted\\""',
    "prose": "We run with `--cpu-manager-policy=static` (and --topology-manager-policy=restricted).",
    "a word processor's dashes": "—cpu-manager-policy=static –topology-manager-policy=restricted",  # noqa: RUF001
    "other programs beside it": "1 kube-apiserver --feature-gates=CPUManager=false\n"
    "2 kube-proxy --config=/var/lib/kube-proxy/config.conf\n"
    "3 kubelet --cpu-manager-policy=static --topology-manager-policy=restricted\n"
    "4 kube-scheduler --config=/etc/s.yaml",
    "comments beside it": "#--cpu-manager-policy=none\n  # --reserved-cpus=9\n; --max-pods=1\n"
    "--cpu-manager-policy=static\n--topology-manager-policy=restricted",
    "at root's prompt": "# /usr/bin/kubelet --cpu-manager-policy=static --topology-manager-policy=restricted",
}


@pytest.mark.parametrize("form", SAME)
def test_flags_are_found(form: str) -> None:
    line = read_command_line(SAME[form], "f")
    assert {key: setting.value for key, setting in line.settings.items()} == BOTH
    assert line.config_files == ()
    assert line.notes == ()
    assert names_flags(SAME[form])


@pytest.mark.parametrize(
    "text", ["", "cpuManagerPolicy: static", "a --kubeconfig=/x", "x--max-pods=3", "---max-pods=3", "- max-pods=3"]
)
def test_what_is_no_flag_of_ours(text: str) -> None:
    assert not names_flags(text)
    assert values(text) == {}


def test_files_that_are_named() -> None:
    line = read_command_line("kubelet --config /etc/k.yaml --config-dir=/etc/k.d --kubeconfig=/k --config=", "f")
    assert line.config_files == ("/etc/k.yaml", "/etc/k.d")
    assert names_flags("kubelet --config=/x")


def test_of_a_flag_that_is_given_twice_the_last_counts_as_in_a_kubelet() -> None:
    line = read_command_line("--cpu-manager-policy=none --cpu-manager-policy=static", "f")
    assert line.settings["cpuManagerPolicy"].value == "static"
    assert line.notes == ("f: --cpu-manager-policy: is given twice; the last one counts",)
    assert read_command_line("--max-pods=3 --max-pods=3", "f").notes == ()
    # Taints of a second flag replace those of the first.
    taints = values("--register-with-taints=a:NoSchedule --register-with-taints=b:NoSchedule")["registerWithTaints"]
    assert [one["key"] for one in taints] == ["b"]


def test_tables_add_up_and_so_does_reserved_memory() -> None:
    text = "--kube-reserved=cpu=1,memory=1Gi --kube-reserved=cpu=2 --reserved-memory=0:memory=1Gi "
    assert values(text + "--reserved-memory '1:memory=2Gi;2:memory=3Gi'") == {
        "kubeReserved": {"cpu": "2", "memory": "1Gi"},
        "reservedMemory": [{"numaNode": i, "limits": {"memory": f"{i + 1}Gi"}} for i in range(3)],
    }


def test_a_line_that_stands_there_twice_is_read_once() -> None:
    flags = "/usr/bin/kubelet --reserved-memory=0:memory=1Gi --v=2"
    text = f"root 7 ? Ssl {flags}\n     └─7 {flags}"
    assert values(text) == {"reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}]}


@pytest.mark.parametrize("value", ["", "=", "=...", "=<redacted>", "=${CPUS}", "=$(CPUS)", " --v=2"])
def test_a_value_that_is_not_there_is_said(value: str) -> None:
    line = read_command_line(f"kubelet --reserved-cpus{value}", "f")
    assert line.settings == {}
    assert line.notes == ("f: --reserved-cpus: its value is not there",)


def test_a_value_that_is_empty_on_purpose() -> None:
    assert values("--eviction-hard=\"\" --cpu-manager-policy=''") == {"evictionHard": {}, "cpuManagerPolicy": ""}


def test_flags_that_concern_numa_and_are_not_used_are_said() -> None:
    text = (
        "--cpu-manager-polcy=static --numa-foo=1 --topology-manager-polic=x --v=2 --cpu-manager-reconcile-period=5s "
        "--node-ip=1.2.3.4 --cgroups-per-qos=false"
    )
    assert read_command_line(text, "f").notes == (
        "f: '--cpu-manager-polcy' is unknown, and passed over; did you mean --cpu-manager-policy?",
        "f: '--numa-foo' is passed over",
        "f: '--topology-manager-polic' is unknown, and passed over; did you mean --topology-manager-policy?",
        "f: '--cgroups-per-qos' is passed over",
    )


def test_a_wrong_value_names_the_file_and_the_flag() -> None:
    with pytest.raises(UserError, match=r"^f: --kube-reserved: 'cpu' is not of the form NAME=VALUE$"):
        read_command_line("kubelet --kube-reserved=cpu", "f")


LOG = """\
I0102 03:04:05.000001    7 flags.go:64] FLAG: --config="/etc/k.yaml"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --config-dir=""
I0102 03:04:05.000001    7 flags.go:64] FLAG: --cpu-manager-policy="static"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --cpu-manager-policy-options=""
I0102 03:04:05.000001    7 flags.go:64] FLAG: --eviction-hard="imagefs.available<15%,memory.available<100Mi"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --kube-reserved="cpu=500m,memory=1Gi"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --max-pods="110"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --memory-manager-policy="None"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --reserved-memory="0:memory=1Gi,1:memory=2Gi"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --topology-manager-policy="none"
I0102 03:04:05.000001    7 flags.go:64] FLAG: --topology-manager-scope="container"
"""


def test_flags_that_a_log_tells_but_for_those_at_their_defaults() -> None:
    line = read_logged_flags(LOG, "kubelet.log")
    assert {key: setting.value for key, setting in line.settings.items()} == {
        "cpuManagerPolicy": "static",
        "kubeReserved": {"cpu": "500m", "memory": "1Gi"},
        "reservedMemory": [
            {"numaNode": 0, "limits": {"memory": "1Gi"}},
            {"numaNode": 1, "limits": {"memory": "2Gi"}},
        ],
    }
    assert line.config_files == ("/etc/k.yaml",)
    assert line.settings["cpuManagerPolicy"].where == "kubelet.log: --cpu-manager-policy"
    assert shows_flags(LOG)
    assert not shows_flags("kubelet --cpu-manager-policy=static")


def test_a_log_of_a_kubelet_that_was_started_twice_and_one_in_json() -> None:
    assert read_logged_flags(LOG + LOG, "f") == read_logged_flags(LOG, "f")
    as_json = "".join(f'{{"msg":"{line[34:]}"}}\n' for line in LOG.replace('"', '\\"').splitlines())
    assert read_logged_flags(as_json, "f") == read_logged_flags(LOG, "f")


@pytest.mark.parametrize("form", SAME)
def test_any_beginning_is_read_or_refused_in_a_line(form: str) -> None:
    for length in range(len(SAME[form])):
        told: tuple[str, ...] = ()
        try:
            told = read_command_line(SAME[form][:length], "f").notes
        except UserError as error:
            told = (str(error),)
        assert all(one.startswith("f: ") and one.isprintable() for one in told)
