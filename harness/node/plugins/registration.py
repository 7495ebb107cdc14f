"""What the node demands of a registration, before it dials back."""

import os
from collections.abc import Sequence
from pathlib import Path

from numaproof.harness.node.plugins.sockets import fits
from numaproof.harness.resource_names import resource_name_problem
from numaproof.harness.vocabulary import LONGEST_SOCKET_PATH

VERSION = "v1beta1"


class RegistrationError(Exception):
    """A registration is refused; the text is the kubelet's where the kubelet refuses too."""


def check_version(version: str) -> None:
    """Refuse every version of the interface but the one there is."""
    if version != VERSION:
        raise RegistrationError(
            f'requested API version "{version}" is not supported by kubelet. Supported version is ["{VERSION}"]'
        )


def check_versions(versions: Sequence[str]) -> None:
    """Refuse a plugin of the registry that does not speak our version among others."""
    if VERSION not in versions:
        raise RegistrationError(
            f"manager version, {VERSION}, is not among plugin supported versions [{' '.join(versions)}]"
        )


def check_resource_name(name: str) -> None:
    """Refuse names that no extended resource can have."""
    if resource_name_problem(name):
        raise RegistrationError(f'the ResourceName "{name}" is invalid')


def check_socket(path: Path, within: Path) -> None:
    """Refuse a path that no socket can have, or that leads, by a link perhaps, out of the directory."""
    if "\0" in str(path):
        raise RegistrationError(f"the endpoint {str(path)!r} is not a file name")
    if not fits(path):
        raise RegistrationError(
            f"the endpoint {path} is longer than the {LONGEST_SOCKET_PATH} bytes of a unix socket's path"
        )
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(within)):
        raise RegistrationError(f"the endpoint {path} leads out of {within}")


def socket_of(endpoint: str, directory: Path) -> Path:
    """The socket that a registration names, a plain name within the directory; it need not exist yet."""
    if endpoint in {"", ".", ".."} or "/" in endpoint:
        raise RegistrationError(f'the endpoint "{endpoint}" is not a file name within {directory}')
    path = directory / endpoint
    check_socket(path, directory)
    return path


def socket_at(endpoint: str, within: Path) -> Path:
    """The socket that a plugin of the registry names by its whole path, which may not leave the node's directories."""
    path = Path(endpoint)
    if not path.is_absolute():
        raise RegistrationError(f'the endpoint "{endpoint}" is not an absolute path')
    check_socket(path, within)
    return path
