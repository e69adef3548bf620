"""What a rule for one kind of credential is, and the pattern that finds candidates for it."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from interlock.model.verdict import Severity
from interlock.secrets.pattern_prefix import is_bounded, is_literal, prefixes, shortest


class Judge(enum.Enum):
    """How a candidate is told from text that only looks like a credential."""

    ALWAYS = "always"
    """The shape alone is enough, even in examples."""
    TOKEN = "token"  # noqa: S105 - the name of a judge
    """Issued by a machine: everything but placeholders counts."""
    PASSWORD = "password"  # noqa: S105 - the name of a judge
    """Chosen by a person: look-ups, words and placeholders do not count."""
    GIVEN = "given"
    """Where nothing but a password can stand: even a weak one counts, if it is no default."""
    CHOSEN = "chosen"
    """Beside a word for passwords, in plain words: random text, or words and numbers joined."""
    RANDOM = "random"
    """Assigned to a name that is also used for harmless values: only random text counts."""
    BASIC = "basic"
    """Base64 of `user:password`."""
    CODE = "code"
    """Digits or groups beside a word for codes: neither counted up nor words."""
    NEAR = "near"
    """Beside one of the names, whatever stands between: only what was made by chance counts."""
    COLUMN = "column"
    """In a column headed by one of the names: only what was made by chance counts."""


class Form(enum.Enum):
    """How a rule describes its credential."""

    TOKEN = "token"  # noqa: S105 - a key of the rule format
    NAMED = "named"
    PATTERN = "pattern"


class SecretRule(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    """One kind of credential by its public format: exactly one of token, named and pattern."""

    family: str = ""
    """The pack that it stands in."""
    id: str
    title: str
    """The kind in words, with its article: `a GitHub personal access token`."""
    token: str = ""
    named: tuple[str, ...] = ()
    value: str = ""
    """What stands behind one of the names; anything that its judge takes if it is empty."""
    pattern: str = ""
    keywords: tuple[str, ...] = ()
    """Every match contains one of them: in any spelling, or as it is if it has capitals."""
    judge: Judge = Judge.TOKEN
    min_entropy: float | None = None
    severity: Severity = Severity.CRITICAL
    remediation: str = ""
    example: str | tuple[str, ...] = ()
    """Templates that tests expand into credentials of this kind."""
    not_match: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The id within all packs."""
        return f"{self.family}.{self.id}"

    @property
    def form(self) -> Form:
        """How it describes its credential."""
        if self.token:
            return Form.TOKEN
        return Form.NAMED if self.named else Form.PATTERN

    @property
    def literals(self) -> tuple[str, ...]:
        """What to look for first: its keywords, or the names themselves."""
        return self.keywords or tuple(name.lower() for name in self.named)

    @property
    def beginnings(self) -> frozenset[str]:
        """Literals of which every match begins with one, where a match is short; else nothing.

        Those of a name are in small letters, and match in any spelling.
        """
        match self.form:
            case Form.TOKEN if is_bounded(self.token):
                return prefixes(self.token)
            case Form.NAMED if self.value and all(map(is_literal, self.named)):
                return frozenset(prefix.lower() for name in self.named for prefix in prefixes(name))
            case Form.PATTERN if is_bounded(self.pattern):
                return prefixes(self.pattern)
            case _:
                return frozenset()

    @property
    def least_length(self) -> int:
        """How many characters every match has at least."""
        if self.form is Form.NAMED:
            return min(map(shortest, self.named)) + shortest(self.value)
        return shortest(self.token or self.pattern)

    @property
    def least_entropy(self) -> float:
        """How random its credentials are at least, in bits per character."""
        if self.min_entropy is None:
            return _NAMED_ENTROPY if self.form is Form.NAMED and self.value else 0.0
        return self.min_entropy

    @property
    def rank(self) -> tuple[int, int]:
        """How specific: of several rules that found a credential the highest names it."""
        from_context = 2 if self.judge in _CONTEXT_JUDGES else 0
        by_name = 1 if self.form is Form.NAMED else 0
        return 4 - from_context - by_name, max(map(len, self.literals), default=0)

    @property
    def regex(self) -> str:
        """The whole pattern, in RE2 syntax and ASCII."""
        match self.form:
            case Form.TOKEN:
                return rf"(?P<{SECRET}>{self.token}){_END}"
            case Form.NAMED if self.value:
                return _vendor_pattern(self.named, self.value)
            case Form.NAMED:
                return _plain_pattern(self.named)
            case Form.PATTERN:
                return self.pattern
            case _:
                assert_never(self.form)


