"""Whether a whole command line is no shell at all, but the call of some library."""

from __future__ import annotations

import re
from functools import cache


def looks_like_code(line: str) -> bool:
    """Whether the line is one method call: `gateway.customer.delete("c1")`."""
    bare = line.strip().removesuffix(";").rstrip()
    return bare.endswith(")") and "\n" not in bare and _call().match(bare) is not None


@cache
def _call() -> re.Pattern[str]:
    name = r"[^\W\d]\w{0,80}"
    return re.compile(rf"(?:await\s{{1,9}})?\$?{name}(?:(?:\.|::|->){name}){{1,9}}\(")
