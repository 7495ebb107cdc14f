"""Costs from the proposal's file."""

from collections import defaultdict

from numaproof.fake_sysfs.cost_file import read_costs
from numaproof.fake_sysfs.strict_yaml import Document
from numaproof.harness.cost.costs import Costs, Entry, Report, Unlisted
from numaproof.harness.cost.names import layer_order, natural


def costs_of(document: Document, unlisted: Unlisted = "nothing") -> Costs:
    """The costs of a file that was read; whatever it names is an instance. A UserError says where it is wrong.

    The keys of one resource are one reporter, as if its plugin had said it.
    """
    entries: dict[str, list[Entry]] = defaultdict(list)
    instances: dict[str, dict[str, None]] = defaultdict(dict)
    for one in read_costs(document):
        entries[one.resource].append(Entry(one.resource, one.ids, one.to_resource, one.to_ids, one.cost))
        instances[one.resource] |= dict.fromkeys(one.ids)
        instances[one.to_resource] |= dict.fromkeys(one.to_ids)
    return Costs(
        {resource: tuple(sorted(instances[resource], key=natural)) for resource in sorted(instances, key=layer_order)},
        tuple(Report(resource, tuple(found)) for resource, found in entries.items()),
        unlisted=unlisted,
    )
