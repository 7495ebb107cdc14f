"""Reading a KubeletConfiguration file."""

from pathlib import Path

from numaproof.harness.decision.config import Setting, settings_from
from numaproof.harness.errors import UserError


def read_settings(path: Path) -> dict[str, Setting]:
    """The settings of a KubeletConfiguration file; a UserError names the file and what is wrong in it."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error}); give a KubeletConfiguration in YAML") from None
    return settings_from(text, str(path))
