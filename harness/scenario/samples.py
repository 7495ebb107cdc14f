"""Metrics as a scraper reads them: samples by name and labels, each in one spelling."""

import re

_NAME = r"[A-Za-z_:][A-Za-z0-9_:]*"
_LABEL = r'[A-Za-z_][A-Za-z0-9_]*="(?:[^"\\]|\\.)*"'
SAMPLE = re.compile(rf"({_NAME})(?:\{{((?:{_LABEL},?)*)\}})?")
_LINE = re.compile(rf"({SAMPLE.pattern})\s+(\S+)(?:\s+-?\d+)?")


def sample_name(text: str) -> str | None:
    """`name` or `name{label="value"}` with the labels in alphabetical order; None: the text is neither."""
    found = SAMPLE.fullmatch(text)
    if found is None:
        return None
    labels = sorted(re.findall(_LABEL, found[2] or ""))
    return f"{found[1]}{{{','.join(labels)}}}" if labels else found[1]


def parse_samples(text: str) -> dict[str, float]:
    """The samples of a page in Prometheus' text format, by their names as `sample_name` spells them."""
    samples = {}
    for line in text.splitlines():
        if found := _LINE.fullmatch(line.strip()):
            samples[str(sample_name(found[1]))] = float(found[4])
    return samples
