"""What a rule for one kind of credential is, and how a pack of them is read."""

from __future__ import annotations

import enum
import tomllib
from collections.abc import Iterator, Mapping
from typing import Final, assert_never

import msgspec
import re2

from interlock.errors import PolicyError
from interlock.model.verdict import Severity
from interlock.secrets.patterns import compiled, plain_pattern, token_pattern, vendor_pattern


class Judge(enum.Enum):
    """How a candidate is told from text that only looks like a credential."""

    ALWAYS = "always"
    """The shape alone is enough, even in examples."""
    TOKEN = "token"  # noqa: S105 - the name of a judge
    """Issued by a machine: everything but placeholders counts."""
    PASSWORD = "password"  # noqa: S105 - the name of a judge
    """Chosen by a person: look-ups, words and placeholders do not count."""
    RANDOM = "random"
    """Assigned to a name that is also used for harmless values: only random text counts."""
    BASIC = "basic"
    """Base64 of `user:password`."""


class Form(enum.Enum):
    """How a rule describes its credential."""

    TOKEN = "token"  # noqa: S105 - a key of the rule format
    NAMED = "named"
    PATTERN = "pattern"


class SecretRule(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of credential by its public format."""

    family: str
    id: str
    title: str
    """The kind in words, with its article: `a GitHub personal access token`."""
    form: Form
    pattern: str
    keywords: tuple[str, ...]
    """Lower-case literals; every match contains one of them in some spelling."""
    judge: Judge
    min_entropy: float
    severity: Severity
    remediation: str
    examples: tuple[str, ...]
    """Templates that tests expand into credentials of this kind."""
    not_match: tuple[str, ...]

    @property
    def name(self) -> str:
        """The id within all packs."""
        return f"{self.family}.{self.id}"

    @property
    def rank(self) -> tuple[int, int]:
        """How specific: of several rules that found a credential the highest names it."""
        return _FORM_RANKS[self.form, self.judge in _CONTEXT_JUDGES], max(map(len, self.keywords))


_CONTEXT_JUDGES = frozenset({Judge.PASSWORD, Judge.RANDOM, Judge.BASIC})
_FORM_RANKS = {
    (Form.TOKEN, False): 4,
    (Form.PATTERN, False): 4,
    (Form.NAMED, False): 3,
    (Form.TOKEN, True): 2,
    (Form.PATTERN, True): 2,
    (Form.NAMED, True): 1,
}


def rules_from_toml(text: str, *, verify: bool = True) -> tuple[SecretRule, ...]:
    """Read a pack; raise a PolicyError with every complaint at once.

    `verify` compiles every pattern, which takes longer than all the rest: leave it out only
    for packs that are verified elsewhere.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError([f"secret pack: not TOML: {error}"]) from error
    complaints: list[str] = []
    family = _family(document, complaints)
    tables = _tables(document, complaints)
    rules = [
        rule
        for index, table in enumerate(tables)
        if (rule := _rule(table, f"rule[{index}]", family, complaints, verify=verify))
    ]
    complaints.extend(_repeated(rules))
    if complaints:
        raise PolicyError([f"secret pack `{family}`: {complaint}" for complaint in complaints])
    return tuple(rules)


class CredentialPack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A pack whose rules were verified already."""

    pack: _Head
    rule: tuple[_Entry, ...]

    def rules(self) -> list[SecretRule]:
        """Return the rules that it describes."""
        return [_rule_from_entry(entry, self.pack.id) for entry in self.rule]


class _Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the rules of a file have in common."""

    id: str
    title: str


class _Entry(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """A rule as it is written."""

    id: str
    title: str
    token: str = ""
    named: tuple[str, ...] = ()
    value: str = ""
    pattern: str = ""
    keywords: tuple[str, ...] = ()
    judge: Judge = Judge.TOKEN
    min_entropy: float | None = None
    severity: Severity = Severity.CRITICAL
    remediation: str = ""
    example: str | tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


_NAMED_ENTROPY = 2.5


def _family(document: Mapping[str, object], complaints: list[str]) -> str:
    complaints.extend(
        f"unknown key `{key}`, expected `pack` or `rule`"
        for key in document
        if key not in {"pack", "rule"}
    )
    try:
        return msgspec.convert(document.get("pack"), _Head).id
    except msgspec.ValidationError as error:
        complaints.append(f"`pack`: {str(error).lower()}; expected the texts `id` and `title`")
        return ""


def _tables(document: Mapping[str, object], complaints: list[str]) -> list[object]:
    try:
        tables = msgspec.convert(document.get("rule"), list[object])
    except msgspec.ValidationError:
        tables = []
    if not tables:
        complaints.append("`rule` must be a list of at least one table")
    return tables


def _rule(
    table: object, place: str, family: str, complaints: list[str], *, verify: bool
) -> SecretRule | None:
    try:
        entry = msgspec.convert(table, _Entry)
    except msgspec.ValidationError as error:
        complaints.append(f"`{place}`: {str(error).lower()}")
        return None
    rule = _rule_from_entry(entry, family)
    found = [f"`{place}` (`{entry.id}`): {complaint}" for complaint in _complaints(entry)]
    if verify and not found:
        found = [f"`{place}` (`{entry.id}`): {flaw}" for flaw in _pattern_flaws(rule)]
    complaints.extend(found)
    return None if found else rule


def _rule_from_entry(entry: _Entry, family: str) -> SecretRule:
    form = _form(entry)
    entropy = _NAMED_ENTROPY if form is Form.NAMED and entry.value else 0.0
    return SecretRule(
        family=family,
        id=entry.id,
        title=entry.title,
        form=form,
        pattern=_pattern(entry, form),
        keywords=entry.keywords or tuple(name.lower() for name in entry.named),
        judge=entry.judge,
        min_entropy=entropy if entry.min_entropy is None else entry.min_entropy,
        severity=entry.severity,
        remediation=entry.remediation,
        examples=_examples(entry),
        not_match=entry.not_match,
    )


def _form(entry: _Entry) -> Form:
    if entry.token:
        return Form.TOKEN
    return Form.NAMED if entry.named else Form.PATTERN


def _pattern(entry: _Entry, form: Form) -> str:
    match form:
        case Form.TOKEN:
            return token_pattern(entry.token)
        case Form.NAMED:
            return (
                vendor_pattern(entry.named, entry.value)
                if entry.value
                else plain_pattern(entry.named)
            )
        case Form.PATTERN:
            return entry.pattern
        case _:
            assert_never(form)


def _examples(entry: _Entry) -> tuple[str, ...]:
    if entry.example:
        return (entry.example,) if isinstance(entry.example, str) else entry.example
    return tuple(template for template in (entry.token or entry.value,) if template)


def _complaints(entry: _Entry) -> Iterator[str]:
    if not entry.id or not entry.title:
        yield "`id` and `title` must not be empty"
    if sum(bool(form) for form in (entry.token, entry.named, entry.pattern)) != 1:
        yield "exactly one of `token`, `named` and `pattern` must be given"
    if entry.value and not entry.named:
        yield "`value` belongs to `named`"
    if not entry.keywords and not entry.named:
        yield "`keywords` must hold at least one literal that every match contains"
    yield from (
        f"keyword `{keyword}` must be lower case, ASCII and at least 2 characters long"
        for keyword in entry.keywords or entry.named
        if keyword != keyword.lower() or not keyword.isascii() or len(keyword) < 2
    )


def _pattern_flaws(rule: SecretRule) -> Iterator[str]:
    try:
        compiled(rule.pattern)
    except UnicodeEncodeError:
        yield f"the pattern must be ASCII: `{rule.pattern}`"
    except re2.error as error:
        reason = error.args[0]
        said = reason.decode("latin-1") if isinstance(reason, bytes) else str(reason)
        yield f"not a pattern in RE2 syntax: {said}"


def _repeated(rules: list[SecretRule]) -> Iterator[str]:
    seen: set[str] = set()
    for rule in rules:
        if rule.id in seen:
            yield f"the id `{rule.id}` stands twice"
        seen.add(rule.id)


_CREDENTIAL_WORDS: Final = frozenset(("AUTH", "COOKIE", "KEY", "KEYS", "PASS", "PAT", "PWD"))
_CREDENTIAL_ENDINGS: Final = (
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PASSWORDS",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
)
_FOLDERS: Final = frozenset(("PWD", "OLDPWD"))


def names_credential(name: str) -> bool:
    """Tell whether a variable, or a glob of them, is named as credentials are."""
    words = name.upper().replace("*", "_").split("_")
    return name not in _FOLDERS and any(
        word in _CREDENTIAL_WORDS or word.endswith(_CREDENTIAL_ENDINGS) for word in words
    )
