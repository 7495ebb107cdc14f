"""`numaproof check`: its options, its reports, its exit codes, and subjects that misbehave."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from numaproof.errors import UserError
from numaproof.harness.arguments import Parser
from numaproof.harness.commands import check
from numaproof.harness.conformance.catalogue import CATALOGUE
from numaproof.plugins_mock import Fault, MockDevice, MockPlugin
from tests.harness.report.junit_shape import check_shape
from tests.places import short_directory
from tests.plugins_mock.kubelet import dial

REPOSITORY = Path(__file__).parent.parent.parent.parent
MOCK = [sys.executable, "-m", "numaproof.plugins_mock", "generic", "--count", "3"]
QUICK = ["--only", "dp/options/1", "--only", "dp/list/2", "--seed", "1"]


@pytest.fixture(autouse=True)
def _repository_on_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The mocks are found by their module, and no numaproof.yaml lies where the command runs."""
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.chdir(tmp_path)


def numaproof_check(*arguments: str) -> int:
    parser = Parser()
    check.add_arguments(parser)
    return check.run(parser.parse_args(arguments))


def test_a_conformant_command_and_its_reports(capsys: pytest.CaptureFixture[str]) -> None:
    reports = ["--junit", "r.xml", "--yaml", "r.yaml", "--html", "r.html"]
    assert numaproof_check(*QUICK, *reports, "--", *MOCK) == 0
    assert "conformant" in capsys.readouterr().out.splitlines()
    [suite] = check_shape(Path("r.xml").read_text())
    assert [case.get("name") for case in suite] == ["dp/options/1", "dp/list/2"]
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    data = yaml.safe_load(Path("r.yaml").read_text())
    assert data["resources"] == ["example.com/device"]
    assert [entry["verdict"] for entry in data["checks"]] == ["pass", "pass"]
    page = Path("r.html").read_text()
    assert "GetDevicePluginOptions" in page
    assert "http://" not in page  # nothing is fetched from elsewhere
    assert "https://" not in page
    # They are not taken for those of a subject that does not start.
    assert numaproof_check(*QUICK, *reports, "--", "false") == 3
    assert [path for path in ("r.xml", "r.yaml", "r.html") if Path(path).exists()] == []


def test_a_violation_is_explained_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    bad = [*MOCK, "--fault", "ListAndWatch=bad-health:<OK>"]
    reports = ["--junit", "r.xml", "--yaml", "r.yaml", "--html", "r.html"]
    assert numaproof_check("--only", "dp/list/3", *reports, "--", *bad) == 1
    printed = capsys.readouterr().out
    [wanted] = [one for one in CATALOGUE if one.id == "dp/list/3"]
    for words in ("'<OK>'", wanted.remedy, "not conformant: dp/list/3"):
        assert words in " ".join(printed.split())
    [[case]] = check_shape(Path("r.xml").read_text())
    [failure] = case.findall("failure")
    assert "<OK>" in str(failure.get("message"))
    [entry] = yaml.safe_load(Path("r.yaml").read_text())["checks"]
    assert entry["verdict"] == "fail"
    assert any("ListAndWatch" in line for line in entry["exchange"])
    assert "&lt;OK&gt;" in Path("r.html").read_text()
    assert "<OK>" not in Path("r.html").read_text()


def test_a_ci_system_is_told_of_a_violation(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    options = {"command": [*MOCK, "--fault", "ListAndWatch=bad-health:::set-output name=x::y"]}
    Path("numaproof.yaml").write_text(yaml.safe_dump({"check": options}))
    asked = ("--only", "dp/list/3", "--junit", "r.xml")
    assert numaproof_check(*asked) == 1
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("::")]
    title = "dp/list/3%3A health words (MUST)"
    assert line.startswith(f"::error file=numaproof.yaml,title={title}::expected: A device's health")
    assert line.endswith("remedy: Use the constants of the device plugin API.")
    [[case]] = check_shape(Path("r.xml").read_text())
    assert case.get("file") == "numaproof.yaml"
    assert numaproof_check(*asked, "--annotations", "none") == 1
    assert "::error" not in capsys.readouterr().out
    assert numaproof_check(*asked, "--annotations", "github=commands") == 1
    assert "::error" not in capsys.readouterr().out
    assert Path("commands").read_text() == f"{line}\n"
    assert numaproof_check(*asked, "--annotations", "gitlab=quality.json") == 1
    [issue] = json.loads(Path("quality.json").read_text())
    assert issue["location"]["path"] == "numaproof.yaml"


