"""Harmless scripts at random: assignments in every form, and one `printf` of what they come to."""

from __future__ import annotations

import random
from collections.abc import Callable

_NAMES = ("x", "y", "z")
_TEXTS = (
    "", "q", "rm", "a b", " lead", "trail ", "A.b.c", "x/y/z.tar.gz", "aXbXc", "MiXed", "a,b,,c",
    "::k:", "1", "07", "-3", "it'\\''s", "tab\\there", "é",
)  # fmt: skip
_ANSI_C = (
    "\\x72m", "a\\tb", "\\101", "q\\'s", "\\u0041", "\\cA", "\\e", "\\z", "\\0", "\\xg",
    "a\\0b", "\\\\",
)  # fmt: skip
_PATTERNS = (
    "*", "?", "[a-c]", "a", "X", "b*", "*b", "*.*", "/", "*/", "[!a]", "'*'", '"b"', "??", "[a-]",
    "\\*", ".", "$y", "${z}", "", "*[bX]*",
)  # fmt: skip
_BRACES = (
    "{a,b}", "{1..3}", "p{x,$y}s", "{03..1}", "{a..c}", "{a,{b,c}d}", "x{,y}", "{a", "{1..10..4}",
    "'{a,b}'", "{q}", "{a,b}{c,d}", "a{b}c{d,e}", "$x{1,2}",
)  # fmt: skip
_DEEPEST = 3
_BEGIN = (
    "x=ab y='c d' z=efg p=x i=3 j=5 kk=k n=''",
    "declare -A h",
    "h[k]=v",
    "a=(one 'two t')",
    "set -- A 'B b'",
)


def script(rng: random.Random) -> str:
    """Return a script that ends in a `printf` of some words."""
    statements = [_statement(rng) for _ in range(rng.randrange(5))]
    words = " ".join([_word(rng) for _ in range(rng.randrange(1, 5))])
    return "\n".join([*_BEGIN, *statements, f"printf '<%s>\\2' {words}"])


def _quoted(rng: random.Random) -> str:
    return f"'{rng.choice(_TEXTS)}'"


def _value(rng: random.Random, depth: int = 0) -> str:
    def inner() -> str:
        return _expansion(rng, depth + 1)

    makers: tuple[Callable[[], str], ...] = (
        lambda: _quoted(rng),
        lambda: _quoted(rng),
        lambda: _quoted(rng),
        lambda: f'"{inner()}"',
        inner,
        lambda: f"$'{rng.choice(_ANSI_C)}'",
        lambda: f"l{inner()}'r s'",
        lambda: f'"$(printf %s {_quoted(rng)})"',
        lambda: rng.choice(("r\\m", "a\\ b", '"a\\"b"', '"\\$x"', '"\\q"', "\\$x")),
        lambda: f'"{inner()} {inner()}"',
        lambda: f'"`printf %s {_quoted(rng)}`"',
    )
    return rng.choice(makers)()


def _expansion(rng: random.Random, depth: int = 0) -> str:
    name = rng.choice(_NAMES)
    if depth > _DEEPEST:
        return f"${name}"
    pick = rng.choice
    makers: tuple[Callable[[], str], ...] = (
        lambda: f"${name}",
        lambda: f"${{{name}}}",
        lambda: f"${{{name}:{pick(('0', '1', ' -1', ' -2', '2', '$((1+1))', '9'))}}}",
        lambda: f"${{{name}:{pick(('0', '1', ' -2'))}:{pick(('1', '2', '-1', '0'))}}}",
        lambda: f"${{{name}{pick(('#', '##', '%', '%%'))}{pick(_PATTERNS)}}}",
        lambda: _replacement(rng, name),
        lambda: f"${{{name}{pick(('^', '^^', ',', ',,'))}{pick(('', '[a-m]', '?', 'x'))}}}",
        lambda: f"${{{name}@{pick('UuLEQ')}}}",
        lambda: _default(rng, name),
        lambda: f"${{#{name}}}",
        lambda: "${!p}",
        lambda: f"$(({_arithmetic(rng)}))",
        lambda: f"${{a[{pick(('0', '1', '-1', '7', '1+0'))}]}}",
        lambda: f"${{#a[{pick(('@', '*', '0'))}]}}",
        lambda: f"${pick('123#')}",
        lambda: f"${{{pick(('1', '2', '9', '10'))}}}",
        lambda: f"${{h[{pick(('k', 'no', chr(39) + 'k' + chr(39), '$kk'))}]}}",
        lambda: f"$[1+{pick('123')}]",
        lambda: "${n}",
    )
    return rng.choice(makers)()