class CredentialPack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules."""

    pack: _Head
    rule: tuple[SecretRule, ...]

    def rules(self) -> list[SecretRule]:
        """Return the rules, each with the pack that it stands in."""
        return [replace(rule, family=self.pack.id) for rule in self.rule]


class _Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the rules of a file have in common."""

    id: str
    title: str


_NAMED_ENTROPY: Final = 2.5
_CONTEXT_JUDGES: Final = frozenset(set(Judge) - {Judge.ALWAYS, Judge.TOKEN})

SECRET = "secret"  # noqa: S105 - the name of a group
"""Groups whose name starts so hold the credential; the first one that took part counts."""

# Zero-width where the token ends in a word character: the separator stays for the next match.
_END = r"(?:\b|[^A-Za-z0-9_]|$)"

_REST_OF_VENDOR_KEY = r"[A-Za-z0-9_.\-]{0,30}"
_MEANS_NOTHING = (
    r"prod|production|dev|staging|live|local|root|admin|user|old|new|value|string|text|plain"
    r"|base64|b64|base|hex|data|[0-9]{1,3}"
)
_REST_OF_PLAIN_KEY = rf"(?:{_MEANS_NOTHING}|[_.\-](?i:{_MEANS_NOTHING}))?"

_KEY_CLOSES = r"""\\{0,3}["'`]?\]?(?:\[[A-Z0-9_]{0,12}\])?"""
# Digits end the name of a type, as in `Option<u8>`: elsewhere it is a value that holds a `=`.
_TYPE = r":[ \t]{0,2}[&A-Za-z][A-Za-z_&'<>\[\]|?.]{0,24}(?:[0-9]{1,2}[>\]?]{0,2})?[ \t]{0,2}="
_OPERATOR = (
    r"[ \t]{0,8}(?:"
    + _TYPE
    + r"|[ \t](?:string|(?i:as string))[ \t]?=|=>|:{1,3}=|\.=|"
    + r"={1,3}:?|\|\|=|\?\?=|\?=|:|<-)[ \t]{0,8}"
    # What YAML says of a text before it begins.
    + r"(?:[|>][+-]?[ \t]{0,2}\n[ \t]{1,16}|!!str[ \t])?"
)
_ELEMENT = (
    r"[\"']?[ \t]{0,2}(?:[A-Za-z:]{1,16}=\"[^\"<>]{0,80}\"[ \t]{0,2}){0,2}>"
    r"(?:\s{0,24}<(?i:value|string)>)?"
)
_CALL = r"[ \t]?\([ \t]{0,2}"
_PAIR = r"""["'`],[ \t]{0,16}"""
# Before its key a client is told for whom it works.
_FIRST_ARGUMENT = r"""(?:["'`][^\s"'`]{1,40}["'`],[ \t]{0,4})?"""
# A field of one plain word may stand between, such as `type = string`.
_NAME_THEN_VALUE = (
    r"""["']?[ \t]{0,2}(?:[,{]|:[ \t]?\{)?\s{0,24}"""
    r"""(?:["']?type["']?[ \t]{0,8}[:=][ \t]{0,2}["']?[A-Za-z]{2,16}["']?,?\s{0,24})?"""
    r"""\\{0,3}["']?(?i:value|default)\\{0,3}["']?[ \t]{0,8}[:=][ \t]{0,4}"""
)
# The next element after that with the name, as in lists of properties and rows of tables.
_NEXT_ELEMENT = r"[ \t]{0,2}</[A-Za-z]{2,12}>\s{0,24}<[A-Za-z]{2,12}>"
_PROPERTY = r"[ \t]{0,2}\{[ \t]?get;[ \t]?(?:(?:private )?(?:set|init);[ \t]?)?\}[ \t]?=[ \t]?"
_ASSIGNS = rf"(?:{_KEY_CLOSES}{_OPERATOR}|{_NEXT_ELEMENT}|{_NAME_THEN_VALUE})"
# What holds where nothing else was given.
_DEFAULT = r"""["'`]?\)?[ \t]{1,2}(?:or|\|\||\?\?|\?:|\|[ \t]?default\()[ \t]?"""
_HANDS_OVER = rf"(?:{_KEY_CLOSES}{_CALL}|{_PAIR}|{_DEFAULT})"
_SCHEME = r"(?:(?i:bearer|token|basic|apikey)[ :=]{1,2})?"
# What makes a text of a text, or a list.
_MAKES_TEXT = (
    r"(?:\[\s{0,24}|(?:new )?(?:String(?:::from)?|SecretStr(?:ing)?|Secret|Password|Some|str|bytes"
    r"|Buffer\.from|std::string|Box::new|pulumi\.secret)\()?"
)
_OPENS = r"""[A-Za-z@$]{0,2}\\{0,3}["'`]{0,3}"""
_SAID = r"(?:(?i:key|token|secret|pat|password|auth)s?(?: is)?[ :]{1,3})"

