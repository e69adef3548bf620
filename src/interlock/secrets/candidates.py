"""Is a candidate a credential, or text that only looks like one?"""

from __future__ import annotations

import base64
import math
import operator
import re
import string
from itertools import pairwise
from typing import NamedTuple, assert_never

import re2

from interlock.secrets.chosen_passwords import is_chosen, is_default, is_phrase, is_plain_word
from interlock.secrets.credential_rules import Form, Judge, SecretRule
from interlock.secrets.randomness import is_counted_up, is_hexadecimal, random_bits

_SHORTEST_PASSWORD = 4
_LONGEST_PASSWORD = 512
_SHORTEST_RANDOM = 12
_SHORTEST_PHRASE = 12
_SHORTEST_SAID = 8
_LEAST_RANDOM_ENTROPY = 2.9
_FEWEST_PART_BITS = -3.0
_SHORTEST_DIGEST = 32
# Identifiers as such, those of OpenPGP keys, and those of chemical compounds.
_PUBLIC_ID = re2.compile(
    r"(?i:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|[0-9A-F]{16}|[0-9A-F]{40}"
    r"|[A-Z]{14}-[A-Z]{10}-[A-Z]"
)
# How public keys begin in DER, in SSH's format and where they are issued to web pages.
_PUBLIC_KEYS = tuple(
    "MFkwEw MHYwEA MIIBIj MIICIj MIGfMA MCowBQ AAAAB3Nza AAAAC3Nza AAAAE2Vj pk_ pk.".split()
)
_MADE_BY_CHANCE = 10.0
_MOST_DIGITS = 0.85
_STEPS_OF_FILLER = 0.6
"""More than chance makes in any alphabet."""
_SHORTEST_LONG_NAME = 18
_FEWEST_DIGITS = 3
_NAME_OF = 24
"""A name is found in so many characters, its sign before it."""
_NAMED_BY_A_PERSON = 4.0
"""Below so many bits something that holds digits is a name: of a type, a model, a version."""


_NOBODY = re.compile(
    r"""(?:^|[^a-z])(?:my_?)?(?:user|usr|username|foo|name|login|uid)[0-9]?["']?[:/,]\s*["']?$"""
)
_ANONYMOUS = re.compile(r"""anonymous|\b(?:null|none|nil),\s*[bru@]?["']?$""")
# One name alone, as in a network of containers, and what stands for machines in manuals.
_NOWHERE = re.compile(
    r"(?i)@(?:[a-z0-9_-]+(?:[^a-z0-9_.-]|$)|127\.|0\.0\.|(?:[a-z0-9-]+\.)*"
    r"(?:example|foo|bar|baz|host|hostname|server|domain|mydomain|site|some\w*|test|invalid)\b)"
)


class Candidate(NamedTuple):
    """A possible credential at text[start:end], found from `key_start` on."""

    text: str
    start: int
    end: int
    key_start: int
    secret: str

    @property
    def before(self) -> str:
        """The character before it, or nothing."""
        return self.text[self.start - 1] if self.start else ""

    @property
    def after(self) -> str:
        """The character after it, or nothing."""
        return self.text[self.end : self.end + 1]

    @property
    def is_code(self) -> bool:
        """Whether what follows it makes it a name in code; a point ends a sentence as well."""
        after = self.text[self.end : self.end + 2]
        return after[:1] in _OPENING or (after[:1] == "." and bool(after[1:].strip()))

    @property
    def is_quoted(self) -> bool:
        """Whether it stands in quotation marks."""
        return self.before in _QUOTES


_QUOTES = ('"', "'", "`")
# What follows a name in code.
_OPENING = ("(", "[", "{")
# What follows an argument in code.
_CLOSING = (")", ",")