def test_a_ci_system_is_told_that_the_plugin_did_not_start() -> None:
    assert numaproof_check("--annotations", "gitlab=quality.json", "--", "false") == 3
    [issue] = json.loads(Path("quality.json").read_text())
    assert issue["description"].startswith("numaproof check: the subject could not be started: ")
    assert issue["location"] == {"path": "numaproof.yaml", "lines": {"begin": 1}}  # where its options would be


def test_known_failures_must_still_fail(capsys: pytest.CaptureFixture[str]) -> None:
    Path("known").write_text("dp/list/3  # upstream issue\n# a list of what we know\n", encoding="utf-8-sig")
    bad = [*MOCK, "--fault", "ListAndWatch=bad-health"]
    assert numaproof_check("--only", "dp/list/3", "--known-failures", "known", "--", *bad) == 0
    assert "fail (known)" in capsys.readouterr().out
    assert numaproof_check("--only", "dp/list/3", "--known-failures", "known", "--", *MOCK) == 1
    assert "take it off the list" in capsys.readouterr().out


def test_a_should_warns_and_strict_makes_it_fail() -> None:
    bad = [*MOCK, "--fault", "Allocate=accept-empty"]
    assert numaproof_check("--only", "dp/allocate/3", "--", *bad) == 0
    assert numaproof_check("--only", "dp/allocate/3", "--strict", "--", *bad) == 1


def test_nothing_ran_is_not_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert numaproof_check("--only", "dp/prestart/1", "--", *MOCK) == 1
    assert "nothing was checked" in capsys.readouterr().out


def test_a_plain_process_gets_its_paths_for_placeholders() -> None:
    assert numaproof_check(*QUICK, "--runtime", "process", "--", *MOCK, "--dir", "{dir}") == 0


def test_the_machine_is_the_subjects_sysfs(capsys: pytest.CaptureFixture[str]) -> None:
    gpus = [sys.executable, "-m", "numaproof.plugins_mock", "gpu", "--sysfs-root", "/"]
    asked = ["-v", "--only", "dp/list/6", "--only", "dp/list/7", "--machine", "dgx1-v100"]
    assert numaproof_check(*asked, "--", *gpus) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "as in sysfs" in printed
    lying = [sys.executable, "-m", "numaproof.plugins_mock", "generic", "--device", "0000:06:00.0=1"]
    assert numaproof_check(*asked, "--", *lying) == 1  # its sysfs says 0


def test_environment_binds_and_the_options_file() -> None:
    Path("device.yaml").write_text("- {id: z}\n")
    script = '[ "$KIND" = generic ] && exec "$0" -m numaproof.plugins_mock "$KIND" --devices /mnt/np/device.yaml'
    options = {"command": ["sh", "-c", script, sys.executable], "bind": ["device.yaml:/mnt/np/device.yaml:ro"]}
    options |= {"env": ["KIND=generic"], "exclude": ["dp/register/*"]}
    Path("numaproof.yaml").write_text(yaml.safe_dump({"check": options}))
    assert numaproof_check("--only", "dp/list/2", "--yaml", "r.yaml") == 0
    assert yaml.safe_load(Path("r.yaml").read_text())["verdicts"] == {"pass": 1}


def test_a_subject_that_runs_already() -> None:
    devices = [MockDevice("a"), MockDevice("b")]
    with short_directory() as directory, MockPlugin("example.com/x", devices, directory) as plugin:
        assert numaproof_check("--exclude", "dp/list/8", "--yaml", "r.yaml", "--dir", str(directory)) == 0
        data = {entry["id"]: entry for entry in yaml.safe_load(Path("r.yaml").read_text())["checks"]}
        assert data["dp/register/6"]["verdict"] == "pass"
        assert data["dp/register/11"]["verdict"] == "skip"
        assert "did not start the subject" in data["dp/register/11"]["seen"]
        assert numaproof_check("--exclude", "dp/list/8", "--yaml", "r.yaml", "--socket", str(plugin.socket)) == 0
        data = {entry["id"]: entry for entry in yaml.safe_load(Path("r.yaml").read_text())["checks"]}
        assert data["dp/allocate/2"]["verdict"] == "pass"
        assert data["dp/register/1"]["verdict"] == "skip"
        with dial(plugin.socket):
            assert plugin.socket.exists()  # what is not ours is left as it was


