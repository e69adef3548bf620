"""A random value beside a word for credentials, whatever stands between them."""

from __future__ import annotations

import pytest

from interlock.secrets.candidate_search import Work
from interlock.secrets.credential_rules import Judge
from interlock.secrets.proximity import NearSearch
from interlock.secrets.scanner import SecretScanner
from secret_generator import from_template
from secret_packs import RULES, SCANNER

_RULE = next(rule for rule in RULES if rule.judge is Judge.NEAR)
_ALONE = SecretScanner([_RULE])

_BETWEEN = (
    "api key - {}", "api key: {}", "API_KEY = {}", "apiKey='{}'", "api-key => {}", "api key\t{}",
    "| api key | {} |", "<td>api key</td><td>{}</td>", "<apiKey>{}</apiKey>", "api key ({})",
    "the api key is {}", "api key for staging: {}", "api key .......... {}", "api_key,{}",
    "api key&nbsp;=&nbsp;{}", "api_key_1={}", "api key:\n  {}", "<secret>{{AQAB {}}}</secret>",
    "Authorization: Bearer {}", "--token {}", "password / {}", "motdepasse : {}", "senha={}",
    "consumerKey: {}", "key={}", "KEY = '{}'", "x-auth: {}", "dbPass -> {}", "token Acme team {}",
    "Zugangsschlüssel: {}", "clé d'API : {}", "recovery key for the box: {}",
)  # fmt: skip
_VALUES = ("[A-Za-z0-9]{31}[0-9]", "[A-Za-z]{32}", "[a-z0-9]{32}", "[A-Za-z0-9_-]{40}a")

_APART = (
    "author {}", "monkey={}", "keyboard: {}", "token_url={}", "password_hash: {}", "secretName={}",
    "tokenizer: {}", "token; {}", "token=x&state={}", "key\n{}", "the token. Then {}",
    "token of the commit {}", "token of one or two or three {}", "api key id: {}",
    "token{}" + " " * 60 + "{}", "public key: {}", "primaryKey: {}", "next_page_token={}",
    "token:\n\n{}", "token, another, {}", "badge.svg?token={}",
)  # fmt: skip
_HARMLESS = (
    "token: getAccessTokenFromStorage", "secret: 123e4567-e89b-42d3-a456-426614174000",
    "token: 20240115T101112Z", "key: 0123456789abcdef", "api key: MFkwEwYHKoZIzj0CAQYIKoZI",
    "key: 8FCCA13FEF1D0C2E91008E09770F7A9A5AE15600", "token: https://example.org/a1b2c3d4e5f6",
    "access_token=2YotnFZFEjr1zCsicMWpAA", "token: path/to/some/Kq83hd7.module.ts",
    "token = makeX7k9Qz2(", "auth: Kq83", "api_key: YOUR_kq83hd72jsnx91mz",
    "audit: key=a66684e34722bd0d comm=x",
)  # fmt: skip


@pytest.mark.parametrize("form", _BETWEEN)
@pytest.mark.parametrize("value", _VALUES)
def test_a_random_value_is_found_whatever_stands_between(form: str, value: str):
    secret = from_template(value, form)
    text = form.format(secret)
    (match,) = _ALONE.scan(text)

    assert text[match.start : match.end] == secret


@pytest.mark.parametrize("form", _APART)
def test_a_value_that_belongs_to_something_else_is_left_alone(form: str):
    value = from_template("[0-9a-f]{40}", form)

    assert SCANNER.scan(form.format(value, value)) == []


@pytest.mark.parametrize("text", _HARMLESS)
def test_what_no_chance_made_or_is_public_is_no_secret(text: str):
    assert _ALONE.scan(text) == []


def test_far_away_only_what_is_very_random_counts():
    assert _ALONE.scan("token Acme " + from_template("[A-Za-z0-9]{30}1a", 1))
    assert _ALONE.scan("token Acme kq83hd72") == []


def test_beside_a_short_word_a_value_must_be_long():
    assert _ALONE.scan("token: kq83Xd72")
    assert _ALONE.scan("key: kq83Xd72") == []


def test_a_line_of_endless_values_is_not_read_to_its_end():
    data = b"token " + b"kq83hd72 " * 400
    work = Work(len(data))
    work.attempts = 10**9

    assert list(NearSearch(_RULE).found(data, work)) == []
