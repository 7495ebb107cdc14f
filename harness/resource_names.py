"""Names as Kubernetes has them: their parts, and what the kubelet demands of a device plugin's resource."""

import re

# The quota of a resource is named `requests.<resource>`, and that has to be a qualified name too.
_QUOTA_PREFIX = "requests."
_LONGEST_DOMAIN = 253
_LONGEST_NAME = 63
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*")
_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def is_domain(text: str) -> bool:
    """Whether a text is a lower-case DNS domain, as the names of most objects are."""
    return len(text) <= _LONGEST_DOMAIN and _DOMAIN.fullmatch(text) is not None


def is_name_part(text: str) -> bool:
    """Whether a text is a qualified name without its domain, or the value of a label or taint."""
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


def resource_name_problem(name: str) -> str:
    """What is wrong with the name of an extended resource; empty: nothing."""
    domain, slash, part = name.partition("/")
    if not slash or "/" in part:
        return f"has {name.count('/')} slashes, not one"
    if "kubernetes.io/" in name:
        return "is in the domain kubernetes.io, which is Kubernetes' own"
    if name.startswith(_QUOTA_PREFIX):
        return f"begins with `{_QUOTA_PREFIX}`"
    if not _DOMAIN.fullmatch(domain):
        return f"{domain!r} is not a lower-case DNS domain"
    if (length := len(_QUOTA_PREFIX + domain)) > _LONGEST_DOMAIN:
        return f"its domain has {length} characters with `{_QUOTA_PREFIX}`, more than {_LONGEST_DOMAIN}"
    if not _NAME.fullmatch(part):
        return f"{part!r} is not a name of letters, digits, `-`, `_` and `.`"
    if len(part) > _LONGEST_NAME:
        return f"its name part has {len(part)} characters, more than {_LONGEST_NAME}"
    return ""
