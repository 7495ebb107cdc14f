"""What the comments of a dataclass say of its fields, which no object of the running program knows."""

import ast
import inspect
import io
import tokenize
from textwrap import dedent


def field_comments(kind: type) -> dict[str, str]:
    """Each field with the comment on its line, or else on the lines above it; fields without one are not there."""
    source = dedent(inspect.getsource(kind))
    on_line: dict[int, str] = {}
    alone: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            on_line[token.start[0]] = token.string.lstrip("# ")
            if not token.line[: token.start[1]].strip():
                alone.add(token.start[0])
    found = {}
    [body] = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    for item in body.body:
        if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
            continue
        first, last = item.lineno, item.end_lineno or item.lineno
        beside = [on_line[line] for line in range(first, last + 1) if line in on_line]
        above: list[str] = []
        line = first - 1
        while line in alone:
            above.insert(0, on_line[line])
            line -= 1
        if beside or above:
            found[item.target.id] = " ".join(beside or above)
    return found
