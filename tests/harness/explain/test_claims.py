"""Resource claims: no hint knows of them, and an explanation says that it does not, either."""

from typing import Any

import pytest

from numaproof.harness.explain.remarks import remarks
from numaproof.harness.pods.manifest import pod_from
from tests.harness.report.explained import explained, pod


@pytest.mark.parametrize("claims", [[{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}], [], None])
def test_claims_are_said_to_be_left_out(claims: Any) -> None:
    manifest = pod("asked", 2)
    manifest["spec"]["resourceClaims"] = claims
    told = [one.text for one in remarks(explained(manifest)) if "resource claims" in one.text]
    assert len(told) == bool(claims)
    assert pod_from(manifest).has_claims == bool(claims)
