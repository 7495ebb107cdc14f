"""POST /pod/NAME/bind: the proposal's operation, for whoever has the permission to bind."""

import json
import re
from typing import Any

from numaproof.errors import UserError
from numaproof.harness.node.admission import Admissions, BusyError, ConflictError, UnknownPodError
from numaproof.harness.node.bind_token import NOT_PERMITTED, BindToken
from numaproof.near import did_you_mean

_PATH = re.compile(r"/pod/(?:(?P<namespace>[a-z0-9.-]+)/)?(?P<name>[a-z0-9.-]+)/bind")  # without one: default
_KEYS = ("numaNodeID", "cpuAffinity")


class BindingPost:
    """Answers posts as (status, JSON)."""

    def __init__(self, admissions: Admissions, token: BindToken) -> None:
        self._admissions = admissions
        self._token = token

    def __call__(self, path: str, authorization: str | None, body: bytes) -> tuple[int, object] | None:
        """200: bound, or waits on; 400: bad input; 403: no permission; 404: no such pod; 409: it runs, or is on
        its way; 422: refused.
        """
        found = _PATH.fullmatch(path)
        if found is None:
            return None
        if not self._token.allows(authorization):
            return 403, {"message": NOT_PERMITTED}
        try:
            fields = _fields(body)
            reference = f"{found['namespace'] or 'default'}/{found['name']}"
            admission = self._admissions.bind(reference, fields.get("numaNodeID"), fields.get("cpuAffinity"))
        except UnknownPodError as error:
            return 404, {"message": str(error)}
        except (ConflictError, BusyError) as error:
            return 409, {"message": str(error)}
        except UserError as error:
            return 400, {"message": str(error)}
        verdict = admission.verdict
        told = {"admitted": verdict.admitted, "reason": verdict.reason, "message": verdict.message}
        return 200 if verdict.admitted or admission.trace is None else 422, told


def _fields(body: bytes) -> dict[str, str]:
    try:
        content: Any = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, _Pairs) or not content:
        raise UserError('the body is not a binding; post {"numaNodeID": "0", "cpuAffinity": "2-5"}, or one of them')
    found: dict[str, str] = {}
    for key, text in content:
        if key not in _KEYS:
            raise UserError(f"{key[:60]!r}: unknown key; known: {', '.join(_KEYS)}{did_you_mean(key, _KEYS)}")
        if key in found:
            raise UserError(f"{key}: is there twice; keep one")
        if not isinstance(text, str):
            raise UserError(f'{key}: {repr(text)[:60]} is not a text; write one, such as "0"')
        found[key] = text
    return found


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of a JSON object, those that are there twice too."""
