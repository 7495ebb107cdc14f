"""The configuration that a kubelet's log tells, where nobody gives another."""

from numaproof.harness.decision.config import Setting
from numaproof.harness.intake.command_line import CommandLine, read_logged_flags, shows_flags
from numaproof.harness.intake.completion import ASSUMED_POLICIES
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
    notes = [f"the configuration is what {where} tells: {', '.join(sorted(found))}", *(flags.notes if flags else ())]
    if not _tells_all(flags) and (missing := {key: one for key, one in ASSUMED_POLICIES.items() if key not in found}):
        notes.append(f"{where} does not tell, and assumed is: " + ", ".join(map(" ".join, missing.items())))
        found |= {key: Setting("assumed", policy) for key, policy in missing.items()}
    return found, tuple(notes)


def _tells_all(flags: CommandLine | None) -> bool:
    """Whether what is not told is at its default: all flags are told, and none names a file that may say otherwise."""
    return flags is not None and not flags.config_files
