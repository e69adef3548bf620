"""Passwords that people put together from words and numbers, and names that look like them."""

from __future__ import annotations

import base64

import pytest

from interlock.secrets.chosen_passwords import is_chosen, is_phrase
from secret_generator import from_template
from secret_packs import SCANNER

_CAPITALS = (
    "M[a-z]{4}-R[a-z]{4}-[0-9]{2}", "M[a-z]{4}_R[a-z]{4}[0-9]{2}", "M[a-z]{5}@[0-9]{4}",
    "M[a-z]{4}.R[a-z]{5}.[0-9]{4}", "M[a-z]{4}R[a-z]{4}[0-9]{3}!", "M[a-z]{5}[0-9]{4}!",
    "m[a-z]{4}+R[a-z]{4}[0-9]{2}", "R4v[a-z]N-[0-9]{2}q~[a-z]{4}",
    "m[a-z]{4}.R[a-z]{4}[0-9]{4}", "M[a-z]{4}[0-9]{2}-r[a-z]{4}",
)  # fmt: skip
_SMALL = ("m[a-z]{4}-r[a-z]{4}-t[a-z]{4}-[0-9]{2}", "m[a-z]{4}.r[a-z]{4}.[0-9]{4}")
_ASSIGNED = (
    "DB_PASSWORD={}", 'password: "{}"', "export SMTP_PASS='{}'", '"password": "{}"',
    "<password>{}</password>", "mysql -u root -p{} shop", "postgres://app:{}@db/app",
    "PGPASSWORD={} psql", "machine h login l password {}", "ALTER ROLE app PASSWORD '{}';",
    "redis-cli -h cache -a {} ping", '{{"name": "DB_PASSWORD", "value": "{}"}}',
    "kind: Secret\nstringData:\n  password: {}\n", "docker login -u bot -p {} registry",
    "public string Password {{ get; set; }} = \"{}\";", 'let password = String::from("{}");',
    "<property><name>db.password</name><value>{}</value></property>",
    "<key>smtpPassword</key>\n<string>{}</string>", '#define DB_PASSWORD "{}"',
    "fastcgi_param DB_PASS '{}';", "set -gx DB_PASSWORD '{}'", 'smtpPass: "{}",',
    "CREATE USER app IDENTIFIED BY {};", "CONFIG SET requirepass {}", "masterauth {}",
    "aws ssm put-parameter --name /a --type SecureString --value '{}'",
    "gh secret set DB -b\"{}\"", "rabbitmqctl add_user app {}", "cf login -a api.io -u a -p {}",
    "npx wrangler secret put DB <<< '{}'", "nmcli dev wifi connect Home password {}",
    "ACL SETUSER app on >{} ~* +@all", "DEBUG {{db_password='{}', region=eu}}",
)  # fmt: skip
_SAID = (
    "the wifi password is {} btw", "log in as bob with password {}", "db password -> {}",
    "| db_password | {} |", "db_password\t{}", "password;{};2026-01-01", "la contraseña es {}",
    "password changed from {} to something else", "use {} as the redis password for staging",
    "requests.get(url, auth=('bob', '{}'))", 'request.setBasicAuth("bob", "{}")',
    "credentials: bob / {}", "INSERT INTO users (name, password) VALUES ('bob', '{}');",
    "DEBUG {{db_password={}, region=eu}}", "user,password\nbob,{}", "pw for the old box: {}",
    "La contraseña del servidor es {}", "Parola d'ordine: {}", "пароль от сервера: {}",
    "I changed the admin pass, it's now {}", "Kennwort          {}", "creds bob / {} on the box",
    "- value: {}\n  name: DB_PASSWORD", "ann: the password please?\nbob: sure, {}",
    "page.locator('#password').fill('{}')", "user.set_password('{}')",
    "the admin's password has been set to {}.", "Lösenordet är {}",
    "le code secret du serveur est {}", "a1 LOGIN bob@example.org {}",
)  # fmt: skip
_NAMES = (
    "User-Service-12", "Chapter-12", "Render-Pass-02", "Password-Policy-2024", "sha-256",
    "Utf-16", "maple-51", "Maple", "MapleRiver51", "user-service-node-01", "maple-river",
    "mapleRiver_51", "Password1!", "Test-Case#1a", "config.Version2024", "Release2024-notes",
)  # fmt: skip


