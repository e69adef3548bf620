"""How much is found: kinds of values times the ways they stand in code, settings and commands."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from effort import rounds
from interlock.secrets.credential_rules import Form, Judge
from secret_generator import from_pattern, from_template
from secret_packs import RULES, SCANNER

_STEP = rounds(short=6, soak=1)

_VENDOR_CONTEXTS = (
    "{V}_API_KEY={s}", '{V}_TOKEN="{s}"', "{V}_SECRET: {s}", '{v}_api_key: "{s}"',
    '"{v}Token": "{s}"', "{v}.api.key={s}", "tool --{v}-token {s}", "{v}_token := `{s}`",
    'String {v}ApiKey = "{s}";', "'{v}_key' => '{s}',", 'os.environ["{V}_API_KEY"] = "{s}"',
    "export {V}_KEY={s}", "- name: {V}_TOKEN\n  value: {s}", '{{\\"{v}_token\\": \\"{s}\\"}}',
    'let {v}_key: &str = "{s}";', 'var {v}_token string = "{s}"', "{V}_AUTH ?= {s}",
)  # fmt: skip

_PASSWORDS = (
    "[a-z]{6}[0-9]{3}", "[A-Z][a-z]{5}[0-9]{2}!", "[a-z][0-9][a-z]{2}[0-9]{2}[a-z]{2}",
    "[A-Za-z]{6}[#%!][0-9]{2}[a-z]", "[a-z]{5}[0-9][a-z]{5}[0-9]", "[A-Z][a-z]{4}@[0-9]{4}",
)  # fmt: skip

_PASSWORD_CONTEXTS = (
    'password = "{s}"', "password={s}", "DB_PASSWORD={s}", 'DB_PASS="{s}"', "password: {s}",
    "  password: '{s}'", '"password": "{s}"', 'db_password: str = "{s}"', 'password := "{s}"',
    "mysql -u root -p{s} app", "mysql://root:{s}@db:3306/app", "redis://:{s}@cache:6379",
    "curl -u admin:{s} https://x", "--password {s}", "Password={s};Server=x",
    "<password>{s}</password>", "PGPASSWORD={s} psql -h db", "sshpass -p {s} ssh a@b",
    '{{\\"password\\":\\"{s}\\"}}', 'setPassword("{s}")', 'f(user="x", password="{s}")',
    "user=a&password={s}&x=1", "CREATE USER a IDENTIFIED BY '{s}'", 'SECRET_KEY = "{s}"',
    "machine h login l password {s}", "ENV DB_PASSWORD {s}", "docker login -u a -p {s} reg",
    '{{"name":"DB_PASSWORD","value":"{s}"}}', "net user bob {s} /add",
)  # fmt: skip

_RANDOM_VALUES = (
    "[0-9a-f]{32}", "[0-9a-f]{40}", "[A-Za-z0-9]{23}[0-9]", "[A-Za-z0-9]{39}[0-9]",
    "[A-Za-z0-9+/]{43}=", "[a-z0-9]{31}[0-9]", "[A-Za-z0-9_-]{31}[0-9]",
    "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}",
)  # fmt: skip

_RANDOM_CONTEXTS = (
    'api_key = "{s}"', "API_KEY={s}", 'apiKey: "{s}"', '"apiKey":"{s}"', "token={s}",
    "access_token: {s}", 'AUTH_TOKEN="{s}"', "SECRET={s}", 'client_secret="{s}"',
    "Authorization: Bearer {s}", "x-api-key: {s}", '"Authorization": "Token {s}"', "--token {s}",
    "--api-key={s}", "?api_key={s}&x=1", 'private_key: "{s}"', "ENCRYPTION_KEY={s}",
    'auth = "{s}"', "ACME_KEY={s}", 'headers["X-API-Key"] = "{s}"', 'set_api_key("{s}")',
    "SIGNING_SECRET={s}", "session_token={s}", '{{\\"apiKey\\":\\"{s}\\"}}', "Api-Key {s}",
)  # fmt: skip


@pytest.mark.large
def test_a_value_is_found_by_the_vendor_it_is_named_after():
    # In the short round each vendor is named in every sixth way, the next vendor in the next ones.
    texts = [
        context.format(s=value, v=vendor, V=vendor.upper().replace("-", "_"))
        for number, (vendor, value) in enumerate(_vendor_values())
        for context in _VENDOR_CONTEXTS[number % _STEP :: _STEP]
    ]

    assert _share_found(texts) >= 0.98


@pytest.mark.parametrize(
    ("values", "contexts", "least"),
    [(_PASSWORDS, _PASSWORD_CONTEXTS, 0.97), (_RANDOM_VALUES, _RANDOM_CONTEXTS, 0.97)],
    ids=["passwords", "random values"],
)
def test_a_value_is_found_by_the_name_it_is_assigned_to(
    values: Iterable[str], contexts: Iterable[str], least: float
):
    texts = [
        context.format(s=from_template(value, f"{seed}{context}"))
        for value in values
        for context in contexts
        for seed in range(5)
    ]

    assert _share_found(texts) >= least


def _share_found(texts: list[str]) -> float:
    return sum(bool(SCANNER.scan(text)) for text in texts) / len(texts)


def _vendor_values() -> Iterable[tuple[str, str]]:
    for rule in RULES:
        value = re.search(r"\(\?P<secret>(.*)\)\(\?:\\b\|\[\^", rule.regex)
        if rule.form is Form.NAMED and rule.judge is Judge.TOKEN and value:
            vendor = rule.literals[0].strip("_-. ")
            yield vendor, from_pattern(value[1], rule.name)
