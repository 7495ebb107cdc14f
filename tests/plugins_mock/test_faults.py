"""Faults that can be read without gRPC name its status codes all the same."""

import grpc

from numaproof.plugins_mock.faults import STATUS_CODES


def test_the_status_codes_are_those_of_grpc() -> None:
    assert tuple(grpc.StatusCode.__members__) == STATUS_CODES
