"""Where nothing but a password can stand, a weak one counts: defaults and examples do not."""

from __future__ import annotations

import pytest

from interlock.secrets.chosen_passwords import is_default
from secret_generator import from_template
from secret_packs import SCANNER

_WEAK = "tulpen" + "veld"


@pytest.mark.parametrize(
    "text",
    [
        "db = MySQLdb.connect('10.2.3.4', 'etl', '{}', 'wh')",
        "pymysql.connect(\n    '10.2.3.4',\n    'etl',\n    '{}',\n)",
        'ldap_bind($ds, "cn=admin,dc=acme,dc=io", "{}");',
        'ssh.connect("10.2.3.4", 22, "deploy", "{}")',
        "ftp.login('upload', '{}')",
        "createConnection({{ host: 'db1', user: 'etl', password: '{}' }})",
        "postgresql://etl:{}@10.2.3.4/wh",
        "redis://etl:{}@[fd00::12]:6379/1",
        "Provider=SQLOLEDB;Data Source=sql1;User ID=etl;Password={};",
        "dbname=wh user=etl password={} host=10.2.3.4",
        r"psexec \\srv1 -h -u ACME\deploy -p {} cmd",
        "machine ftp.acme.io login up|load password {}",
        "sshpass -p {} ssh root@10.2.3.4",
        'expect "Password:"\nsend "{}\\r"',
        "CREATE USER etl IDENTIFIED BY '{}'",
    ],
)
def test_a_word_counts_where_only_a_password_can_stand(text: str) -> None:
    [found] = SCANNER.scan(text.format(_WEAK))
    assert text.format(_WEAK)[found.start : found.end] == _WEAK


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://etl:etl@db1.acme.io/wh",
        f"postgresql://username:{_WEAK}@db1.acme.io/wh",
        f"postgresql://etl:{_WEAK}@localhost/wh",
        f"https://etl:{_WEAK}@mirror.example.com/wh",
        "redis://default:redispw@10.2.3.4:6379",
        "cvs://:pserver:anoncvs@sources.acme.io:/cvs",
        "sshpass -p 12345678 ssh root@10.2.3.4",
        r"psexec \\srv1 -u svc -p getPass(host) cmd",
        'ftp.login("upload", "my_password")',
        'ftp.login("anonymous", "me@mail.acme.io")',
        "new PDO('sqlite::memory:', null, 'utf8mb4')",
        "the password is `expired`",
        "MySQLdb.connect('10.2.3.4', 'etl', 'admin', 'wh')",
        "MySQLdb.connect('10.2.3.4', 'etl', '${DB_PW}', 'wh')",
        "echo 'password = '.$row['daemon']['password'].\"\\n\";",
        "url = 'password='+quote('x y')",
    ],
)
def test_defaults_and_what_shows_how_a_login_is_written_are_free(text: str) -> None:
    assert SCANNER.scan(text) == []


def test_a_default_says_what_it_is_or_is_known_to_all() -> None:
    assert all(map(is_default, ("myPassword", "db_pass", "test-user", "admin123", "changeit")))
    assert not any(map(is_default, (_WEAK, "dev_admin", "Rrhh1234")))


def test_a_key_among_the_arguments_of_a_call_is_found() -> None:
    key = from_template("8-[A-Za-z0-9]{44}", 3)
    text = f'{{"method":"auth.login_with_api_key", "params" : ["{key}"]}}'
    [found] = SCANNER.scan(text)
    assert text[found.start : found.end] == key
