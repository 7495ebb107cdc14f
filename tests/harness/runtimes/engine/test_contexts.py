"""Where the engine is: the order and the files of the `docker` command, written as `docker context create` does."""

import hashlib
import json
from pathlib import Path

import pytest

from numaproof.errors import UserError
from numaproof.harness.runtimes.engine.contexts import engine_address


def create_context(folder: Path, name: str, host: str) -> None:
    meta = folder / "contexts/meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    meta.parent.mkdir(parents=True)
    endpoints = {"docker": {"Host": host, "SkipTLSVerify": False}}
    meta.write_text(json.dumps({"Name": name, "Metadata": {}, "Endpoints": endpoints}))


def use_context(folder: Path, name: str) -> None:
    (folder / "config.json").write_text(json.dumps({"auths": {}, "currentContext": name}))


def test_the_host_goes_before_the_named_context_and_that_before_the_current_one(tmp_path: Path) -> None:
    create_context(tmp_path, "named", "unix:///named")
    create_context(tmp_path, "current", "unix:///current")
    use_context(tmp_path, "current")
    environment = {"DOCKER_CONFIG": str(tmp_path)}
    assert engine_address(environment) == "unix:///current"
    environment["DOCKER_CONTEXT"] = "named"
    assert engine_address(environment) == "unix:///named"
    environment["DOCKER_HOST"] = "unix:///host"
    assert engine_address(environment) == "unix:///host"


def test_a_named_context_needs_no_configuration_file(tmp_path: Path) -> None:
    create_context(tmp_path, "named", "unix:///named")
    assert engine_address({"DOCKER_CONFIG": str(tmp_path), "DOCKER_CONTEXT": "named"}) == "unix:///named"


def test_without_a_context_it_is_the_usual_socket(tmp_path: Path) -> None:
    environment = {"DOCKER_CONFIG": str(tmp_path)}
    assert engine_address(environment) == "unix:///var/run/docker.sock"
    use_context(tmp_path, "current")
    assert engine_address({**environment, "DOCKER_CONTEXT": "default"}) == "unix:///var/run/docker.sock"


def test_the_configuration_lies_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    create_context(tmp_path / ".docker", "current", "unix:///current")
    use_context(tmp_path / ".docker", "current")
    assert engine_address({}) == "unix:///current"


def test_a_context_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    use_context(tmp_path, "gone")
    with pytest.raises(UserError, match=f"the Docker context gone is not in {tmp_path}; take one of"):
        engine_address({"DOCKER_CONFIG": str(tmp_path)})


@pytest.mark.parametrize("text", ["{", "[]", "\x00"])
def test_a_broken_configuration_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(UserError, match=r"config\.json: .*; mend it, or set DOCKER_HOST"):
        engine_address({"DOCKER_CONFIG": str(tmp_path)})
