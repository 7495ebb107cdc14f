"""The `kubelet` section of a scenario: a KubeletConfiguration, written there, in a file of the user's, or both."""

from collections.abc import Mapping
from typing import Any

from numaproof.fake_sysfs.strict_yaml import Where, YamlFault, read
from numaproof.harness.decision.config import Setting, config_of, settings_of
from numaproof.harness.errors import UserError
from numaproof.harness.scenario.fields import Fields

# What a matrix calls by a shorter name -> the key of a KubeletConfiguration.
_KEYS = {"policy": "topologyManagerPolicy", "scope": "topologyManagerScope"}
_NOT_OF_THE_KUBELET = ("machine", "semantics")  # what else a matrix may hold


def kubelet_values(row: Mapping[str, str]) -> dict[str, Any]:
    """What one value of each row of a matrix says of the kubelet: key of a KubeletConfiguration -> value."""
    return {
        _KEYS.get(key, key): int(value) if value.isdecimal() else value
        for key, value in row.items()
        if key not in _NOT_OF_THE_KUBELET
    }


class KubeletSection:
    """The settings of a scenario's kubelet, with where each was given."""

    def __init__(self, fields: Fields) -> None:
        """Of the key `kubelet`: `file` names a KubeletConfiguration, all other keys override what that says."""
        own = fields.mapping("kubelet")
        self.values: dict[str, Any] = {}
        self._settings: dict[str, Setting] = {}
        if "file" in own:
            self._read(Fields({"file": own["file"]}, fields.at("kubelet"), ("file",)))
        self._take({key: value for key, value in own.items() if key != "file"}, fields.at("kubelet"))

    def check(self, matrix: Mapping[str, tuple[str, ...]], where: Where) -> None:
        """That a node can start with these settings, and with every value of a matrix; else a UserError."""
        config_of(self._settings)
        for key, values in matrix.items():
            for i, value in enumerate(values):
                for name, typed in kubelet_values({key: value}).items():
                    config_of({**self._settings, name: _setting(name, typed, where.at(key).at(i))})

    def _read(self, fields: Fields) -> None:
        try:
            document = read(fields.path("file"))
        except YamlFault as error:
            raise UserError(f"{fields.at('file')}: {error}") from None
        if not isinstance(document.value, dict):
            remedy = "write keys such as topologyManagerPolicy: restricted"
            raise UserError(f"{document.where}: is not a KubeletConfiguration; {remedy}")
        self._take(document.value, document.where)

    def _take(self, values: Mapping[str, Any], where: Where) -> None:
        for key, value in values.items():
            setting = _setting(key, value, where.at(key))
            if key not in ("kind", "apiVersion"):  # which every KubeletConfiguration has
                self._settings[key] = setting
                self.values[key] = value


def _setting(key: str, value: Any, where: Where) -> Setting:
    """A setting with its position; a UserError if the kubelet has no such key."""
    settings_of({key: value}, f"{where.file}:{where.line}")
    return Setting(str(where), value)