@pytest.mark.parametrize("form", _ASSIGNED)
def test_words_with_a_number_are_found_where_a_password_is_assigned(form: str):
    secrets = [from_template(value, form) for value in (*_CAPITALS, *_SMALL)]

    assert {secret: _found(form.format(secret)) for secret in secrets} == {
        secret: [secret] for secret in secrets
    }


@pytest.mark.parametrize("form", _SAID)
def test_words_with_a_number_are_found_where_a_password_is_said(form: str):
    secrets = [from_template(value, form) for value in _CAPITALS]

    assert {secret: _found(form.format(secret)) for secret in secrets} == {
        secret: [secret] for secret in secrets
    }


@pytest.mark.parametrize("name", _NAMES)
def test_a_name_with_a_number_is_no_password(name: str):
    assert not is_chosen(name, small=True)


@pytest.mark.parametrize("value", _SMALL)
def test_a_secret_may_be_an_object_of_that_name(value: str):
    name = from_template(value, value)

    assert is_chosen(name, small=True)
    assert not is_chosen(name)
    assert SCANNER.scan(f"secret: {name}") == []
    assert SCANNER.scan(f"the password of {name} is in the vault") == []


@pytest.mark.parametrize(
    "text",
    [
        'parser.add_argument("--password", help="database password", default=None)',
        f"Authorization: Basic {base64.b64encode(b'username:password').decode()}",
    ],
)
def test_where_no_password_is_told_none_is_found(text: str):
    assert SCANNER.scan(text) == []


def test_a_pass_phrase_is_words_that_make_no_sentence():
    phrase = from_template("m[a-z]{4} r[a-z]{4} t[a-z]{4} c[a-z]{5}", "phrase")

    assert is_phrase(phrase)
    assert not is_phrase(phrase.rpartition(" ")[0])
    assert not is_phrase("correct horse battery staple")
    assert len(SCANNER.scan(f"RESTIC_PASSWORD='{phrase}'")) == 1
    assert SCANNER.scan('"password": "must have one more digit"') == []


@pytest.mark.parametrize(
    "text",
    [
        "VAPID_PUBLIC_KEY=B{url}", "RECAPTCHA_SITE_KEY=6L{captcha}",
        "spec:\n  encryptedData:\n    password: AgB{url}", "pwd: {placeholder}",
        "token: 1234567890abcdef1234567890abcdef", "secret: abcdefghijklmnopqrstuvwxyz123456",
        "STRIPE_PUBLISHABLE_KEY=pk_live_{captcha}", "AIRTABLE_BASE=app{base}",
        "sed -i 's/^PASSWORD=.*/PASSWORD=password/' .env", "--set auth='<password>',replicas=2",
    ],
)  # fmt: skip
def test_what_is_told_to_be_public_or_filled_in_is_left_alone(text: str):
    filled = text.format(
        url=from_template("[A-Za-z0-9_-]{86}", text),
        captcha=from_template("[A-Za-z0-9]{38}", text),
        base=from_template("[A-Za-z0-9]{14}", text),
        placeholder=base64.b64encode(b"${{ secrets.DB_PASSWORD }}").decode("ascii"),
    )

    assert SCANNER.scan(filled) == []


@pytest.mark.parametrize(("after", "found"), [(".", 1), (". Bye", 1), (".length", 0), ("(", 0)])
def test_a_point_ends_a_sentence_and_goes_on_in_code(after: str, found: int):
    value = from_template("[A-Za-z0-9]{31}4", "point")

    assert len(SCANNER.scan(f"the API key I got is {value}{after}")) == found


