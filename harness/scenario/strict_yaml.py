"""YAML in which nothing is lost silently: a key that comes twice in a mapping is an error."""

from collections.abc import Hashable
from typing import Any

import yaml


def load(text: str) -> Any:
    """The one document of a text; raises yaml.YAMLError."""
    try:
        return yaml.load(text, _Loader)
    except RecursionError as error:
        raise yaml.YAMLError("it is nested too deep") from error


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"the key {key.value} repeats", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)
