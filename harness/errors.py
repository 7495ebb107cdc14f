"""Moved."""

from numaproof.errors import UserError as UserError
