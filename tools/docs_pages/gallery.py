"""The gallery: a drawing of every machine that comes with numaproof."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from docs_pages.markdown import prose
from docs_pages.pictures import by_scheme, shown
from numaproof import fake_sysfs
from numaproof.harness.drawing.headline import headline
from numaproof.harness.drawing.scene import Scene
from numaproof.harness.drawing.svg import draw_svg

_HEAD = """# A gallery of machines

The drawing of every preset, and of the machines that the shipped scenarios have beside them. `numaproof machine show
NAME --svg FILE` makes such a drawing of any [machine](../machines.md); `numaproof explain` shows in it who holds what.
"""
_WIDTHS = {"": 1000, ".narrow": 420}  # of screens, and of telephones


def pages(repository: Path) -> Mapping[str, str]:
    """The page, and its pictures beside it, by their names."""
    presets = {name: (name, Path(f"fake_sysfs/presets/{name}.yaml")) for name in fake_sysfs.preset_names()}
    files = sorted((repository / "suites/machines").glob("*.yaml"))
    others = {path.stem: (str(path), path.relative_to(repository)) for path in files}
    found: dict[str, str] = {}
    text = [_HEAD]
    for title, machines in (("Presets", presets), ("Machines of scenarios", others)):
        text.append(f"## {title}\n")
        for name, (argument, path) in machines.items():
            machine = fake_sysfs.parse_machine(argument)
            text += [f"### {name}\n", f"{prose(headline(machine))}. {_said(repository / path)} From `{path}`.\n"]
            for ending, width in _WIDTHS.items():
                picture = f"machines/{name}{ending}.svg"
                found |= by_scheme(picture, draw_svg(Scene(machine), width=width))
                text.append(f'<div class="np-picture{ending.replace(".", " np-")}" markdown>\n')
                text += [shown(picture, f"{name}: {headline(machine)}"), "\n</div>\n"]
    return {"gallery.md": "\n".join(text), **found}


def _said(path: Path) -> str:
    """The comment that a machine file opens with."""
    return prose(" ".join(line.lstrip("# ") for line in _opening(path)))


def _opening(path: Path) -> Iterator[str]:
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            return
        yield line