# Examples of the standards and manuals that everybody copies: OAuth (RFC 5849, 6749, 6750), HTTP
# (RFC 7617), WebSocket (RFC 6455), JSON Web Tokens (RFC 7519), one-time passwords (RFC 6238), AES
# (FIPS 197, SP 800-38A), AWS, Azure, Stripe, Google, Ethereum's test networks. They are written
# backwards, so that nobody's scanner takes this file for a leak.
_DOCUMENTED = frozenset(
    (
        "AApWMcisCz1rjEFZFntoY2 wImdVfnbRDtK1rBZ0pfjF7 2d9sjd84h28jdjd9 ELPMAXEBHD8HQ44IAIKA"
        " ELPMAXE7NNDOFSOIAIKA ELPMAXE7NNDOFSOIAISA ==QZtF2clNHIuVGcvpjbpRGZhxWQ"
        " AIbSxW6SYbYQQZeBOlxlpS WJ2M0FmQmFDWnpzM0F3aSRGaCZzc ==QZj52buBSZsBXbhNHIlhGd 9hisadh398hd"
        " 88fj87dj0tjr9rjd 30l3k4l2p3f34fpd c5wssQda_VJy6kOP63fJeMpwf4TQ2FKKeMSJRwxKlfS.QfyIDM5MjM2"
        "ETNxojI0FWaiwiIl9GRg4GavpkI6ISZtFmbiwiIwkDO3YTN0MjMxIiOiIWdzJye.9JCVXpkI6ICc5RnIsIiN1IzUIJ"
        "iOicGbhJye Vb3taBf1Xg 30oa7j9k4420dhdh alopdidh4j39s5hh djd92j3ks94j"
        " YEKELPMAXEbvn8oCy3h/ktU9pZ2/FBwlCbGtM7ej 3shtiu88jt999djj 44fk324k39fh49dk"
        " 7vjs93k3hd7d9kkk MqJ1.4-f5B.9_Fm kdj2ls00d437hcnn 00s4r3ls9ihdkkfp 3tqkRdhB6s"
        " cd7pdz1TtjraDWjyLqH93Ce4_tset_ks 2Qflo4HgWlH2IiBvOJkikoQB_tset_ks AIWKlT2xQ5GX0FkOJ3vzGt"
        " YEKELPMAXEYCifRxPb/GNEDM7K/IMEFntUXrlaJw ==wDXhBG9hkLzE1LDbMHJJ3x"
        " ==wGMGoskeBHBK/rtOTPFZS1K/qt6I4zCrEVU2qFusFI6ZRSu05TFzUO1JXDCltEmlLPJwUqlFqcONx20Mdv8ybE"
        " PXP3KPHEPD3YWSBJ ZOBXMTFGUFI4RZIWH3BRSWJJCEJVMDXH QJOQT3YGVBNGDZEGQJOQT3YGVBNGDZEG "
        "==wJ/wIX76yQGacEsMyqnZIbMPyGGm8b4DboqTVuDn9Qn2ED5UDQ4+MLHEWIJDRV03vgC7A8N0bo+R/5fjDy6y2C "
        "08ff2f4fb7d487eacfe5debc874bcab449ff832d4b6a4ab63e71a93ceb4790ca "
        "08ff2f4fb7d487eacfe5debc874bcab449ff832d4b6a4ab63e71a93ceb4790cax0 "
        "c3f4fc9088517fba6a2dea826151e7b2 "
        "4ffd41903a0189d27d8016b370c253f11877d7580fea37b2eb17ac5101bed306"
    )[::-1].split()
)


