"""The forms of a scenario file: which keys there are, what may stand there, and what they say.

`parse.py` reads by them, and the JSON Schema for editors is made of them.
"""

from numaproof.fake_sysfs import preset_names
from numaproof.fake_sysfs.cost_file import COSTS
from numaproof.fake_sysfs.forms import (
    TRUTH,
    Form,
    Key,
    any_of,
    exactly_one,
    list_of,
    one_of,
    one_set_of,
    shape,
)
from numaproof.harness.decision.kubelet_keys import USED, WITHOUT_EFFECT
from numaproof.harness.scenario.expectations import EXPECTED
from numaproof.harness.scenario.fields import TEXT, WHOLE
from numaproof.harness.scenario.kubelet import KUBELET, NOT_OF_THE_KUBELET, SHORT_KEYS
from numaproof.harness.scenario.size_words import COUNT
from numaproof.harness.scenario.steps.kinds import KINDS
from numaproof.harness.vocabulary import POLICIES, SCOPES, SEMANTICS

# How the devices of a plugin may be told: the first of several keys says whose, the others what stands in elsewhere.
DEVICES = (
    ("per_numa",),
    ("devices",),
    ("sysfs",),
    ("sysfs", "per_numa"),
    ("sysfs", "like"),
    ("sysfs", "like", "devices"),
)
VALUES = {"policy": POLICIES, "scope": SCOPES, "semantics": SEMANTICS}  # of a matrix
PLAIN = Form({"type": ["string", "number", "boolean", "null"]})

_ABOUT_VALUES = {
    "policy": "policies of the Topology Manager: an instance for each",
    "scope": "scopes of the Topology Manager: an instance for each",
    "semantics": "current: what the kubelet does; kep: what the original proposal says",
}
MATRIX = Form(
    {
        "description": "An instance for each combination of these values.",
        "type": "object",
        "properties": {
            "machine": Form(
                {**list_of(PLAIN, least=1, uniqueItems=True).words, "description": "presets, files, or hwloc strings"}
            ),
            **{
                key: Form(
                    {**list_of(one_of(known), least=1, uniqueItems=True).words, "description": _ABOUT_VALUES[key]}
                )
                for key, known in VALUES.items()
            },
        },
        "propertyNames": {"enum": sorted({*NOT_OF_THE_KUBELET, *SHORT_KEYS, *USED, *WITHOUT_EFFECT})},
        "additionalProperties": list_of(PLAIN, least=1, uniqueItems=True),
    }
)
NEEDS = shape(
    "needs",
    "What a machine must have for the story to mean anything there; elsewhere it is skipped, with the reason.",
    {
        "numa": Key(WHOLE, "NUMA nodes with CPUs, at least", default=1),
        "use_numa": Key(WHOLE, "only so many NUMA nodes are used, all else is reserved; 0: all are used", default=0),
        "numa_cpus": Key(COUNT, "free CPUs of the smallest NUMA node, a size", default=1),
        "threads": Key(WHOLE, "CPUs of a core, at least", default=1),
        "most_threads": Key(WHOLE, "CPUs of a core, at most; 0: any number", default=0),
        "hugepages": Key(list_of(one_of(("2Mi", "1Gi"))), "huge pages, on every NUMA node with CPUs"),
        "gpus": Key(WHOLE, "GPUs in the PCI tree, at least", default=0),
        "rdma": Key(WHOLE, "network cards in the PCI tree, at least", default=0),
        "own_machines": Key(TEXT, "why it means something on the machines of its matrix alone"),
    },
)
DEVICE = shape(
    "device",
    "A device of a plugin.",
    {
        "id": Key(TEXT, "its id, as the plugin lists it", required=True),
        "numa": Key(
            any_of(list_of(Form({"type": "integer"})), Form({"type": "null"})),
            "its NUMA nodes by their positions; left out: it has no topology, []: one that names no node",
        ),
        "healthy": Key(TRUTH, "whether it is healthy at the start", default=True),
    },
)
PLUGIN = shape(
    "plugin",
    "A fake device plugin: its resource, its devices, and how it behaves.",
    {
        "resource": Key(TEXT, "the resource that it offers, such as example.com/gpu", required=True),
        "per_numa": Key(COUNT, "so many devices on every NUMA node with CPUs, a size"),
        "devices": Key(list_of(DEVICE), "exactly these devices"),
        "sysfs": Key(
            one_of(("gpu", "nic", "rdma")),
            "the machine's own GPUs, virtual functions of network cards, or the cards as a whole",
        ),
        "like": Key(one_of(preset_names()), "with sysfs: the preset whose devices stand in where a machine has none"),
        "preferred": Key(one_of(("none", "lowest", "links")), "what GetPreferredAllocation answers", default="none"),
        "plural": Key(TRUTH, "it offers the draft GetPreferredAllocations, too", default=False),
        "costs": Key(
            any_of(one_of(("pci",)), COSTS),
            "what it tells of costs, as in a cost file; pci: those of the PCI tree, with sysfs alone",
        ),
        "pre_start": Key(TRUTH, "it wants PreStartContainer", default=False),
        "list": Key(one_of(("kept", "fails", "ends")), "whether its list of devices ends, and when", default="kept"),
        "faults": Key(
            list_of(
                Form({"type": "string", "pattern": "^[A-Za-z]+=.+$", "examples": ["Allocate=error:UNAVAILABLE*2"]})
            ),
            "what goes wrong: CALL=KIND[:VALUE][*TIMES]; numaproof plugin --list-faults has all",
        ),
    },
    one_set_of(DEVICES),
)


def _summary(text: str | None) -> str:
    return (text or "").partition("\n")[0]


STEP = shape(
    "step",
    "One thing that happens, and what shall be seen then.",
    {
        **{name: Key(kind.form, _summary(kind.__doc__)) for name, kind in KINDS.items()},
        "expect": Key(
            any_of(EXPECTED, list_of(EXPECTED)), "what shall be seen then; a list: each for some values of the matrix"
        ),
    },
    exactly_one(tuple(KINDS)),
    {
        "dependentSchemas": {
            name: {"required": ["expect"], "properties": {"expect": {"minItems": 1}}}
            for name, kind in KINDS.items()
            if kind.must_expect
        }
    },
)
SCENARIO = shape(
    "scenario",
    "A story of pods on a node: why it matters, where it comes from, what happens, and what shall be seen.",
    {
        "name": Key(TEXT, "what it is about; shown when it fails", required=True),
        "why": Key(TEXT, "why it matters; shown when it fails", required=True),
        "source": Key(TEXT, "where it comes from: a document, an issue, a user's wish", required=True),
        "needs": Key(NEEDS, "what a machine must have; elsewhere the story is skipped, with the reason"),
        "matrix": Key(
            MATRIX, "an instance for each combination: machine, policy, scope, semantics, or a key of the kubelet's"
        ),
        "kubelet": Key(KUBELET, "any part of a KubeletConfiguration; file names one, which the other keys override"),
        "plugins": Key(list_of(PLUGIN), "the fake device plugins of the node"),
        "steps": Key(list_of(STEP, least=1), "what happens, one after the other"),
        "refuses": Key(TEXT, "instead of steps: the node must refuse to start, and say this"),
    },
    exactly_one(("steps", "refuses")),
)
