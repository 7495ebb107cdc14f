"""The `kubelet` section of a scenario: a KubeletConfiguration, written there, in a file of the user's, or both."""

from collections.abc import Mapping
from typing import Any

from numaproof.errors import UserError
from numaproof.fake_sysfs.forms import ANYTHING, Key, one_of, shape
from numaproof.fake_sysfs.strict_yaml import Where, YamlError, read
from numaproof.harness.decision.config import KIND, VERSION, Setting, config_of, settings_in, settings_of
from numaproof.harness.decision.kubelet_keys import USED, WITHOUT_EFFECT
from numaproof.harness.scenario.fields import TEXT, Fields

# What a matrix calls by a shorter name -> the key of a KubeletConfiguration.
SHORT_KEYS = {"policy": "topologyManagerPolicy", "scope": "topologyManagerScope"}
NOT_OF_THE_KUBELET = ("machine", "semantics")  # what else a matrix may hold
_FILE = {"file": Key(TEXT, "a KubeletConfiguration beside the scenario, which the other keys override")}
KUBELET = shape(
    "kubelet",
    "Any part of a KubeletConfiguration. Values are judged by the kubelet's own rules, when the file is read.",
    {
        **_FILE,
        "kind": Key(one_of((KIND,)), "as in a file of the kubelet's"),
        "apiVersion": Key(one_of((VERSION,)), "as in a file of the kubelet's"),
        **{key: Key(ANYTHING, "as in a KubeletConfiguration; the node acts on it") for key in sorted(USED)},
        **{key: Key(ANYTHING, "as in a KubeletConfiguration; without effect") for key in sorted(WITHOUT_EFFECT)},
    },
)


def kubelet_values(row: Mapping[str, str]) -> dict[str, Any]:
    """What one value of each row of a matrix says of the kubelet: key of a KubeletConfiguration -> value."""
    return {
        SHORT_KEYS.get(key, key): int(value) if value.isdecimal() else value
        for key, value in row.items()
        if key not in NOT_OF_THE_KUBELET
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
    given = fields.mapping("kubelet")
    if "file" not in given:
        return {}
    kubelet = Fields({"file": given["file"]}, fields.at("kubelet"), KUBELET)
    try:
        document = read(kubelet.path("file"))
    except YamlError as error:
        raise UserError(f"{kubelet.at('file')}: {error}") from None
    return settings_in(document)