def is_credential(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether the rule's judge takes the candidate for real."""
    if candidate.secret in _DOCUMENTED:
        return False
    match rule.judge:
        case Judge.ALWAYS:
            taken = _starts_freely(rule, candidate)
        case Judge.TOKEN:
            taken = _is_token(rule, candidate)
        case Judge.PASSWORD | Judge.GIVEN:
            judged = _is_given if rule.judge is Judge.GIVEN else _is_password
            taken = judged(rule, candidate)
        case Judge.RANDOM:
            taken = _is_random_value(candidate)
        case Judge.CHOSEN:
            taken = _is_said(candidate)
        case Judge.BASIC | Judge.CODE:
            taken = _BY_VALUE[rule.judge](candidate.secret)
        case Judge.NEAR:
            taken = _is_by_chance(candidate)
        case Judge.COLUMN:
            taken = is_chosen(candidate.secret) or _is_by_chance(candidate)
        case _:
            assert_never(rule.judge)
    return (
        taken
        and (not rule.least_entropy or _entropy(candidate.secret) >= rule.least_entropy)
        and (rule.form is Form.TOKEN or not _is_told_to_be_public(candidate))
    )


_PUBLIC_NAME = re.compile(r"(?i)public[_.\- ]?key|publishable[_.\- ]?|site[_.\- ]?key")
_REST_OF_NAME = 24
_SEALED = re.compile(r"(?m)^([ \t]*)encryptedData:\n(?:\1[ \t][^\n]*\n)*\1[ \t][^\n]*\Z")
_FARTHEST_SEAL = 600


def _is_told_to_be_public(candidate: Candidate) -> bool:
    """Tell whether its own name says so, or that it is an entry sealed with a public key."""
    text, start = candidate.text, candidate.start
    begin = max(0, candidate.key_start - _REST_OF_NAME)
    # A name that ends before is that of another value.
    names = _PUBLIC_NAME.finditer(text, begin, start)
    before = text[max(0, start - _FARTHEST_SEAL) : start]
    return (
        any(name.end() >= candidate.key_start for name in names)
        or ("encryptedData:" in before and _SEALED.search(before) is not None)
        or _is_encoded_placeholder(candidate.secret)
    )


def _is_encoded_placeholder(secret: str) -> bool:
    """Tell whether it is a placeholder in Base64, as settings of clusters are written."""
    if len(secret) % 4:
        return False
    try:
        value = base64.b64decode(secret, validate=True).decode("ascii")
    except ValueError:
        return False
    return value.isprintable() and _is_password_placeholder(value.rpartition(":")[2])


def _starts_freely(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether a token, or the name a value carries, is not the tail of a longer word."""
    match rule.form:
        case Form.TOKEN:
            before = candidate.text[max(0, candidate.start - 2) : candidate.start]
            # Where entropy has to help, the prefix is short enough to stand in a hash by chance.
            joins = "-_" if rule.least_entropy else ""
            return not _is_alphanumeric(before.rstrip(joins)[-1:]) or _follows_escape(candidate)
        case Form.NAMED:
            return not _continues_word(candidate.text, candidate.key_start)
        case Form.PATTERN:
            return True
        case _:
            assert_never(rule.form)


# An escape ends in a letter or digit that is not part of what follows it.
_ESCAPE = re2.compile(
    r"(?:\\[a-z]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}m)$"
)


def _follows_escape(candidate: Candidate) -> bool:
    nearby = candidate.text[max(0, candidate.start - 12) : candidate.start]
    return _ESCAPE.search(nearby.encode("ascii", "replace").decode("ascii")) is not None


def _is_alphanumeric(character: str) -> bool:
    # Only ASCII: a letter of another script before a token is no part of it.
    return character.isascii() and character.isalnum()


def _continues_word(text: str, start: int) -> bool:
    pair = text[start - 1 : start + 1] if start else ""
    return pair.isalpha() and (pair.islower() or pair.isupper())


def _is_token(rule: SecretRule, candidate: Candidate) -> bool:
    return (
        _starts_freely(rule, candidate)
        and not _is_token_placeholder(candidate.secret)
        and not _is_code(rule, candidate)
    )


def _is_code(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether what stands behind a name or a short prefix is a piece of code."""
    secret = candidate.secret
    if rule.form is Form.TOKEN and not rule.least_entropy:
        return False
    is_named = rule.form is Form.NAMED
    if is_named and candidate.is_code:
        return True
    if not is_named and _DIGIT in _kinds_of(secret):
        return False
    return random_bits(secret) < 0 or is_counted_up(secret)


def _is_password(rule: SecretRule, candidate: Candidate) -> bool:
    secret = candidate.secret
    if not _SHORTEST_PASSWORD <= len(secret) <= _LONGEST_PASSWORD:
        return False
    if not _could_be_chosen(candidate):
        return False
    if _is_identifier(_kinds_of(secret)) or _is_long_name(secret):
        return (
            random_bits(secret) >= _MADE_BY_CHANCE
            or is_chosen(secret, small=not _is_named_secret(rule, candidate))
        ) and not _is_password_placeholder(secret)
    return not _is_password_placeholder(secret)


def _is_given(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether it is a password, or one because of where it stands, be it a word.

    One that is also the user's name, or that of the setting, is the default of a program, and a
    login of nobody on a machine of nobody shows how one is written.
    """
    before = candidate.text[candidate.key_start : candidate.start].lower()
    return _ANONYMOUS.search(before) is None and (
        _is_password(rule, candidate) or _is_weak_but_given(candidate, before)
    )


def _is_weak_but_given(candidate: Candidate, before: str) -> bool:
    secret = candidate.secret
    return (
        _SHORTEST_PASSWORD <= len(secret) <= _LONGEST_PASSWORD
        and not secret.isdigit()
        and ":" not in secret
        and (candidate.is_quoted or not candidate.is_code)
        and not is_default(secret)
        and secret.lower() not in before
        and _NOBODY.search(before) is None
        and ("://" not in before or _NOWHERE.match(candidate.text, candidate.end) is None)
        and not _is_password_placeholder(secret)
    )


def _is_named_secret(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether it is assigned to a `secret`: that also is an object which has a name."""
    name = candidate.text[candidate.key_start : candidate.start]
    return rule.form is Form.NAMED and "secret" in name.lower()


def _is_said(candidate: Candidate) -> bool:
    """Tell whether a value beside a word for passwords was made by chance or chosen as one."""
    secret = candidate.secret
    if " " in secret:
        return is_phrase(secret)
    # A word alone before it, as in `pass maple-river-51`, may be a verb.
    said = candidate.text[candidate.key_start : candidate.start].strip()
    is_told = bool(said) and not said.isalpha()
    return is_chosen(secret, small=is_told) or _is_random_value(candidate, shortest=_SHORTEST_SAID)


def _is_long_name(secret: str) -> bool:
    """Tell whether it is put together from words, of a class or a release: nobody types that."""
    return (
        len(secret) >= _SHORTEST_LONG_NAME
        and _SIGN not in _kinds_of(secret)
        and _mixes(secret)
        and random_bits(secret) < -_NAMED_BY_A_PERSON
    )


def _is_random_value(candidate: Candidate, *, shortest: int = _SHORTEST_RANDOM) -> bool:
    secret = candidate.secret
    if not shortest <= len(secret) <= _LONGEST_PASSWORD:
        return False
    return (
        (candidate.is_quoted or not candidate.is_code)
        and random_bits(secret)
        >= (_NAMED_BY_A_PERSON if _is_disordered(_kinds_of(secret)) else _MADE_BY_CHANCE)
        and not _is_harmless_name(candidate)
        and not _is_password_placeholder(secret)
        and _entropy(secret) >= _LEAST_RANDOM_ENTROPY
    )


def _is_by_chance(candidate: Candidate) -> bool:
    """Tell whether a value beside a name can only have been made by chance."""
    secret = candidate.secret
    return (
        (candidate.is_quoted or not candidate.is_code)
        and random_bits(secret) >= _MADE_BY_CHANCE
        and min(map(random_bits, secret.replace("/", ".").split("."))) > _FEWEST_PART_BITS
        and not _is_harmless_name(candidate)
        and not _is_cached(candidate)
        and not _is_public(secret)
        and not _is_password_placeholder(secret)
        and _entropy(secret) >= _LEAST_RANDOM_ENTROPY
    )


def _is_cached(candidate: Candidate) -> bool:
    """Tell whether a bare `key` stands before words and a digest, as those of caches are."""
    words, dash, digest = candidate.secret.rpartition("-")
    return (
        bool(dash)
        and len(digest) >= _SHORTEST_DIGEST
        and is_hexadecimal(digest)
        and random_bits(words) < _NAMED_BY_A_PERSON
        and candidate.text[candidate.key_start :].lower().startswith("key")
    )


def _is_public(secret: str) -> bool:
    """Tell whether it is an identifier, a number, a public key or counted up: nothing to hide."""
    return (
        is_counted_up(secret)
        or _kinds_of(secret).count(_DIGIT) >= _MOST_DIGITS * len(secret)
        or _PUBLIC_ID.fullmatch(secret) is not None
        or secret.startswith(_PUBLIC_KEYS)
    )


def _could_be_chosen(candidate: Candidate) -> bool:
    """Tell whether it mixes kinds of characters, or is a passphrase where one may stand."""
    secret = candidate.secret
    if candidate.is_quoted:
        is_random = random_bits(secret) >= _MADE_BY_CHANCE
        return _mixes(secret) or (
            (is_random or _is_run_of_words(secret)) and not _is_macro(candidate)
        )
    if candidate.is_code or _is_path_segment(candidate):
        return False
    if candidate.after in _CLOSING:
        return (len(secret) >= _SHORTEST_RANDOM and _changes(_kinds_of(secret)) >= 4) or is_chosen(
            secret
        )
    if _mixes(secret) or random_bits(secret) >= _MADE_BY_CHANCE:
        return True
    return _fills_line(candidate) and _is_run_of_words(secret)


def _is_macro(candidate: Candidate) -> bool:
    """Tell whether it is handed to a macro, such as `SOME_PASS("..")` in a compiler."""
    name = candidate.text[candidate.key_start : candidate.start]
    return name.isupper() and "(" in name


def _is_login(secret: str) -> bool:
    try:
        login = base64.b64decode(secret, validate=True).decode("utf-8")
    except ValueError:
        return False
    user, colon, password = login.partition(":")
    is_told = bool(user and colon and password) and login.isprintable()
    return is_told and not _is_password_placeholder(password)


def _is_typed_code(secret: str) -> bool:
    """Tell whether digits or groups were made by chance: a PIN, a code to recover with."""
    joined = "".join(filter(str.isalnum, secret))
    if joined.isdigit():
        steps = [abs(int(after) - int(before)) <= 1 for before, after in pairwise(joined)]
        return not all(steps) and len(set(joined)) >= _FEWEST_DIGITS
    return random_bits(joined) >= _MADE_BY_CHANCE and not _is_password_placeholder(joined)


_BY_VALUE = {Judge.BASIC: _is_login, Judge.CODE: _is_typed_code}


def _is_disordered(kinds: bytes) -> bool:
    """Tell whether letters and digits take turns as no person would choose."""
    return (
        _DIGIT in kinds
        and (_LOWER in kinds or _UPPER in kinds)
        and _changes(kinds) >= max(3, len(kinds) // 8)
        and not _is_identifier(kinds)
    )


_HARMLESS_NAMES = tuple(
    "page nextpage next continuation cancel cancellation csrf xsrf sync cursor resume public"
    " primary foreign partition sort cache idempotency invalidation etag pad eos bos mask special"
    " stop unk dedup deduplication request sig host object index hot websocket publickey recv"
    " badge.svg badge.svg? inchi".split()
)

_HARMLESS_PAGES = ("badge.svg",)


def _is_harmless_name(candidate: Candidate) -> bool:
    before = candidate.text[max(0, candidate.key_start - 24) : candidate.key_start]
    name = candidate.text[candidate.key_start : candidate.start].lower()
    # What stands before a question mark is the end of an address, and no part of a name.
    words = _HARMLESS_PAGES if name.startswith("?") else _HARMLESS_NAMES
    return before.lower().rstrip("_-. ").endswith(words) or "csrf" in name[:_NAME_OF]


def _mixes(secret: str) -> bool:
    kinds = _kinds_of(secret.strip("!?.,:;*@#"))
    return (_LOWER in kinds or _UPPER in kinds) and (_DIGIT in kinds or _SIGN in kinds)


def _is_path_segment(candidate: Candidate) -> bool:
    """Tell whether name and value are parts of an identifier such as `arn:...:secret:...`."""
    return candidate.before == ":" == candidate.text[max(0, candidate.key_start - 1)]


def _fills_line(candidate: Candidate) -> bool:
    """Tell whether it ends the line and follows `=` at once, as in an environment file."""
    return candidate.before == "=" and candidate.after in {"", "\n", "\r"}


def _is_run_of_words(secret: str) -> bool:
    """Tell whether it is a passphrase without spaces."""
    return (
        len(secret) >= _SHORTEST_PHRASE
        and secret.isascii()
        and secret.islower()
        and secret.isalpha()
    )


# Random text holds none of these by chance; each is long enough for that.
_TOKEN_FILLERS = tuple(
    "example placeholder redacted changeme change_me change-me your_ your- yourapi yourkey"
    " yourtoken yoursecret yourpass insert replace sample dummy xxxxx ***** ..... _here -here"
    " notreal not_real not-real removed hidden masked abcdefgh- deadbeefdeadbeef goeshere fake_"
    " fake- foobar".split()
)

_PASSWORD_FILLERS = (
    *_TOKEN_FILLERS,
    *(
        "your todo fixme xxxx **** .... ____ ---- fake mock lorem not-set notset not_set undefined"
        " unused invalid incorrect wrong [a-z [0-9 a-z] 0-9] .* < %( {{ }} #{ ${ $( $[ <% %{ [["
        " …"
    ).split(),
)

_REFERENCES = tuple(
    "process.env os.environ os.getenv getenv env. env[ env: env( import.meta self. this. config."
    " settings. args. options. opts. request. req. params. props. state. data. var. local. secrets."
    " vault: vault/ secret/ secret: op:// ssm: arn: ref+ ref: projects/ keyvault @microsoft awssm"
    " gcpsm sops: enc[ enc( {cipher} !ref !vault !secret http:// https:// file: ftp:// ws:// wss://"
    " npm: git: git@ data: urn: sha1- sha256- sha256: sha384- sha512- sha512: md5: ./ ../ ~/ / \\\\"
    " c:\\ -- @/ mailto: rgb( var( app/ api/ $ansible $2a$ $2b$ $2y$ $argon2 $pbkdf2 pbkdf2 $1$ $5$"
    " $6$ {ssha} {sha} bcrypt scrypt: string. system. context. ctx. event. input. module. resource."
    " each. random_ form. values. .values %24 %7b %3c".split()
)

_TEMPLATE_SIGNS = frozenset("$%:@?&*!{[(")
_TEMPLATE = re2.compile(
    r"\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_]\w*%|\$\{?env[:.].*|[:@?&*!][A-Za-z_][\w.]*"
    r"|\{[^{}]*\}|.*\{[A-Za-z_][\w.\[\]]*\}.*|.*\{\d*\}.*|.*%[sdv](?:[^A-Za-z0-9].*)?|\[[^\[\]]*\]"
    # Code behind the mark that closes a text, as in `'pw=' + row['pw']`.
    r"|[.+](?:\$[\w$>.:-]+[\[(]?|[A-Za-z_][\w>.:-]*[\[(])"
)

# A name with its version behind it, such as `proxy-v7.4.0`.
_RELEASE = re2.compile(r"[A-Za-z][a-z0-9]*(?:[_-][a-z0-9]+)*[@_-]v?[0-9]{1,4}(?:\.[0-9]{1,4}){1,3}")


def _is_token_placeholder(secret: str) -> bool:
    """Tell whether a machine-issued credential is filled in by hand for show."""
    lowered = secret.lower()
    return (
        _holds_any(lowered, _TOKEN_FILLERS)
        or len(set(lowered[-16:])) < 4
        or _repeats_itself(secret)
    )


def _is_password_placeholder(secret: str) -> bool:
    """Tell whether a value that a person chose is a placeholder, a look-up or a reference."""
    lowered = secret.lower()
    return (
        _holds_any(lowered, _PASSWORD_FILLERS)
        or lowered.startswith(_REFERENCES)
        or is_plain_word(secret)
        or len(set(lowered)) < 4
        or is_counted_up(secret, most=_STEPS_OF_FILLER)
        or (not _TEMPLATE_SIGNS.isdisjoint(secret) and _TEMPLATE.fullmatch(secret) is not None)
        or ("." in secret and _RELEASE.fullmatch(secret) is not None)
    )


def _repeats_itself(secret: str) -> bool:
    """Tell whether one character stands eight times in a row; `A` may: encoded zeros are real."""
    return any(character * 8 in secret for character in set(secret) if character != "A")


def _holds_any(text: str, parts: tuple[str, ...]) -> bool:
    # A loop, not any(): this runs for every candidate and a generator doubles its cost.
    for part in parts:  # noqa: SIM110 - see above
        if part in text:
            return True
    return False


_LOWER, _UPPER, _DIGIT, _SIGN, _OTHER = b"luds."
_SIGNS = b"!@#$%^&*?+=~"
"""What names and paths do not hold."""


def _kinds_of(text: str) -> bytes:
    """Return one byte per character: what kind it is."""
    return text.encode("latin-1", "replace").translate(_KINDS)


def _changes(kinds: bytes) -> int:
    """Count how often one kind follows another."""
    return sum(map(operator.ne, kinds, kinds[1:]))


def _is_identifier(kinds: bytes) -> bool:
    """Tell whether words stand joined by separators, as in names, paths, labels and constants.

    In a word digits follow letters about once; in a token they do so at every turn.
    """
    size = len(kinds)
    separators = kinds.count(_OTHER)
    if not separators or _SIGN in kinds or kinds.count(_DIGIT) > max(4, size / 6):
        return False
    letters = kinds.replace(b"u", b"l")
    turns = letters.count(b"ld") + letters.count(b"dl")
    return turns <= separators + 1 and _changes(kinds) < 0.42 * size


def _entropy(text: str) -> float:
    """Return the Shannon entropy in bits per character."""
    size = len(text)
    shares = [text.count(character) / size for character in sorted(set(text))]
    return -sum(share * math.log2(share) for share in shares)


def _kind(code: int) -> int:
    character = chr(code)
    if character in string.digits:
        return _DIGIT
    if character.isalpha():
        return _LOWER if character.islower() else _UPPER
    return _SIGN if code in _SIGNS else _OTHER


_KINDS = bytes(_kind(code) for code in range(256))
