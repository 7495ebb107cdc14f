"""Texts as people paste them: the rules are those of `fake_sysfs/paste.py`, as machines are pasted too."""

from numaproof.fake_sysfs.paste import ELISION, LARGEST, SHOWN, cleaned, is_elision, is_prompt, shown

__all__ = ["ELISION", "LARGEST", "SHOWN", "cleaned", "is_elision", "is_prompt", "shown"]
