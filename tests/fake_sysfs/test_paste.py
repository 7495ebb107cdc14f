"""Texts as people paste them lose what the paste has added, and nothing else."""

import pytest

from numaproof.errors import UserError
from numaproof.fake_sysfs.paste import LARGEST, SHOWN, cleaned, is_elision, is_prompt, shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\r\nb: 2\r\n", "a: 1\nb: 2\n"),
        ("a: 1\rb: 2", "a: 1\nb: 2"),
        ("\ufeffa: 1", "a: 1"),
        ("a:\u00a01\0", "a: 1 "),
        ("\x1b[1;32ma\x1b[0m: \x1b[4m1\x1b(B\x1b[m", "a: 1"),
        ("\x1b]0;root@node: ~\x07a: 1", "a: 1"),
        ("\x1b]8;;https://example.com\x1b\\a\x1b]8;;\x1b\\: 1", "a: 1"),
        ("\x1b[?2004ha: 1\x1b[?2004l", "a: 1"),
        ("```yaml\na: 1\n```", "\na: 1\n"),
        ("~~~\na: 1\n  ~~~  ", "\na: 1\n"),
        ("> a: 1\n>\n>   b: 2", "a: 1\n\n  b: 2"),
        ("> > a: 1\n> >   b: 2", "a: 1\n  b: 2"),
        ("> ```\n> a: 1\n> ```", "\na: 1\n"),
        ("a: >\n> b", "a: >\n> b"),  # not every line is quoted
        ("$ cat f\na: 1\n$ ", "\na: 1\n"),
        ("", ""),
        ("\n\n", "\n\n"),
    ],
)
def test_what_a_paste_adds_is_gone_and_every_line_stays_where_it_was(text: str, expected: str) -> None:
    assert cleaned(text, "f") == expected


@pytest.mark.parametrize(
    "line",
    [
        "$",
        "#",
        "  $ ",
        "$ kubectl get --raw /api/v1/nodes/n/proxy/configz | jq .",
        "# cat /var/lib/kubelet/cpu_manager_state",
        "# sudo cat /var/lib/kubelet/config.yaml",
        "[root@node-1 ~]# cat f",
        "[core@node ~]$",
        "root@node:~# nvidia-smi topo -m",
        "core@node.example.com:/var/lib/kubelet$ sudo cat config.yaml",
        "node:~ #",
        "> oc debug node/n",
    ],
)
def test_prompts(line: str) -> None:
    assert is_prompt(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a: 1",
        "# the policy of our nodes",
        "# catalogues",
        "$HOME",
        "cpuManagerPolicy: static # cat",
        "root@node: is a name",
        "KUBELET_ARGS=$A",
        "- $ cat f",
    ],
)
def test_what_is_no_prompt(line: str) -> None:
    assert not is_prompt(line)


@pytest.mark.parametrize(
    "mark",
    [
        *("...", "....", "…", " ... ", "[...]", "[…]", "[ ... ]"),
        *("[snip]", "<snip>", "[Truncated]", "<2 more pods>", "<>"),
        *("-- snip --", "--- cut ---", "--8<--", "----- snip -----"),
    ],
)
def test_marks_of_what_was_left_out(mark: str) -> None:
    assert is_elision(mark)


@pytest.mark.parametrize("text", ["", "..", "a...", "... a", "-", "---", "[]", "[1]", "<a", "<{}>", "snip", "1...2"])
def test_what_is_no_mark(text: str) -> None:
    assert not is_elision(text)


def test_a_text_that_is_too_long_is_refused() -> None:
    assert cleaned("a" * LARGEST, "f") == "a" * LARGEST
    with pytest.raises(UserError, match=r"^f: is larger than 16 MiB; give the part that matters$"):
        cleaned("a" * (LARGEST + 1), "f")


def test_what_a_message_repeats_is_short_and_printable() -> None:
    assert shown("a b") == "'a b'"
    assert shown("a" * 60) == "'" + "a" * 60 + "'"
    assert shown("a" * 61) == "'" + "a" * 57 + "...'"
    assert shown({"a": "\n"}) == "\"{'a': '\\\\n'}\""
    assert shown("\x1b\n" * 100).isprintable()
    assert SHOWN == 60