# A value of letters alone is a word unless it is long: most of what is assigned ends here.
_VALUE_IN_DOUBLE_QUOTES = (
    r'(?:[A-Za-z]*(?:[^A-Za-z"\\\s]|\\[^"\s])(?:[^"\\\s]|\\[^"\s])*|[A-Za-z]{12,})'
)
_VALUE_IN_SINGLE_QUOTES = _VALUE_IN_DOUBLE_QUOTES.replace('"', "'")
_VALUE_IN_BACKQUOTES = r"(?:[A-Za-z]*[^A-Za-z`\s][^`\s]*|[A-Za-z]{12,})"
# The opening quotation mark is part of the group and is left out by whoever takes its span.
_QUOTED_VALUE = (
    rf'\\{{1,3}}"{{1,3}}{_VALUE_IN_DOUBLE_QUOTES}'
    rf"|\\{{1,3}}'{{1,3}}{_VALUE_IN_SINGLE_QUOTES}"
    # Where the mark that opens it is not escaped, one that is belongs to the value.
    rf'|"{{1,3}}{_VALUE_IN_DOUBLE_QUOTES}(?:\\"[^"\\\s]+)*'
    rf"|'{{1,3}}{_VALUE_IN_SINGLE_QUOTES}(?:\\'[^'\\\s]+)*"
    rf"|`{_VALUE_IN_BACKQUOTES}"
)
_BARE = r"""[^\s"'`<>(){}\[\],;|&\\]"""
# What begins with a point is code or a pattern.
_BARE_VALUE = (
    rf"""(?:(?:[A-Za-z]+[^A-Za-z\s"'`<>(){{}}\[\],;|&\\$]|[^A-Za-z\s"'`<>(){{}}\[\],;|&\\$.]){_BARE}*"""
    r"|[a-z]{12,})"
)


def _vendor_pattern(names: Sequence[str], value: str) -> str:
    """Return the pattern of a value that is a credential because of whose name it carries."""
    by_name = rf"{_ASSIGNS}|{_ELEMENT}|{_HANDS_OVER}{_FIRST_ARGUMENT}"
    assigned = rf"{_REST_OF_VENDOR_KEY}(?:{by_name}){_SCHEME}{_OPENS}"
    said = rf"[A-Za-z0-9_. \-]{{0,16}}{_SAID}{_OPENS}"
    return rf"{_any_of(names)}(?:{assigned}|{said})(?P<{SECRET}>{value}){_END}"


def _plain_pattern(names: Sequence[str]) -> str:
    """Return the pattern of anything assigned to a name that means a credential.

    In an element nothing is quoted: the mark behind `'<password>'` closes one.
    """
    letters = r"[A-Za-z@$]{0,2}"
    return (
        rf"{_any_of(names)}{_REST_OF_PLAIN_KEY}"
        rf"(?:(?:{_ASSIGNS}|{_PROPERTY}){_SCHEME}{_MAKES_TEXT}{letters}(?P<{SECRET}>{_QUOTED_VALUE})"
        rf"|(?:{_ASSIGNS}|{_ELEMENT}){_SCHEME}(?P<{SECRET}_bare>{_BARE_VALUE})"
        rf"|{_HANDS_OVER}{letters}(?P<{SECRET}_handed_over>{_QUOTED_VALUE}))"
    )


def _any_of(names: Sequence[str]) -> str:
    return f"(?i:{'|'.join(names)})"


_CREDENTIAL_WORDS: Final = frozenset(("AUTH", "COOKIE", "KEY", "KEYS", "PASS", "PAT", "PWD"))
_CREDENTIAL_ENDINGS: Final = tuple(
    "APIKEY CREDENTIAL CREDENTIALS PASSPHRASE PASSWD PASSWORD PASSWORDS SECRET SECRETS TOKEN"
    " TOKENS".split()
)
_FOLDERS: Final = frozenset(("PWD", "OLDPWD"))


def names_credential(name: str) -> bool:
    """Tell whether a variable, or a glob of them, is named as credentials are."""
    words = name.upper().replace("*", "_").split("_")
    return name not in _FOLDERS and any(
        word in _CREDENTIAL_WORDS or word.endswith(_CREDENTIAL_ENDINGS) for word in words
    )
