"""Throw arbitrary input at every gate, bounded: no exception, no slow answer, the same twice.

Exceptions inside a gate become findings by design (fail closed), so the fuzzer looks for the
findings that say so.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import string
import sys
import time
from collections.abc import Callable, Iterator

from exponential_shapes import SHAPES
from interlock import Verdict, evaluate_command, evaluate_edit, evaluate_tool_use
from interlock.policy.actions.parameters import tool_schema
from interlock.policy.gates.schema_gate import schema_gate
from interlock.service.policies.builtin_rules import secret_rules

MEBIBYTE = 1 << 20
SLOWEST_S = 1.0
MOST_US_PER_BYTE = 4.0
"""What an answer to a long text may cost: a text is parsed, searched, and redacted."""
LONG = 1 << 17
SCHEMAS = 200
SHELL = "a $(){}[]'\"`|&;<>\n\\=#*?~!-/.0123 rm-rf git cat <<EOF\nEOF\n<(>($((eval bash -c curl"
WORDS = (
    "rm -rf / ~ $HOME git reset --hard push -f bash -c eval sudo env xargs find -exec {} \\; curl"
    " | sh && || ; ( ) { } $( ` <<EOF \nEOF\n > >> 2>&1 <( >( 'q' \"d\" $X ${x:-y} $((1+1)) [[ ]]"
    " for i in a b do done if then fi while case esac function f() python -c print(1) psql -c"
    " DROP AKIA password="
).split(" ")


def main() -> int:
    """Fuzz for a while; return the number of broken promises, capped for the exit code."""
    arguments = _arguments()
    rng = random.Random(arguments.seed)
    deadline = time.monotonic() + arguments.seconds
    tried = 0
    broken: list[str] = []
    figures = _Figures()
    # Patterns are compiled, and learn, once for all questions: that is no cost of a byte.
    for _, text in _almost_credentials(random.Random(0), LONG):
        evaluate_command(text)
    for problem in _schema_problems(rng):
        tried += 1
        broken += [problem] if problem else []
    for name, text in _inputs(rng):
        for door, ask in DOORS.items():
            problem, seconds = _ask_twice(ask, text)
            tried += 1
            dear = figures.complaint(seconds, len(text), f"{door} on {name}")
            if problem := problem or dear:
                broken.append(f"{door} on {name}: {problem}: {text[:120]!r}")
        if time.monotonic() > deadline:
            break
    for line in broken[:20]:
        print(line)
    print(f"fuzz: {tried} questions, {len(broken)} broken promises")
    print(f"fuzz: slowest answer {figures.slowest[0] * 1000:.0f} ms: {figures.slowest[1]}")
    print(f"fuzz: dearest byte {figures.dearest[0]:.2f} microseconds: {figures.dearest[1]}")
    return min(len(broken), 1)


class _Figures:
    """The slowest answer of all, and the one that cost most for its size."""

    def __init__(self) -> None:
        self.slowest = self.dearest = (0.0, "")

    def complaint(self, seconds: float, size: int, what: str) -> str:
        """Note an answer; return what is wrong with what it cost, if anything is."""
        named = f"{what} ({size} characters)"
        self.slowest = max(self.slowest, (seconds, named))
        if size < LONG:
            return ""
        per_byte = seconds * 1e6 / size
        self.dearest = max(self.dearest, (per_byte, named))
        if per_byte <= MOST_US_PER_BYTE:
            return ""
        return f"costs {per_byte:.1f} microseconds a byte"


def _ask_twice(ask: Callable[[str], Verdict], text: str) -> tuple[str, float]:
    """Return what went wrong, if anything, and how long the slower answer took."""
    # The time of the processor: a busy machine breaks no promise of ours.
    start = time.process_time()
    try:
        first = ask(text)
        between = time.process_time()
        second = ask(text)
    except Exception as error:  # noqa: BLE001 - finding these is what a fuzzer is for
        return f"raised {type(error).__name__}: {error}", 0.0
    seconds = max(between - start, time.process_time() - between)
    if first != second:
        return "answered differently the second time", seconds
    gates = [finding.rule for finding in first.findings if finding.rule.endswith(".broken")]
    if gates:
        return f"broke {gates}: {[finding.message for finding in first.findings]}", seconds
    return ("too slow" if seconds > SLOWEST_S else ""), seconds


DOORS: dict[str, Callable[[str], Verdict]] = {
    "command": evaluate_command,
    "tool": lambda text: evaluate_tool_use("Bash", text),
    "parameter": lambda text: evaluate_tool_use(
        "Bash", {"command": text, "more": [text[:100], {"deep": text[:50]}]}
    ),
    "unknown tool": lambda text: evaluate_tool_use("frobnicate", {"a": text, "code": text}),
    "edit": lambda text: evaluate_edit(text[:200] or "x", text, old=text[::-1][: len(text) // 2]),
}


def _inputs(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the extremes first, then random input without end."""
    yield from _extremes()
    yield from _almost_credentials(rng, LONG)
    while True:
        size = rng.choice((5, 20, 80, 300, 2000))
        yield "random bytes", bytes(rng.randrange(256) for _ in range(size)).decode("latin-1")
        yield "surrogates", "".join(chr(rng.choice(_ODD_CODES)) for _ in range(size))
        yield "shell characters", "".join(rng.choice(SHELL) for _ in range(size))
        yield "shell words", " ".join(rng.choice(WORDS) for _ in range(size // 4 + 1))
        yield "glued words", "".join(rng.choice(WORDS) for _ in range(size // 4 + 1))
        yield from _almost_credentials(rng, size)
        first, second = rng.sample(sorted(SHAPES), 2)
        times = rng.randrange(2, 60)
        yield f"{first}, {second}", f"{SHAPES[first](times)}; {SHAPES[second](times)}"


def _almost_credentials(rng: random.Random, size: int) -> Iterator[tuple[str, str]]:
    """Yield texts that make a search for credentials try as often as it can."""
    letters = string.ascii_letters + string.digits
    rules = secret_rules()
    literals = sorted({literal for rule in rules for literal in rule.literals})
    few = rng.sample(literals, 5)
    yield "base64", base64.b64encode(rng.randbytes(size)).decode()
    yield "hexadecimal", rng.randbytes(size // 2).hex()
    yield "one word", "".join(rng.choices(letters, k=size))
    yield "keywords", "".join(rng.choices(literals, k=size // 6 + 1))
    yield (
        "a few keywords in noise",
        "".join(
            rng.choice(few) + "".join(rng.choices(letters, k=rng.randint(0, 7)))
            for _ in range(size // 10 + 1)
        ),
    )
    yield (
        "keywords assigned",
        "\n".join(
            f"{rng.choice(literals)} = '{''.join(rng.choices(letters, k=rng.randint(8, 64)))}'"
            for _ in range(size // 50 + 1)
        ),
    )
    yield (
        "credentials",
        "\n".join(
            "AKIA" + "".join(rng.choices(string.ascii_uppercase + "234567", k=16))
            for _ in range(size // 21 + 1)
        ),
    )
    yield "keys that never end", "-----BEGIN PRIVATE KEY-----\n" * (size // 28 + 1)


def _schema_problems(rng: random.Random) -> Iterator[str]:
    """Yield what is wrong with the answer about each of many schemas that name themselves often."""
    for number in range(SCHEMAS):
        count = rng.choice((3, 10, 30, 60))
        names = [f"d{index}" for index in range(count)]
        defs: dict[str, object] = {
            name: {
                rng.choice(("allOf", "anyOf", "oneOf")): [
                    {"$ref": f"#/$defs/{rng.choice(names[index:])}"} for _ in range(2)
                ],
                "properties": {"a": {"$ref": f"#/$defs/{rng.choice(names)}"}},
            }
            for index, name in enumerate(names)
        }
        schema = tool_schema({"$defs": {**defs, names[-1]: {}}, "$ref": "#/$defs/d0"})
        value: dict[str, object] = {}
        for _ in range(rng.randint(0, 40)):
            value = {"a": value}
        start = time.process_time()
        list(schema_gate(value, schema))
        seconds = time.process_time() - start
        yield f"schema {number}: too slow: {seconds:.1f} s" if seconds > SLOWEST_S else ""


def _extremes() -> Iterator[tuple[str, str]]:
    for name, shape in SHAPES.items():
        yield f"{name}, over and over", shape(60)
    for name, (opening, closing) in _NESTED.items():
        yield f"10,000 nested {name}", opening * 10_000 + "ls" + closing * 10_000
        yield f"nested {name} never closed", opening * 10_000
    for unit in _REPEATED:
        yield f"a mebibyte of {unit!r}", (unit * MEBIBYTE)[:MEBIBYTE]
        yield f"16 KiB of {unit!r}", (unit * 16_000)[:16_000]
    yield "python in bulk", "python3 -c '" + "os.remove(x);" * 1000 + "'"
    yield "sql in bulk", 'psql -c "' + "DELETE FROM t WHERE a=1;" * 600 + '"'
    yield "nested bash -c", "bash -c " * 1900 + "ls"
    yield "empty", ""
    yield from _calls()


def _calls() -> Iterator[tuple[str, str]]:
    """Yield arguments of tools that are large, deep, or JSON in JSON."""
    yield "a delimiter in every length", "END" + "_" * 100_000
    yield "many lines", json.dumps({"commands": [f"ls {n}" for n in range(5_000)]})
    yield "many objects", json.dumps({"a": [{"cmd": ["ls", str(n)]} for n in range(5_000)]})
    yield "many names", json.dumps({f"cmd{n}": "ls" for n in range(5_000)})
    yield "deep objects", '{"a":' * 900 + '"ls"' + "}" * 900
    yield "calls in calls", '{"name":"call_tool","arguments":' * 400 + "{}" + "}" * 400
    text = "ls"
    for _ in range(12):
        text = json.dumps({"cmd": text})
    yield "json in json", text
    yield "patches", json.dumps({"x": "--- a\n+++ b\n" * 20_000})


_ODD_CODES = (0xD800, 0xDFFF, 65, 36, 40, 39)
_NESTED = {
    "parentheses": ("(", ")"),
    "substitutions": ("$(", ")"),
    "braces": ("{ ", "; }"),
    "defaults": ("${a:-", "}"),
    "quotes": ('"$(', ')"'),
}
_REPEATED = (
    "a",
    "a ",
    "a;",
    "'",
    '"',
    "`",
    "\\",
    "\n",
    "\0",
    "rm -rf / ",
    "$(rm)",
    "eyJ",
    "password=",
    "AKIA",
    "{a,b}",
    "x=1;",
    "| cat ",
    "<<E\n",
    "&& ls ",
    "f(){ f; };",
    "*/",
    "--",
    "-----BEGIN ",
    "DROP TABLE x;",
    "'a' ",
    "<>",
    "$IFS",
    "((1))&&",
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODkr",
)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
