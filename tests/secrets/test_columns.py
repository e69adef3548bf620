"""Random values in a column that is headed by a word for credentials."""

from __future__ import annotations

import pytest

from interlock.secrets.candidate_search import Work
from interlock.secrets.columns import ColumnSearch
from interlock.secrets.credential_rules import Judge
from interlock.secrets.scanner import SecretScanner
from secret_generator import from_template
from secret_packs import RULES, SCANNER

_RULE = next(rule for rule in RULES if rule.judge is Judge.COLUMN)
_ALONE = SecretScanner([_RULE])

_TABLES = (
    "user,password\nbob,{}", "name;token;since\nci;{};2024", "user\tDB password\nbob\t{}\n",
    "| Service | API key |\n|---|:---:|\n| mail | `{}` |\n", '"id","client_secret"\n1,"{}"\r\n',
    "**Passwords** | for\n--- | ---\n{} | mail", "a,contraseña\nx,y\nz,{}",
    "+----+-------+\n| id | token |\n+----+-------+\n| 1 | {} |\n+----+-------+\n",
    "||Stage||Password||\n|test|{}|",
    "## Team passwords (old)\n\n* mail .... `{}`\n\n* later", "Credentials\n1. shop: {}",
)  # fmt: skip
_OTHERS = (
    "token,count\nidentifier,12", "password\n{}", "user,password\n{}", "user,password\nbob,x,{}",
    "user,password_hash\nbob,{}", "def login(user, password):\n    key, value = '{}', 1",
    "user,password", "key,value\n{},1", "'token',\n'{}',",
    "Passwords\n\n\n- mail {}", "Tokens\nthe next is {}", "tokens = (\n- a {}",
)  # fmt: skip


@pytest.mark.parametrize("table", _TABLES)
def test_a_random_value_is_found_below_the_head_of_its_column(table: str):
    secret = from_template("[A-Za-z0-9]{18}4Xz", table)
    text = table.format(secret)
    (match,) = _ALONE.scan(text)

    assert text[match.start : match.end] == secret


@pytest.mark.parametrize("text", _OTHERS)
def test_what_stands_in_no_such_column_is_left_alone(text: str):
    assert _ALONE.scan(text.format(from_template("[0-9a-f]{40}", text))) == []


def test_every_row_and_every_column_of_credentials_counts():
    made = [from_template("[A-Za-z0-9]{18}4Xz", seed) for seed in range(4)]
    text = "user,password,token\nbob,{},{}\neve,{},{}".format(*made)

    assert [text[match.start : match.end] for match in SCANNER.scan(text)] == made


def test_a_table_is_read_for_so_many_rows():
    rows = "".join(f"u{each},p\n" for each in range(300))
    late = from_template("[A-Za-z0-9]{18}4Xz", 1)

    assert _ALONE.scan(f"user,password\n{rows}eve,{late}") == []


def test_endless_tables_are_not_read_to_their_end():
    data = b"user,password\nbob,x\n"
    work = Work(len(data))
    work.attempts = 10**9

    assert list(ColumnSearch(_RULE).found(data, work)) == []


_KEPT = (
    "kind: Secret\nstringData:\n  dsn: {}\n", "stringData:\n  user: bob\n\n  a.b: '{}'",
    "items:\n  - kind: Secret\n    stringData:\n      dsn: {}\n      more: x\n",
)  # fmt: skip
_BESIDE = (
    "stringData:\n  user: bob\nmetadata:\n  uid: {}", "    stringData:\n      a: b\n    uid: {}",
    "stringData:\n  {}", "data:\n  uid: {}",
)  # fmt: skip


@pytest.mark.parametrize("manifest", _KEPT)
def test_every_entry_of_a_secret_is_looked_at_whatever_its_name(manifest: str):
    secret = from_template("[A-Za-z0-9]{18}4Xz", manifest)
    text = manifest.format(secret)
    (match,) = _ALONE.scan(text)

    assert text[match.start : match.end] == secret


@pytest.mark.parametrize("manifest", _BESIDE)
def test_what_stands_beside_the_entries_of_a_secret_is_left_alone(manifest: str):
    assert _ALONE.scan(manifest.format(from_template("[A-Za-z0-9]{18}4Xz", manifest))) == []


@pytest.mark.parametrize("head", ["(id, {})", "(id, {}, x)"])
def test_a_row_that_is_inserted_fits_its_columns(head: str):
    value = from_template("[A-Za-z0-9]{18}4Xz", head)
    text = f"insert into t {head.format('password')} values (1, '{value}')"

    assert len(_ALONE.scan(text)) == (head.count(",") == 1)