def test_repeat_stops_at_the_first_bad_run(capsys: pytest.CaptureFixture[str]) -> None:
    with short_directory() as directory:
        faults = {"GetDevicePluginOptions": [Fault("error", "INTERNAL", times=1)]}
        with MockPlugin("example.com/x", [MockDevice("a")], directory, faults=faults) as plugin:
            asked = ["--only", "dp/options/1", "--repeat", "3", "--socket", str(plugin.socket)]
            assert numaproof_check(*asked) == 1
            assert capsys.readouterr().out.count("(seed") == 1
            assert numaproof_check(*asked) == 0
            assert capsys.readouterr().out.count("(seed") == 3


def test_dry_run_lists_what_would_be_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert numaproof_check("--dry-run") == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [one.id for one in CATALOGUE]
    assert numaproof_check("--dry-run", "--level", "must", "--only", "list/*", "--exclude", "dp/list/1?") == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in shown] == [f"dp/list/{n}" for n in (1, 2, 3, 5, 6, 7, 8, 9)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one subject"),
        (["--dir", "/none", "--", "true"], "name one subject"),
        (["--dir", "/none"], "no such directory"),
        (["--socket", "/none"], "no socket is there"),
        (["--only", "dp/lists/1", "--", "true"], "--only dp/lists/1"),
        (["--only", "dp/list", "--", "true"], "did you mean dp/list/*?"),
        (["--only", "allocate/", "--", "true"], "did you mean allocate/*?"),
        (["--only", "dp/list/1,dp/list/2", "--", "true"], "give each id by itself"),
        (["--only", "dp/list/1", "--exclude", "list/*", "--", "true"], "no check is left"),
        (["--features", "magic", "--", "true"], "known: preferred"),
        (["--known-failures", "/none", "--", "true"], "--known-failures /none"),
        (["--unhealthy", "true", "--", "true"], "give both"),
        (["--bind", "x", "--", "true"], "--bind x"),
        (["--bind", "/none:/x", "--", "true"], "/none does not exist"),
        (["--env", "x", "--", "true"], "NAME=VALUE"),
        (["--device", "/none", "--", "true"], "/none does not exist"),
        (["--timeout", "0", "--", "true"], "--timeout 0"),
        (["--repeat", "0", "--", "true"], "--repeat 0"),
        (["--junit", "/none/r.xml", "--", "true"], "its directory does not exist"),
        (["--runtime", "docker", "--", "true"], "give --image"),
        (["--config", "/none", "--", "true"], "/none: cannot be read"),
        (["--known-failures", "/none", "--", "true"], "/none: cannot be read (No such file or directory); give a file"),
    ],
)
def test_bad_usage_is_one_line(arguments: list[str], said: str) -> None:
    with pytest.raises(UserError) as caught:
        numaproof_check(*arguments)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_working_directory_that_is_gone_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = tmp_path / "lost"
    lost.mkdir()
    monkeypatch.chdir(lost)
    lost.rmdir()
    with pytest.raises(UserError, match="the working directory is gone; go to one that is there"):
        numaproof_check("--", "true")


def test_an_image_that_is_nowhere_is_one_line() -> None:
    with pytest.raises(UserError) as caught:
        numaproof_check("--image", "numaproof.example/none:1")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("checks: {}", "not of the form `check:"),
        ("check: {levle: must}", "check.levle: no such option"),
        ("check: {level: most}", "known: must, should, may"),
        ("check: {bind: x}", "not a list of words"),
        ("check: {timeout: soon}", "not a number"),
        ("check: {strict: 1}", "not true or false"),
        ("check: [", ":1: is not YAML"),
        ("check:\n  exclude: [dp/list/99]", "numaproof.yaml:2: check.exclude: --exclude dp/list/99: no check has"),
        ("check:\n  env: [A]", "numaproof.yaml:2: check.env: --env A: not of the form NAME=VALUE"),
        ("check:\n  features: helth", "numaproof.yaml:2: check.features: --features helth: 'helth' is not a feature"),
    ],
)
def test_a_bad_options_file_is_one_line(content: str, said: str) -> None:
    Path("numaproof.yaml").write_text(content)
    with pytest.raises(UserError) as caught:
        numaproof_check("--dry-run")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


# Subjects that misbehave


