"""Where the Docker engine is, by the rules of the `docker` command.

Not by the SDK's reader of contexts: where there is no config.json that one finds no context at all, and instead of a
context that is missing it silently takes the usual socket.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numaproof.errors import UserError

_USUAL = "unix:///var/run/docker.sock"
_DEFAULT = "default"  # the context that stands for the usual socket


def engine_address(environment: Mapping[str, str]) -> str:
    """What DOCKER_HOST says, else the context of DOCKER_CONTEXT, else the current one, else the usual socket."""
    if host := environment.get("DOCKER_HOST"):
        return host
    folder = Path(environment.get("DOCKER_CONFIG") or Path.home() / ".docker")
    name = environment.get("DOCKER_CONTEXT") or _current(folder / "config.json")
    return _USUAL if name == _DEFAULT else _endpoint(folder, name)


def _current(config: Path) -> str:
    """The context that `docker context use` chose."""
    try:
        return str(_json(config).get("currentContext") or _DEFAULT)
    except FileNotFoundError:
        return _DEFAULT


def _endpoint(folder: Path, name: str) -> str:
    """The engine's address of a context."""
    meta = folder / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest() / "meta.json"
    try:
        endpoint = _json(meta).get("Endpoints", {}).get("docker", {})
    except FileNotFoundError as error:
        raise UserError(
            f"the Docker context {name} is not in {folder}; take one of `docker context ls`, or set DOCKER_HOST"
        ) from error
    return str(endpoint.get("Host") or _USUAL)


def _json(path: Path) -> dict[str, Any]:
    """A JSON object's file; FileNotFoundError when there is none."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); mend it, or set DOCKER_HOST") from error
    if not isinstance(found, dict):
        raise UserError(f"{path}: is not a JSON object; mend it, or set DOCKER_HOST")
    return found
