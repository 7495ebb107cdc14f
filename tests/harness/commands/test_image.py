"""`numaproof image`: the tag of the image with our present code, or a line that says what is missing."""

import re
import uuid

import pytest

from numaproof.harness.cli import main
from numaproof.harness.runtimes.docker import connect, engine_answers, has_image
from numaproof.harness.runtimes.image import build


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("unix:///nonexistent/docker.sock", "No such file or directory"),
        ("tcp://127.0.0.1:1", "Connection refused"),
    ],
)
def test_without_an_engine_it_says_so(
    where: str, why: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", where)
    assert main(["image"]) == 2
    told = f"no Docker engine answers at {where} ({why}); start one, or take --runtime namespace"
    assert capsys.readouterr().err == f"numaproof: {told}\n"


@pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers, and none could be started")
def test_it_is_found_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["image"]) == 0
    tag = capsys.readouterr().out.strip()
    assert re.fullmatch(r"numaproof:[0-9a-f]{16}", tag)
    client = connect()
    try:
        assert has_image(client, tag)
    finally:
        client.close()
    assert main(["image"]) == 0
    assert capsys.readouterr().out.strip() == tag


@pytest.mark.skipif(not engine_answers(), reason="no Docker engine answers, and none could be started")
def test_the_steps_of_building_it_are_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["image"]) == 0
    # One more image: others use that of our present code meanwhile.
    content = uuid.uuid4().hex[:16]
    monkeypatch.setattr(build, "_content_hash", lambda _sources: content)
    tag = f"numaproof:{content}"
    capsys.readouterr()
    client = connect()
    try:
        assert main(["image"]) == 0
        out, err = capsys.readouterr()
        assert out == f"{tag}\n"
        first, *steps, last = err.splitlines()
        assert first.startswith(f"building the image {tag}, ")
        assert [step.partition(":")[0] for step in steps] == ["step 2 of 3", "step 3 of 3"]  # Debian is there already
        assert last == "the image is built"
        assert main(["image"]) == 0
        assert capsys.readouterr().err == ""  # it is there: nothing to tell
    finally:
        if has_image(client, tag):
            client.images.remove(tag)
        client.close()
