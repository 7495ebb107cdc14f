"""The reference of policies and their options."""

import inspect

from docs_pages.markdown import cell
from numaproof.harness.providers.cpu import options as cpu_options
from numaproof.harness.topology import policies
from numaproof.harness.vocabulary import KUBELET_POLICIES, POLICIES, SCOPES, SELECTING_POLICY

_HEAD = """# Policies and options

What a KubeletConfiguration may say of alignment, from the code. [Semantics](../semantics.md) tells what
the policies do.

## Topology Manager policies

`topologyManagerPolicy`, or `--topology-manager-policy`. `strict` and `cost` are experimental, and no kubelet has them.
"""

# What is not to be had from the code: these are the kubelet's own names, and its documentation says what they do.
_TOPOLOGY_OPTIONS = {
    "prefer-closest-numa-nodes": "of sets of as many NUMA nodes, the one whose nodes are nearest to one another",
    "max-allowable-numa-nodes": "how many NUMA nodes a machine may have; 8 unless it is raised",
    "cost-maximum": "of `cost`: a pod whose set costs more is refused",
    "cost-unlisted": "of `cost`: what a pair costs that nobody lists, `nothing` or `farthest`",
    "cost-seed": "of `cost`: the seed of the annealing",
}
_CPU_OPTIONS = {
    "full-pcpus-only": "whole cores only; a pod that asks for a part of one is refused",
    "distribute-cpus-across-numa": "where one NUMA node is not enough, as many CPUs of each",
    "align-by-socket": "a hint is preferred if its NUMA nodes are of as few sockets as will do",
    "distribute-cpus-across-cores": "a thread of each core before the second one of any",
    "strict-cpu-reservation": "shared CPUs are without the reserved ones",
    "prefer-align-cpus-by-uncorecache": "CPUs of as few last-level caches as will do",
}


def page() -> str:
    """Policies, scopes and options; a KeyError names an option that nothing is said of."""
    current, proposed = policies.POLICIES["current"], policies.POLICIES["kep"]
    rows = []
    for name in POLICIES:
        rule = "chooses the exact resources, by what they cost together" if name == SELECTING_POLICY else None
        whose = "the kubelet's" if name in KUBELET_POLICIES else "experimental"
        now = rule or inspect.getdoc(current[name]) or ""
        before = rule or inspect.getdoc(proposed[name]) or ""
        rows.append(f"| `{name}` | {whose} | {cell(now)} | {'the same' if now == before else cell(before)} |")
    return "\n".join(
        [
            _HEAD,
            "| Policy | | With `current` semantics | With `kep` semantics |\n|---|---|---|---|",
            *rows,
            "",
            f"Scopes (`topologyManagerScope`): {' and '.join(f'`{one}`' for one in SCOPES)}.\n",
            "## Topology Manager options\n\n`topologyManagerPolicyOptions`.\n",
            _table({name: _TOPOLOGY_OPTIONS[name] for name in policies.OPTIONS}),
            "## CPU manager options\n\n`cpuManagerPolicyOptions`, with `cpuManagerPolicy: static`.\n",
            _table({name: _CPU_OPTIONS[name] for name in cpu_options.NAMES}),
        ]
    )


def _table(rows: dict[str, str]) -> str:
    lines = (f"| `{name}` | {text} |" for name, text in rows.items())
    return "\n".join(["| Option | What it does |", "|---|---|", *lines, ""])
