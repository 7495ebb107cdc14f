"""All that is known of a run when it has ended: what its page and its summary are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from numaproof.fake_sysfs import Machine
from numaproof.harness.report.matrix import InstanceResult, summary
from numaproof.harness.report.run_again import Again


@dataclass(frozen=True, slots=True)
class RunReport:
    """A run: how every instance ended, and what it was a run of."""

    results: tuple[InstanceResult, ...]  # by id; of a run that was cut those that had ended
    runtime: str  # docker, namespace or process
    version: str  # of numaproof
    started: datetime  # with a time zone
    seconds: float
    command: str  # as a shell takes it
    machines: Mapping[str, Machine]  # name -> as the instances have it; also those whose instances did not run
    did_not_run: int = 0  # instances that had not ended when the run was: by a Ctrl-C, or at the first failure
    again: Again = field(default_factory=Again)

    def summary(self) -> dict[str, Any]:
        """All of it but the records, for programs."""
        about = {
            "version": self.version,
            "started": self.started.isoformat(timespec="seconds"),
            "seconds": round(self.seconds, 3),
            "command": self.command,
            "cut": self.did_not_run > 0,
            "did_not_run": self.did_not_run,
        }
        return summary(self.results, self.runtime, about)
