"""Runs a command in a network of its own, so that subjects side by side do not fight about a port for metrics.

Run as a script, inside the subject's namespace; it imports nothing of ours. Where a network of its own is not to be
had, the command runs without.
"""

import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import sys

_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP_AND_RUNNING = 0x41
_NOT_FOUND = 127


def main() -> int:
    """Take the network away but for the loopback, then become the command."""
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) == 0:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP_AND_RUNNING))
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        print(f"{sys.argv[1]}: {error.strerror}", file=sys.stderr)
    return _NOT_FOUND


if __name__ == "__main__":
    sys.exit(main())
