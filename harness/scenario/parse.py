"""Scenario files become Scenario values; the sole parser and validator.

Everything that can be known before a start is checked here, and told with the user's file and line.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.cost_file import read_costs
from numaproof.fake_sysfs.strict_yaml import Document, Where, read
from numaproof.harness.scenario.expectations import parse_expected
from numaproof.harness.scenario.fields import Fields, shown
from numaproof.harness.scenario.form import DEVICES, PLAIN, SCENARIO, VALUES
from numaproof.harness.scenario.kubelet import KubeletSection
from numaproof.harness.scenario.model import Needs, PluginSpec, Scenario, Step
from numaproof.harness.scenario.size_words import check_count
from numaproof.harness.scenario.steps.action import Known
from numaproof.harness.scenario.steps.kinds import KINDS
from numaproof.near import did_you_mean

_LARGEST = 1 << 20  # bytes of a file: it is more than any story needs


def parse_scenario(path: Path) -> Scenario:
    """The scenario of a file, or one line that says what is wrong with it, and where."""
    document = read(path, largest=_LARGEST)
    if document.value is None:
        raise UserError(f"{path}: holds nothing; `numaproof init scenario` writes one to start from")
    if isinstance(document.value, dict) and {"apiVersion", "kind"} <= document.value.keys():
        what = f"is a {document.value['kind']}, not a scenario"
        raise UserError(f"{path}: {what}; keep such files outside of the folders of scenarios")
    fields = Fields(document.value, document.where, SCENARIO)
    plugins = tuple(_plugin(one) for one in fields.each("plugins"))
    matrix = _matrix(fields)
    if "refuses" in fields and "steps" in fields:
        raise UserError(
            f"{fields.at('refuses')}: a node that does not start takes no steps; drop one of refuses, steps"
        )
    listed = () if "refuses" in fields else tuple(fields.each("steps"))
    known = Known({plugin.resource: _named_devices(plugin) for plugin in plugins})
    kubelet = KubeletSection(fields)
    if "refuses" not in fields:  # else it may be wrong on purpose
        kubelet.check(matrix, fields.at("matrix"))
    return Scenario(
        path=path,
        theme=path.parent.name,
        name=fields.text("name"),
        why=fields.text("why"),
        source=fields.text("source"),
        needs=_needs(fields.inner("needs")),
        matrix=matrix,
        kubelet=kubelet.values,
        plugins=plugins,
        steps=tuple(_step(one, known, matrix) for one in listed),
        refuses=fields.text("refuses") if "refuses" in fields else None,
    )


def _matrix(fields: Fields) -> dict[str, tuple[str, ...]]:
    """policy, scope, semantics, machine, and anything else by its KubeletConfiguration key: each a list of values."""
    matrix = {}
    for key, values in fields.mapping("matrix").items():
        where = fields.at("matrix").at(key)
        if not isinstance(values, list) or not values:
            raise UserError(f"{where}: {shown(values)} is not a list of values; write [...]")
        known = VALUES.get(key)
        for value in values:
            if known and value not in known:
                told = f"take some of: {', '.join(known)}{did_you_mean(value, known)}"
                raise UserError(f"{where}: {shown(value)} is not known; {told}")
            if not PLAIN.fits(value):
                raise UserError(f"{where}: {value!r}: a matrix holds plain words; write such values under `kubelet`")
        matrix[key] = tuple(str(value) for value in values)
        if twice := next((word for word in matrix[key] if matrix[key].count(word) > 1), None):
            raise UserError(f"{where}: {twice!r} is there twice; keep one")
    return matrix


def _needs(fields: Fields) -> Needs:
    hugepages = tuple(fields.items("hugepages"))
    known = fields.form("hugepages").item()
    for size in hugepages:
        if not known.fits(size):
            raise UserError(
                f"{fields.at('hugepages')}: {size!r} is not known; take some of: {', '.join(known.words['enum'])}"
            )
    return Needs(
        numa=fields.number("numa"),
        use_numa=fields.number("use_numa") or None,
        numa_cpus=check_count(fields.raw("numa_cpus"), fields.at("numa_cpus")),
        threads=fields.number("threads"),
        most_threads=fields.number("most_threads") or None,
        hugepages=hugepages,
        gpus=fields.number("gpus"),
        rdma=fields.number("rdma"),
        own_machines=fields.text("own_machines") if "own_machines" in fields else None,
    )


def _plugin(fields: Fields) -> PluginSpec:
    given = tuple(key for key in ("sysfs", "like", "per_numa", "devices") if key in fields)
    if given not in DEVICES:
        known = "; ".join(" and ".join(keys) for keys in DEVICES)
        raise UserError(f"{fields.where}: give the devices once, by {known} (given: {', '.join(given) or 'nothing'})")
    devices = []
    for one in fields.each("devices"):
        numa = one.raw("numa")
        if not one.fits("numa"):
            raise UserError(f"{one.at('numa')}: {numa!r} is not a list of NUMA nodes; leave it out for no topology")
        devices.append({"id": one.text("id"), "numa": numa, "healthy": one.flag("healthy")})
    return PluginSpec(
        resource=fields.text("resource"),
        per_numa=check_count(fields.raw("per_numa"), fields.at("per_numa")) if "per_numa" in fields else None,
        devices=tuple(devices),
        sysfs=fields.choice("sysfs") if "sysfs" in fields else None,
        like=fields.choice("like") if "like" in fields else None,
        preferred=fields.choice("preferred"),
        plural=fields.flag("plural"),
        costs=_costs(fields, own_devices=given == ("sysfs",)),
        pre_start=fields.flag("pre_start"),
        list=fields.choice("list"),
        faults=tuple(_fault(fault, fields.at("faults").at(i)) for i, fault in enumerate(fields.items("faults"))),
    )


def _costs(fields: Fields, *, own_devices: bool) -> Mapping[str, Any] | str | None:
    if fields.raw("costs") == "pci":
        if not own_devices:
            raise UserError(f"{fields.at('costs')}: pci are the costs of the machine's own devices; give sysfs alone")
        return "pci"
    costs = fields.mapping("costs")
    if "costs" in fields:
        resource = fields.text("resource")
        if not any(entry.resource == resource for entry in read_costs(Document(costs, fields.at("costs")))):
            raise UserError(f"{fields.at('costs')}: has no costs from {resource}; write {resource}/ID: and a list")
    return costs or None


def _named_devices(plugin: PluginSpec) -> frozenset[str]:
    """The ids of a plugin's devices as far as the scenario alone says them."""
    return frozenset() if plugin.sysfs else frozenset(one["id"] for one in plugin.devices)


def _fault(value: Any, where: Where) -> str:
    from numaproof.plugins_mock import PluginError, parse_fault  # noqa: PLC0415 (gRPC takes long to import)

    try:
        parse_fault(str(value))
    except PluginError as error:
        raise UserError(f"{where}: {error}") from None
    return str(value)


def _step(fields: Fields, known: Known, matrix: Mapping[str, tuple[str, ...]]) -> Step:
    where = fields.where
    kinds = [kind for kind in KINDS if kind in fields]
    if len(kinds) != 1:
        raise UserError(
            f"{where}: a step does one thing: one of {', '.join(KINDS)} (given: {', '.join(kinds) or 'none'})"
        )
    action = KINDS[kinds[0]].parse(fields.raw(kinds[0]), fields.at(kinds[0]), known)
    raw = fields.raw("expect") if "expect" in fields else []
    items = (
        [(one, fields.at("expect").at(i)) for i, one in enumerate(raw)]
        if isinstance(raw, list)
        else [(raw, fields.at("expect"))]
    )
    if action.must_expect and not items:
        raise UserError(f"{where}: expects nothing; say at least `expect: {{admitted: true}}` or false with its reason")
    return Step(action, tuple(parse_expected(*item, action, known, matrix) for item in items), str(where), where.line)
