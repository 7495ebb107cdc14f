"""The folder of a run's results: it holds this run alone, and what is not ours in it stays as it is."""

import json
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from numaproof.errors import UserError
from numaproof.fake_sysfs import Machine
from numaproof.harness.report.pictures import picture_name, write_pictures

JUNIT, SUMMARY, PAGE, PICTURES = "junit.xml", "summary.json", "index.html", "machines"
# In the order in which they come; the summary, by which the others are known as ours, comes first and goes last.
_FILES = (SUMMARY, JUNIT, PAGE)
_SCRATCH = ".numaproof-"
_OF_PAGE = 'name="generator" content="numaproof"'
_HEAD_OF_PAGE = 4096  # characters


class OutFolder:
    """A folder from `with`, at which earlier results go, to its end; a UserError where it cannot be made or written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Self:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # What a killed run left.
            for left in self.path.glob(f"{_SCRATCH}*"):
                shutil.rmtree(left, ignore_errors=True)
            self._scratch = Path(tempfile.mkdtemp(prefix=_SCRATCH, dir=self.path))
        except OSError as error:
            told = f"{error.strerror}; give a directory that can be made and written"
            raise UserError(f"--out {self.path}: {told}") from error
        try:
            self._remove_earlier()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    @property
    def page(self) -> Path:
        """Where the page is, once all is published."""
        return self.path / PAGE

    def publish(self, summary: Mapping[str, Any], junit: str, page: str, machines: Mapping[str, Machine]) -> None:
        """Put all results in their places, each as a whole."""
        (self._scratch / SUMMARY).write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        (self._scratch / JUNIT).write_text(junit, encoding="utf-8")
        (self._scratch / PAGE).write_text(page, encoding="utf-8")
        write_pictures(machines, self._scratch / PICTURES)
        for name in _FILES:
            (self._scratch / name).replace(self.path / name)
        (self.path / PICTURES).mkdir(exist_ok=True)
        for picture in (self._scratch / PICTURES).iterdir():
            picture.replace(self.path / PICTURES / picture.name)

    def _remove_earlier(self) -> None:
        try:
            earlier = _summary(self.path / SUMMARY)
            for name in _FILES:
                file = self.path / name
                if _is_there(file) and (earlier is None or not _may_be_ours(file)):
                    what = f"{name} is there, and is not of an earlier run"
                    raise UserError(f"--out {self.path}: {what}; give another folder, or move the file away")
            if earlier is None:
                return
            for machine in {str(one.get("machine")) for one in earlier["results"] if isinstance(one, dict)}:
                (self.path / PICTURES / picture_name(machine)).unlink(missing_ok=True)
            with suppress(OSError):  # there is something of somebody else in it, or it is not there
                (self.path / PICTURES).rmdir()
            for name in reversed(_FILES):
                (self.path / name).unlink(missing_ok=True)
        except OSError as error:
            told = f"{error.strerror}; give a directory that can be made and written"
            raise UserError(f"--out {self.path}: {told}") from error


def _is_there(file: Path) -> bool:
    return file.is_symlink() or file.exists()


def _summary(file: Path) -> dict[str, Any] | None:
    """The summary of an earlier run; None: there is none, or it is somebody else's."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError, ValueError):
        return None
    ours = isinstance(found, dict) and {"runtime", "totals"} <= found.keys() and isinstance(found.get("results"), list)
    return found if ours else None


def _may_be_ours(file: Path) -> bool:
    """Whether a file beside a summary of ours came with it; a page says so."""
    if file.is_dir():
        return False
    if file.name != PAGE:
        return True
    with file.open(encoding="utf-8", errors="replace") as page:
        return _OF_PAGE in page.read(_HEAD_OF_PAGE)
