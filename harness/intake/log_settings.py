"""The configuration that a kubelet's log tells, where nobody gives another."""

from numaproof.harness.decision.config import Setting
from numaproof.harness.intake.command_line import read_logged_flags, shows_flags
from numaproof.harness.intake.log_facts import LogFacts

_DEFAULTS = {"prefer-closest-numa-nodes": "false", "max-allowable-numa-nodes": "8"}  # a log tells them, too


def settings_of_log(facts: LogFacts, text: str, where: str) -> tuple[dict[str, Setting], tuple[str, ...]]:
    """The settings of a log, by its flags and by what its managers were made of, and what has to be said of them."""
    flags = read_logged_flags(text, where) if shows_flags(text) else None
    found = dict(flags.settings) if flags else {}
    options = {name: value for name, value in facts.options.items() if _DEFAULTS.get(name) != value}
    cpu_options = {name: value for name, value in facts.cpu_options.items() if value != "false"}
    told = {
        "topologyManagerPolicy": facts.policy,
        "topologyManagerScope": facts.scope,
        "topologyManagerPolicyOptions": options or None,
        "cpuManagerPolicy": facts.cpu_policy,
        "cpuManagerPolicyOptions": cpu_options or None,
        "reservedSystemCPUs": facts.reserved_cpus,
        "memoryManagerPolicy": facts.memory_policy,
    }
    found |= {key: Setting(where, value) for key, value in told.items() if value is not None}
    if not found:
        return {}, ()
    note = f"the configuration is what {where} tells: {', '.join(sorted(found))}"
    return found, (note, *(flags.notes if flags else ()))