def numaproof_processes(mark: str) -> list[str]:
    """The processes that carry a mark in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return [pid for pid in found if int(pid) != os.getpid()]


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo I am broken; exit 7", "code 7, and did not register at /var/lib/kubelet/device-plugins/kubelet.sock;"),
        ("kill -SEGV $$", "code 139"),
        ("/no/such/plugin", "code 127"),
        ("echo I sit here; exec sleep 1000", "within 15 s (--start-timeout) at /var/lib/kubelet/"),  # hangs
        ("yes I flood the log & exec sleep 1000", "I flood the log"),
        ("(setsid sleep 1000 &) ; (sleep 1000 &) ; exit 4", "code 4"),  # forks, and leaves them behind
    ],
)
def test_a_subject_that_never_registers_is_told_with_its_last_words_and_leaves_nothing(
    script: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    mark = f"NUMAPROOF_MARK=x{os.getpid()}x{abs(hash(script))}"
    asked = [*QUICK, "--start-timeout", "15", "--env", mark]
    assert numaproof_check(*asked, "--", "sh", "-c", script) == 3
    assert said in capsys.readouterr().err
    assert numaproof_processes(mark) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "did not register at kubelet.sock in {dir}; write {dir} where its command takes that path;"),
        (["{dir}"], "did not register at the paths that its command got for {dir} and {registry};"),
    ],
)
def test_a_plain_process_that_never_registers_is_told_how_it_gets_the_path(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert numaproof_check(*QUICK, "--runtime", "process", "--", "false", *words) == 3
    assert said in capsys.readouterr().err


def test_a_subject_that_was_waited_for_in_vain_is_not_started_a_second_time_in_a_session() -> None:
    asked = ["--only", "dp/options/1", "--only", "dp/register/8", "--one-by-one", "--start-timeout", "1"]
    assert numaproof_check(*asked, "--", "sh", "-c", "echo started >> starts; exec sleep 1000") == 3
    assert Path("starts").read_text().split() == ["started", "started"]  # a session each


def test_of_a_subject_that_runs_already_a_check_that_needs_its_start_is_skipped(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert numaproof_check("-v", "--only", "dp/register/11", "--dir", ".") == 1
    printed = capsys.readouterr().out
    assert "the suite did not start the subject" in " ".join(printed.split())  # wherever lines end
    assert "nothing was checked" in printed


def test_a_subject_that_dies_of_every_call_and_forks_is_judged_and_leaves_nothing() -> None:
    mark = f"NUMAPROOF_MARK=y{os.getpid()}"
    script = '(setsid sleep 1000 &); exec "$@"'
    deadly = [*MOCK, "--fault", "Allocate=die:9"]
    asked = ["--only", "dp/allocate/*", "--only", "dp/list/8", "--env", mark, "--yaml", "r.yaml"]
    assert numaproof_check(*asked, "--", "sh", "-c", script, "sh", *deadly) == 1
    entries = {entry["id"]: entry for entry in yaml.safe_load(Path("r.yaml").read_text())["checks"]}
    assert entries["dp/allocate/1"]["verdict"] == "fail"
    assert "the subject exited with the code 9" in entries["dp/list/8"]["seen"]
    assert numaproof_processes(mark) == []


def test_a_subject_that_exits_with_the_kubelet_passes_when_it_is_supervised(capsys: pytest.CaptureFixture[str]) -> None:
    fragile = [*MOCK, "--fault", "ListAndWatch=fragile"]
    assert numaproof_check("--only", "dp/register/6", "--timeout", "10", "--", *fragile) == 1
    assert "exited with the code 1" in " ".join(capsys.readouterr().out.split())
    assert numaproof_check("--only", "dp/register/6", "--supervise", "-v", "--", *fragile) == 0
    assert "restarted as a DaemonSet would do" in " ".join(capsys.readouterr().out.split())


def test_a_health_command_reaches_a_port_of_the_subject() -> None:
    # The subject is alone in its network: a command beside it must be, too.
    server = "import http.server as h, subprocess, sys, threading;"
    server += "threading.Thread(target=h.HTTPServer(('127.0.0.1', 80), h.SimpleHTTPRequestHandler).serve_forever, "
    server += "daemon=True).start(); sys.exit(subprocess.call(sys.argv[1:]))"
    ask = f"{sys.executable} -c \"import urllib.request as u; u.urlopen('http://127.0.0.1/')\" && "
    with short_directory() as directory:
        sick = directory / "sick"
        flips = ["--unhealthy", f"{ask} echo 1 > {sick}", "--healthy", f"rm {sick}"]
        subject = [sys.executable, "-c", server, *MOCK, "--health-file", str(sick)]
        assert numaproof_check("--only", "dp/list/10", "--only", "dp/list/11", *flips, "--", *subject) == 0


# The example and the page


def test_the_example_repository_passes_its_own_pytest() -> None:
    example = REPOSITORY / "docs/examples/ten-lines"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(example)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
