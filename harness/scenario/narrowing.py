"""Narrows a selection of scenarios to the instances that somebody wants to run."""

from collections.abc import Callable

from numaproof.errors import UserError
from numaproof.harness.scenario.instances import Instance
from numaproof.harness.scenario.selection import Selection
from numaproof.near import did_you_mean


def policy_of(instance: Instance) -> str:
    """The Topology Manager's policy of an instance's node."""
    return instance.values.get("policy") or str(instance.scenario.kubelet.get("topologyManagerPolicy", "none"))


def scope_of(instance: Instance) -> str:
    """The Topology Manager's scope of an instance's node."""
    return instance.values.get("scope") or str(instance.scenario.kubelet.get("topologyManagerScope", "container"))


def check_themes(themes: list[str], selection: Selection) -> None:
    """A UserError if a theme has no scenario among those that are selected."""
    known = {one.scenario.theme for one in selection.instances}
    for theme in themes:
        if theme not in known:
            has = f"it has: {', '.join(sorted(known))}"
            raise UserError(f"--theme {theme}: is not a theme of what is selected ({has}){did_you_mean(theme, known)}")


def narrowed(selection: Selection, keep: Callable[[Instance], bool]) -> Selection:
    """Those instances of a selection that shall be kept."""
    kept = tuple(filter(keep, selection.instances))
    ids = {one.id for one in kept}
    names = [name for path, listed in selection.files.items() for name in _names(str(path), listed, ids)]
    files = {path: listed for path, listed in selection.files.items() if any(one.id in ids for one in listed)}
    return Selection(tuple(names), kept, files)


def _names(path: str, listed: tuple[Instance, ...], ids: set[str]) -> list[str]:
    """A file's instances as pytest takes them: the file, if it is all of them."""
    meant = [one.id for one in listed if one.id in ids]
    return [path] if len(meant) == len(listed) else [f"{path}::{one}" for one in meant]
