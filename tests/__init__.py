"""The tests of our own code, mirroring the packages."""

import signal
import threading

# A shell that starts a job in the background has it ignore SIGINT, and so do all that the job starts: programs that the
# tests interrupt would never hear of it.
if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
