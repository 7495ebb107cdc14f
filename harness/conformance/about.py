"""What a report says of its own making: what was checked, where, and how to ask again."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """What was checked, as the user named it; what nobody knows is empty."""

    subject: str = ""  # its command as a shell takes it, or where it runs already
    version: str = ""  # the plugin's own
    image: str = ""  # its reference, with the digest
    machine: str = ""
    runtime: str = ""
    # Both in words that a shell takes for themselves. The options are those of the command line that makes the same
    # run, but for the choice of checks and the seed.
    options: tuple[str, ...] = ()
    command: tuple[str, ...] = ()  # of the subject; empty: the options name it

    def command_for(self, check_id: str, seed: int) -> str:
        """The command line that makes one check alone, with the same requests; empty: nobody knows the subject."""
        if not self.subject:
            return ""
        words = ("numaproof", "check", "--only", check_id, "--seed", str(seed), *self.options)
        return " ".join((*words, "--", *self.command) if self.command else words)
