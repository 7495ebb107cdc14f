"""The `kubelet` section of a scenario: a KubeletConfiguration, written there, in a file of the user's, or both."""

from collections.abc import Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import Where, YamlError, read
from numaproof.harness.decision.config import Setting, config_of, settings_in, settings_of
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
        own = {key: value for key, value in fields.mapping("kubelet").items() if key != "file"}
        self._settings = _of_file(fields) | settings_of(own, fields.at("kubelet"))
        self.values = {key: setting.value for key, setting in self._settings.items()}

    def check(self, matrix: Mapping[str, tuple[str, ...]], where: Where) -> None:
        """That a node can start with these settings, and with every value of a matrix; else a UserError."""
        first = {}  # of every row: some settings go with others only
        for key, values in matrix.items():
            for name, typed in kubelet_values({key: values[0]}).items():
                settings_of({name: typed}, Where(f"{where.file}:{where.at(key).line}"))  # the kubelet has that key
                first[name] = Setting(str(where.at(key).at(0)), typed)
        config_of({**first, **self._settings})
        for key, values in matrix.items():
            for i, value in enumerate(values):
                for name, typed in kubelet_values({key: value}).items():
                    config_of({**self._settings, **first, name: Setting(str(where.at(key).at(i)), typed)})


def _of_file(fields: Fields) -> dict[str, Setting]:
    named = fields.mapping("kubelet").get("file")
    if named is None:
        return {}
    kubelet = Fields({"file": named}, fields.at("kubelet"), ("file",))
    try:
        document = read(kubelet.path("file"))
    except YamlError as error:
        raise UserError(f"{kubelet.at('file')}: {error}") from None
    return settings_in(document)
