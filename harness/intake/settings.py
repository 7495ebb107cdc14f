"""The settings of a kubelet, gathered from the tables and flags of a text, with what has to be said about them."""

from collections.abc import Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import is_elision, shown
from numaproof.fake_sysfs.strict_yaml import Where
from numaproof.harness.decision.config import Setting
from numaproof.harness.decision.kubelet_flags import FLAGS, with_flags
from numaproof.harness.decision.kubelet_keys import USED, WITHOUT_EFFECT
from numaproof.harness.intake.command_line import CommandLine
from numaproof.near import nearest

FORMS = "a KubeletConfiguration, the answer of /configz, or a kubelet's command line"
KIND = "KubeletConfiguration"
_VERSION = "kubelet.config.k8s.io/v1beta1"
_MOST_SHOWN = 4
_MOST_LOOKED_AT = 2000  # keys for which a similar one is sought: a configuration has some hundred
_LEFT_OUT = object()

Found = tuple[dict[str, Setting] | None, tuple[str, ...], tuple[str, ...]]


class Gathered:
    """What was found so far; of a key that is given twice the last one counts, and flags count more than files."""

    def __init__(self, where: str) -> None:
        self.known = False  # whether there is a configuration, or the name of its file
        self.notes: list[str] = []
        self.misspelt: list[str] = []  # keys where nothing is known, for a message
        self._is_told = False  # whether there is a configuration, be it an empty one
        self._where = where
        self._settings: dict[str, Setting] = {}
        self._flags: dict[str, Setting] = {}
        self._files: dict[str, None] = {}
        self._looked_at = 0

    def found(self) -> Found:
        """The settings (None: they are elsewhere), the notes, and the configuration files that flags name."""
        settings = with_flags(self._settings, self._flags) if self._is_told else None
        return settings, tuple(dict.fromkeys(self.notes)), tuple(self._files)

    def add_flags(self, line: CommandLine) -> None:
        """Flags of a command line, or of a file that holds some."""
        for key, setting in line.settings.items():
            self._say_if_other(self._flags.get(key), setting)
        self.known |= bool(line.settings or line.config_files)
        self._is_told |= bool(line.settings)
        self._flags = with_flags(self._flags, line.settings)
        self.notes += line.notes
        self._files |= dict.fromkeys(line.config_files)

    def add(self, table: Mapping[str, Any], here: Where) -> None:
        """A table that may be a configuration; if it is none, no more than its misspelt keys are remembered."""
        is_one = table.get("kind") == KIND or not USED.isdisjoint(table)
        self.known |= is_one
        self._is_told |= is_one
        unknown, notes = [], []
        for key, value in table.items():
            if key in USED:
                self._set(key, value, here)
            elif key not in WITHOUT_EFFECT and key not in ("kind", "apiVersion", "metadata") and key not in FLAGS:
                if inner := _inner_key(value):
                    notes.append(f"{here.at(key).at(inner)}: has no effect there; write it at the top")
                elif near := self._near(key):
                    self.misspelt.append(f"{here.at(key)}: is unknown; did you mean {near}?")
                    notes.append(_passed_over(self.misspelt[-1]))
                elif is_one:
                    unknown.append(key[:60])
        if not is_one:
            return
        version = table.get("apiVersion", _VERSION)
        if table.get("kind") == KIND and version != _VERSION:
            self.notes.append(f"{self._where}: is of {shown(version)}; it is read as {_VERSION}")
        self.notes += notes
        if unknown:
            more = f" and {len(unknown) - _MOST_SHOWN} more" if len(unknown) > _MOST_SHOWN else ""
            told = ", ".join(unknown[:_MOST_SHOWN])
            self.notes.append(f"{self._where}: unknown keys are passed over: {told}{more}")

    def add_piece(self, key: str, value: Any, here: Where, problem: str) -> None:
        """A key that opens a line; `problem` if its value cannot be read."""
        if key not in USED:
            if near := self._near(key):
                self.misspelt.append(f"{here}: is unknown; did you mean {near}?")
                self.notes.append(_passed_over(self.misspelt[-1]))
        elif problem:
            self.notes.append(f"{here}: is passed over: {problem}")
        else:
            self.known = self._is_told = True
            self._set(key, value, Where(here.file, here.lines))

    def _set(self, key: str, value: Any, here: Where) -> None:
        place = here.at(key)
        if inner := _inner_key(value):
            raise UserError(f"{place.at(inner)}: is not a part of {key}; write it at the top, beside {key}")
        whole = self._without_elisions(value, place)
        if whole is None:
            self.notes.append(f"{place}: has no value, and is passed over; indent what belongs to it")
        elif whole is not _LEFT_OUT:
            setting = Setting(str(place), whole)
            self._say_if_other(self._settings.get(key), setting)
            self._settings[key] = setting

    def _say_if_other(self, earlier: Setting | None, setting: Setting) -> None:
        if earlier is not None and earlier.value != setting.value:
            self.notes.append(f"{setting.where}: is given before, as {shown(earlier.value)}; the last one counts")

    def _without_elisions(self, value: Any, place: Where) -> Any:
        """The value without what somebody left out of it."""
        if isinstance(value, str) and is_elision(value):
            self.notes.append(f"{place}: is elided, and not known ({shown(value)})")
            return _LEFT_OUT
        if isinstance(value, dict):
            kept = {key: self._without_elisions(one, place.at(key)) for key, one in value.items()}
            return {key: one for key, one in kept.items() if one is not _LEFT_OUT}
        if isinstance(value, list):
            inner = [self._without_elisions(one, place.at(index)) for index, one in enumerate(value)]
            left = [one for one in inner if one is not _LEFT_OUT]
            return left if left or not inner else _LEFT_OUT
        return value

    def _near(self, key: str) -> str | None:
        """The key of ours that a key was perhaps meant to be."""
        bare = "".join(filter(str.isalpha, key[:80])).lower()
        if not 7 <= len(bare) <= 40 or key in WITHOUT_EFFECT or self._looked_at >= _MOST_LOOKED_AT:
            return None
        self._looked_at += 1
        return nearest(bare, USED, 0.88)


def _inner_key(value: Any) -> str | None:
    """A key of a configuration that stands in a value, where none belongs."""
    return next((key for key in value if key in USED), None) if isinstance(value, dict) else None


def _passed_over(message: str) -> str:
    return message.replace("is unknown; ", "is unknown, and passed over; ")
