"""What is installed: one name, which breaks nothing of the projects that it is installed beside."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import numaproof
from tests.places import short_directory

REPOSITORY = Path(__file__).parent.parent
OURS = ("harness", "fake_sysfs", "plugins_mock", "suites")


@dataclass(frozen=True)
class Installed:
    """A virtual environment with nothing but the wheel, and what we ourselves depend on."""

    python: Path
    wheel: Path
    sdist: Path

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run its interpreter in a folder, with no word of where our work tree is."""
        environment = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(cwd)}
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=cwd,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built from the work tree and installed."""
    place = tmp_path_factory.mktemp("installed")
    _build(REPOSITORY, place / "dist")
    [wheel], [sdist] = (list((place / "dist").glob(f"*{ending}")) for ending in (".whl", ".tar.gz"))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place / "venv"], check=True)
    python = place / "venv/bin/python"
    install = ("install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps", str(wheel))
    subprocess.run([sys.executable, "-m", "pip", "--python", python, *install], check=True)
    # What we depend on is taken from the environment that runs this, numaproof only from the wheel: a folder that a
    # .pth file names is searched, but the .pth files in it, such as that of an editable install, are not read.
    [packages] = (place / "venv/lib").glob("python3*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(python, wheel, sdist)


@pytest.fixture
def project() -> Iterator[Path]:
    """An empty project of somebody else's; its path is short, as plugins have sockets there."""
    with short_directory() as place:
        yield place


def _build(source: Path, destination: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", destination],
        cwd=source,
        check=True,
        capture_output=True,
    )


def test_one_top_level_name_is_installed(installed: Installed, project: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "pip", "--python", installed.python, "show", "--files", "numaproof"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    files = [line.strip() for line in shown.partition("Files:\n")[2].splitlines() if line.startswith("  ")]
    assert {name.split("/")[0] for name in files} - {".."} == {
        "numaproof",
        f"numaproof-{numaproof.__version__}.dist-info",
    }
    assert [name for name in files if name.startswith("..")] == ["../../../bin/numaproof"]


def test_the_wheel_is_whole(installed: Installed, project: Path) -> None:
    inside = set(zipfile.ZipFile(installed.wheel).namelist())
    ours = {f"numaproof/{path.relative_to(REPOSITORY)}" for name in OURS for path in _files(REPOSITORY / name)}
    assert ours - inside == set()
    assert "numaproof/py.typed" in inside
    done = installed.run("-m", "numaproof", "machine", "show", "dgx-a100", cwd=project)
    assert done.returncode == 0, done.stdout
    done = installed.run("-m", "numaproof", "run", "--list", "single_numa", cwd=project)
    assert done.returncode == 0, done.stdout


def test_the_sdist_makes_the_same_wheel_and_holds_what_tests_it(installed: Installed, tmp_path: Path) -> None:
    with tarfile.open(installed.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [source] = tmp_path.iterdir()
    _build(source, tmp_path / "dist")
    [wheel] = (tmp_path / "dist").glob("*.whl")
    assert sorted(zipfile.ZipFile(wheel).namelist()) == sorted(zipfile.ZipFile(installed.wheel).namelist())
    for folder in ("tests", "docs", "tools", "benchmarks"):
        wanted = {str(path.relative_to(REPOSITORY)) for path in _files(REPOSITORY / folder)}
        assert {str(path.relative_to(source)) for path in _files(source / folder)} == wanted


def _files(folder: Path) -> Iterator[Path]:
    """What git would keep of a folder."""
    return (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def test_the_work_tree_needs_no_installation(installed: Installed, tmp_path: Path) -> None:
    for name in ("numaproof", *OURS):
        shutil.copytree(REPOSITORY / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    seen = installed.run("-c", "import numaproof.harness; print(numaproof.harness.__file__)", cwd=tmp_path)
    assert seen.stdout.strip() == str(tmp_path / "numaproof/harness/__init__.py")
    done = installed.run("-m", "numaproof", "machine", "list", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_project_with_folders_of_our_names_runs_its_pytest_untouched(installed: Installed, project: Path) -> None:
    for name in OURS:
        (project / name).mkdir()
        (project / name / "__init__.py").write_text(f"OWNER = 'theirs: {name}'\n")
    (project / "test_theirs.py").write_text(
        f"import sys\nimport {', '.join(OURS)}\n\n"
        "def test_theirs(pytestconfig):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('numaproof')\n"
        f"    assert [module.OWNER for module in ({', '.join(OURS)})] == {[f'theirs: {name}' for name in OURS]}\n"
        "    assert [name for name in sys.modules if name.startswith('numaproof.')] == ['numaproof.pytest_plugin']\n"
    )
    done = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", cwd=project)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
    # And ours are found beside theirs.
    listed = installed.run("-m", "numaproof", "run", "--list", "single_numa", cwd=project)
    assert listed.returncode == 0, listed.stdout


THEIR_TEST = """
import sys
from pathlib import Path

import api_pb2
import api_pb2_grpc

from numaproof import CATALOGUE, Settings, check


def test_the_plugin_is_conformant():
    assert api_pb2.Device.DESCRIPTOR.full_name == "v1beta1.Device"
    assert api_pb2_grpc.DevicePluginStub
    plugin = Path(__file__).with_name("plugin.py")
    checks = tuple(one for one in CATALOGUE if one.id in ("dp/options/1", "dp/list/2"))
    report = check([sys.executable, str(plugin)], Settings(checks, supervise=True))
    assert [(result.check.id, result.verdict) for result in report.results] == [
        ("dp/options/1", "pass"), ("dp/list/2", "pass")
    ]
"""


def test_a_project_with_its_own_stubs_uses_our_conformance_in_the_same_process(
    installed: Installed, project: Path
) -> None:
    """The stubs are generated from the published interface: our own file, under the package that is published."""
    ours = (REPOSITORY / "harness/api/deviceplugin_v1beta1.proto").read_text()
    published, replaced = re.subn(r"^package .*;$", "package v1beta1;", ours, flags=re.MULTILINE)
    assert replaced == 1
    (project / "api.proto").write_text(published)
    protoc = [sys.executable, "-m", "grpc_tools.protoc", "-I.", "--python_out=.", "--grpc_python_out=.", "api.proto"]
    subprocess.run(protoc, cwd=project, check=True)
    example = (REPOSITORY / "docs/examples/ten-lines/plugin.py").read_text()
    plugin, replaced = re.subn(r"^from numaproof[^\n]*\n", "", example, flags=re.MULTILINE)
    assert replaced
    imports = "import grpc\n\nimport api_pb2 as api\nimport api_pb2_grpc as stubs\n"
    (project / "plugin.py").write_text(plugin.replace("import grpc\n", imports, 1))
    (project / "test_theirs.py").write_text(THEIR_TEST)
    done = installed.run("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
