"""Where languages differ once their tokens are cut: keywords, joining, bare calls."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.commands.code.tokens import Language


class Syntax(msgspec.Struct, frozen=True):
    """What the reader has to know about a language."""

    keywords: frozenset[str]
    joins: frozenset[str]
    """Operators that put two texts together."""
    assigns: frozenset[str] = frozenset({"="})
    calls_without_brackets: bool = False
    names_call: bool = False
    """Whether a dotted name alone is a call."""
    adjacent_strings_join: bool = False


def syntax_of(language: Language) -> Syntax:
    """Return what the reader has to know about the language."""
    return _SYNTAXES[language]


_SYNTAXES: Final = {
    Language.PYTHON: Syntax(
        keywords=frozenset(
            "and or not is in if elif else for while with as return yield await lambda del assert"
            " raise try except finally def class import from global nonlocal pass break continue"
            " async".split()
        ),
        joins=frozenset({"+"}),
        adjacent_strings_join=True,
    ),
    Language.JAVASCRIPT: Syntax(
        keywords=frozenset(
            "const let var if else for while do of in return await async new typeof void delete"
            " throw try catch finally switch case default break continue import from export extends"
            " yield instanceof static as function class".split()
        ),
        joins=frozenset({"+"}),
    ),
    Language.RUBY: Syntax(
        keywords=frozenset(
            "if unless else elsif end while until for in do begin rescue ensure return yield and or"
            " not then case when def class module next break redo retry BEGIN END".split()
        ),
        joins=frozenset({"+", "<<"}),
        calls_without_brackets=True,
        names_call=True,
    ),
    Language.PERL: Syntax(
        keywords=frozenset(
            "my our local state if unless else elsif while until for foreach do return and or not"
            " xor sub use no package last next redo x eq ne lt gt le ge cmp".split()
        ),
        joins=frozenset({"."}),
        calls_without_brackets=True,
    ),
    Language.PHP: Syntax(
        keywords=frozenset(
            "if else elseif while for foreach as do return echo print new function class and or xor"
            " not try catch finally switch case default break continue global static use namespace"
            " public private protected throw fn instanceof clone".split()
        ),
        joins=frozenset({"."}),
    ),
    Language.LUA: Syntax(
        keywords=frozenset(
            "local if then else elseif end for in while do repeat until return and or not function"
            " break goto".split()
        ),
        joins=frozenset({".."}),
        calls_without_brackets=True,
    ),
    Language.GO: Syntax(
        keywords=frozenset(
            "var const if else for range return go defer func type struct interface switch case"
            " default break continue import package map chan select".split()
        ),
        joins=frozenset({"+"}),
        assigns=frozenset({"=", ":="}),
    ),
    Language.R: Syntax(
        keywords=frozenset("if else for while in repeat function return next break".split()),
        joins=frozenset(),
        assigns=frozenset({"=", "<-"}),
    ),
}
