"""Files of a KubeletConfiguration: read, or refused in one line that names the file."""

from pathlib import Path

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs.strict_yaml import read
from numaproof.harness.decision.config import config_of, settings_in
from tests.places import short_directory


def test_a_file_is_read() -> None:
    with short_directory() as place:
        (place / "k.yaml").write_text("topologyManagerPolicy: restricted\n")
        assert config_of(settings_in(read(place / "k.yaml"))).topology_policy == "restricted"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", ": is not UTF-8 text"),
        (b"a: [", ":1: is not YAML"),
        (b"- 1", ":1: is not a KubeletConfiguration"),
        (b"maxPods: 5\nmaxPods: 6\n", ":2: 'maxPods' is there twice in one mapping; keep one"),
        (b"systemReserved: &a {cpu: 1}\nkubeReserved: *a\n", ":1: &a: anchors are not read"),
        (b"topologyManagerPolicie: none", ":1: topologyManagerPolicie: unknown key; did you mean"),
    ],
)
def test_a_file_that_is_not_a_configuration(content: bytes, message: str) -> None:
    with short_directory() as place:
        file = place / "k.yaml"
        file.write_bytes(content)
        with pytest.raises(UserError) as caught:
            settings_in(read(file))
    assert str(caught.value).startswith(f"{file}{message}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"^/none/k\.yaml: cannot be read"):
        settings_in(read(Path("/none/k.yaml")))