_LATER = (
    "db_password: |\n  {}\n", "db_password: >-\n    {}", "  password: !!str {}",
    'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
    '{{"id":"db_password","type":"concealed","value":"{}"}}', "SECRET_KEY_BASE={}",
    "db password (prod) = {}", "I rotated the db password, the new one is {}.",
    'NSString *bindPw = @"{}";', 'network={{\n  psk="{}"\n}}', "curl --proxy-pass {} https://a",
    'Content-Disposition: form-data; name="db_password"\n\n{}', "enable secret {}",
    "die Zugangsdaten sind bob / {}", '<entry key="db_password">{}</entry>',
    "sed -i 's/^DB_PASSWORD=.*/DB_PASSWORD={}/' .env", "password: {{ value: '{}' }}",
    "db = os.environ.get('DB_PASSWORD') or '{}'", "{{{{ db_password | default('{}') }}}}",
    '{{ "password": [ "{}" ] }}',
)  # fmt: skip


@pytest.mark.parametrize("form", _LATER)
@pytest.mark.parametrize("value", [_CAPITALS[0], _CAPITALS[2], "[A-Z][a-z0-9]{12}[A-Z]4x"])
def test_something_may_stand_between_the_name_and_the_password(form: str, value: str):
    secret = from_template(value, form)
    text = form.format(secret)

    assert any(secret in text[match.start : match.end] for match in SCANNER.scan(text))


@pytest.mark.parametrize("value", _SMALL)
def test_a_verb_before_a_name_says_nothing(value: str):
    name = from_template(value, value)

    assert SCANNER.scan(f"pass {name} (1.2s)") == []
    assert len(SCANNER.scan(f"the password is {name}")) == 1


def test_the_end_of_an_element_is_no_name():
    digest = from_template("[0-9a-f]{64}", "element")

    assert SCANNER.scan(f"<key>checksum</key>\n<string>{digest}</string>") == []


def test_letters_alone_count_where_chance_made_them():
    secret = from_template("[A-Za-z]{24}", "letters")

    assert len(SCANNER.scan(f"ConvertTo-SecureString '{secret}' -AsPlainText")) == 1
    assert SCANNER.scan("ConvertTo-SecureString 'DefaultServicePassphrase' -AsPlainText") == []


_PUBLIC_BEFORE = (
    'public_key = "abc"\nsecret_key = "{}"', '{{"publicKey":"abc","secretKey":"{}"}}',
    "site_key=6Lcab secret_key={}", "PUBLISHABLE_KEY=pk1\nAPI_SECRET={}\n",
    "public_key: abc\npassword: {}", '# publishable\npassword = "{}"',
    "encryptedData:\n  a: Zm9v\n---\nstringData:\n  password: {}\n",
    "spec:\n  encryptedData:\n    a: AgBy3\n  password: {}\n",
)  # fmt: skip
_PUBLIC = (
    'public_key = "{}"', "site-key: {}", 'publishable_key = "{}"',
    "spec:\n  encryptedData:\n    a: AgBy3\n    password: {}\n",
)  # fmt: skip


@pytest.mark.parametrize("context", _PUBLIC_BEFORE)
def test_what_is_public_says_nothing_of_what_stands_behind_it(context: str):
    secret = from_template("[A-Za-z0-9]{18}4Xz", context)
    text = context.format(secret)

    assert [text[match.start : match.end] for match in SCANNER.scan(text)] == [secret]


@pytest.mark.parametrize("context", _PUBLIC)
def test_what_is_public_by_its_own_name_is_left_alone(context: str):
    assert SCANNER.scan(context.format(from_template("[A-Za-z0-9]{18}4Xz", context))) == []


def _found(text: str) -> list[str]:
    return [text[match.start : match.end] for match in SCANNER.scan(text)]