def _replacement(rng: random.Random, name: str) -> str:
    pattern = rng.choice(_PATTERNS).replace("/", "\\/")
    operator = rng.choice(("/", "//", "/#", "/%"))
    return f"${{{name}{operator}{pattern}{rng.choice(('', '/', '/R', '/$x'))}}}"


def _default(rng: random.Random, name: str) -> str:
    operator = rng.choice(("-", ":-", "+", ":+", ":=", "="))
    default = rng.choice(("d", "'d e'", '"d e"', "$y", "${z}", "d\\ e", '"${z:-q}"'))
    return f"${{{name}{operator}{default}}}"


def _lists(rng: random.Random) -> str:
    """Return all elements of a list, or some of them."""
    whole = ("@", "*", "a[@]", "a[*]", "@:1", "@:2:1", "a[@]:1", "a[@]:0:2", "a[@]: -1", "a[@]%?")
    return f'"${{{rng.choice(whole)}}}"'


def _arithmetic(rng: random.Random, depth: int = 0) -> str:
    kind = rng.randrange(12)
    if depth > 2 or kind < 4:
        return rng.choice(("1", "2", "7", "010", "0x1f", "i", "j", "2#101", "10"))
    left = _arithmetic(rng, depth + 1)
    right = _arithmetic(rng, depth + 1)
    if kind < 8:
        operators = "+ - * % / < > == != && || & | ^ << ** ,".split()
        return f"{left} {rng.choice(operators)} {right}"
    if kind == 8:
        return f"({left})"
    if kind == 9:
        return rng.choice(("i++", "j--", "++i", "--j", "i+=2", "j=3", "i=j=4"))
    if kind == 10:
        return rng.choice("-!~+") + rng.choice(("1", "i", "(2)"))
    return f"{left} ? {right} : {_arithmetic(rng, depth + 1)}"


def _values(rng: random.Random, least: int = 0) -> str:
    return " ".join([_value(rng) for _ in range(rng.randrange(least, 4))])


def _statement(rng: random.Random) -> str:
    name = rng.choice(_NAMES)
    other = rng.choice(_NAMES)

    def value() -> str:
        return _value(rng)

    makers: tuple[Callable[[], str], ...] = (
        lambda: f"{name}={value()}",
        lambda: f"{name}={value()}",
        lambda: f"{name}={value()}",
        lambda: f"{name}+={value()}",
        lambda: f"a=({_values(rng)})",
        lambda: f"a+=({value()})",
        lambda: f"a[{rng.choice(('0', '1', 'i', '7'))}]{rng.choice(('=', '+='))}{value()}",
        lambda: f"h[k]={value()}",
        lambda: f"set -- {_values(rng)}",
        lambda: rng.choice(("shift", "shift 2", "shift 0")),
        lambda: f"IFS={rng.choice(('X', chr(39) + ', ' + chr(39), ':'))}",
        lambda: f"printf -v {name} '%s-%s' {value()} {value()}",
        lambda: f"read -r {name} {other} <<< {value()}",
        lambda: f"(({_arithmetic(rng)}))",
        lambda: f"f() {{ local y={value()}; {name}={value()}; set -- {value()}; }}; f {value()}",
        lambda: f"for {name} in {_values(rng, 1)}; do z+=${name}; done",
        lambda: f"{name}={value()} {other}={value()}",
        lambda: rng.choice(
            (f"declare {name}={value()}", f"export {name}={value()}", f'declare "{name}=w"')
        ),
        lambda: f"mapfile -t a <<< {value()}",
        lambda: "unset a",
    )
    return rng.choice(makers)()


def _word(rng: random.Random) -> str:
    makers: tuple[Callable[[], str], ...] = (
        lambda: _expansion(rng),
        lambda: _expansion(rng),
        lambda: f'"{_expansion(rng)}"',
        lambda: rng.choice(_BRACES),
        lambda: f"l{_expansion(rng)}r",
        lambda: _value(rng),
        lambda: _lists(rng),
    )
    return rng.choice(makers)()
