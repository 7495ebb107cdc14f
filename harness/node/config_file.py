"""Reading a KubeletConfiguration file."""

from pathlib import Path

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import YamlFault, read
from numaproof.harness.decision.config import Setting, settings_in


def read_settings(path: Path) -> dict[str, Setting]:
    """The settings of a KubeletConfiguration file; a UserError names the file, the line and what is wrong there."""
    try:
        return settings_in(read(path))
    except YamlFault as error:
        raise UserError(str(error)) from None
