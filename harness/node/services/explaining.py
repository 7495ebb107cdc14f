"""POST /explain: why the node would admit or refuse a pod, as JSON."""

from numaproof.errors import UserError
from numaproof.harness.explain.as_json import as_json
from numaproof.harness.node.admission import Admissions

PATH = "/explain"


class ExplainPost:
    """Answers posts as (status, JSON)."""

    def __init__(self, admissions: Admissions) -> None:
        self._admissions = admissions

    def __call__(self, path: str, _authorization: str | None, body: bytes) -> tuple[int, object] | None:
        """200: the explanation of the pod that was posted; 400: that is not a pod; 503: nobody can tell just now."""
        if path != PATH:
            return None
        try:
            told = self._admissions.explain(body.decode()).told
        except UnicodeDecodeError:
            return 400, {"message": "the body is not UTF-8 text; post a Pod manifest"}
        except UserError as error:
            return 400, {"message": str(error)}
        if told is None:
            return 503, {"message": "what the node holds cannot be tried again; try later"}
        return 200, as_json(told)
