"""What stands where a credential would stand but is none: placeholders, look-ups, references."""

from __future__ import annotations

import re2

# Random text holds none of these by chance; each is long enough for that.
_TOKEN_FILLERS = (
    "example", "placeholder", "redacted", "changeme", "change_me", "change-me", "your_", "your-",
    "yourapi", "yourkey", "yourtoken", "yoursecret", "yourpass", "insert", "replace", "sample",
    "dummy", "xxxxx", "*****", ".....", "_here", "-here", "notreal", "not_real", "not-real",
    "removed", "hidden", "masked", "abcdefgh-", "deadbeefdeadbeef", "goeshere", "fake_", "fake-",
    "foobar",
)  # fmt: skip

_PASSWORD_FILLERS = (
    *_TOKEN_FILLERS,
    "your", "todo", "fixme", "xxxx", "****", "....", "____", "----", "fake", "mock", "lorem",
    "not-set", "notset", "not_set", "undefined", "unused", "invalid", "incorrect", "wrong",
    "[a-z", "[0-9", "a-z]", "0-9]", "<", "%s", "%(", "%v", "{{", "}}", "#{", "${", "$(", "$[",
    "<%", "%{", "[[", "…",
)  # fmt: skip

_REFERENCES = (
    "process.env", "os.environ", "os.getenv", "getenv", "env.", "env[", "env:", "env(",
    "import.meta",
    "self.", "this.", "config.", "settings.", "args.", "options.", "opts.", "request.", "req.",
    "params.", "props.", "state.", "data.", "var.", "local.", "secrets.", "vault:", "vault/",
    "secret/", "secret:", "op://", "ssm:", "arn:", "ref+", "ref:", "projects/", "keyvault",
    "@microsoft", "awssm", "gcpsm", "sops:", "enc[", "enc(", "{cipher}", "!ref", "!vault",
    "!secret",
    "http://", "https://", "file:", "ftp://", "ws://", "wss://", "npm:", "git:", "git@", "data:",
    "urn:", "sha1-", "sha256-", "sha256:", "sha384-", "sha512-", "sha512:", "md5:", "./", "../",
    "~/", "/", "\\\\", "c:\\", "--", "@/", "mailto:", "rgb(", "var(", "app/", "api/", "$ansible",
    "$2a$", "$2b$", "$2y$", "$argon2", "$pbkdf2", "pbkdf2", "$1$", "$5$", "$6$", "{ssha}", "{sha}",
    "bcrypt", "scrypt:", "string.", "system.", "context.", "ctx.", "event.", "input.", "module.",
    "resource.", "each.", "random_", "form.", "values.", ".values",
)  # fmt: skip

# Words that stand for a credential in documentation and tests, alone or with digits behind them.
_WORDS = frozenset((
    "password", "passwords", "passwd", "passwort", "pass", "pwd", "passphrase", "passcode",
    "secret", "secrets", "token", "tokens", "apikey", "key", "keys", "auth", "credential",
    "credentials", "test", "tests", "testing", "tester", "testpass", "testpassword",
    "testsecret", "testkey", "testtoken", "testuser", "demo", "default", "none", "null", "nil",
    "true", "false", "string", "str", "text", "bytes", "int", "integer", "number", "boolean",
    "bool", "object", "array", "unknown", "empty", "user", "username", "userpass", "guest",
    "login", "foo", "bar", "baz", "qux", "bazqux", "abc", "abcd", "abcdef", "abcdefg",
    "abcdefgh", "asdf", "asdfgh", "required", "optional", "encrypted", "plain", "plaintext",
    "hash", "hashed", "salt", "sha", "md", "utf", "base", "bearer", "basic", "digest", "oauth",
    "jwt", "pkcs", "client", "server", "access", "refresh", "session", "cookie", "public",
    "private", "id", "mypassword", "mypass", "mypasswd", "mysecret", "mytoken", "myapikey",
    "mykey", "newpassword", "oldpassword", "somepassword", "thepassword", "apassword",
    "badpassword", "goodpassword", "userpassword", "dbpassword", "postgres", "postgresql",
    "mysql", "redis", "mongo", "mongodb", "rabbitmq", "minio", "elastic", "grafana", "jenkins",
    "github", "gitlab", "dev", "development", "local", "localhost", "staging", "prod",
    "production", "ci", "temp", "temporary", "tmp", "value", "values", "name", "field", "input",
    "output", "type", "prompt", "label", "title", "message", "error", "enter", "repeat",
    "confirm", "confirmation", "new", "old", "current", "first", "second", "last", "next",
    "prev", "previous", "page", "line", "file", "path", "code", "item", "node", "word", "char",
    "blah", "hello", "helloworld", "world", "something", "anything", "whatever", "nothing",
    "stuff", "thing", "things", "data", "info", "enabled", "disabled", "secretkey",
    "secretvalue", "secretpassword", "somesecret", "sometoken", "somekey", "asecret",
    "mysupersecret", "anonymous", "noreply",
))  # fmt: skip

_TEMPLATE_SIGNS = frozenset("$%:@?&*!{[")
_TEMPLATE = re2.compile(
    r"\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_]\w*%|\$\{?env[:.].*|[:@?&*!][A-Za-z_][\w.]*"
    r"|\{[^{}]*\}|.*\{[A-Za-z_][\w.\[\]]*\}.*|.*\{\d*\}.*|.*%[sd].*|\[[^\[\]]*\]"
)


def is_token_placeholder(secret: str) -> bool:
    """Tell whether a machine-issued credential is filled in by hand for show."""
    lowered = secret.lower()
    return (
        _holds_any(lowered, _TOKEN_FILLERS)
        or len(set(lowered[-16:])) < 4
        or _repeats_itself(secret)
    )


def is_password_placeholder(secret: str) -> bool:
    """Tell whether a value that a person chose is a placeholder, a look-up or a reference."""
    lowered = secret.lower()
    return (
        _holds_any(lowered, _PASSWORD_FILLERS)
        or lowered.startswith(_REFERENCES)
        or _is_plain_word(secret)
        or len(set(lowered)) < 4
        or (not _TEMPLATE_SIGNS.isdisjoint(secret) and _TEMPLATE.fullmatch(secret) is not None)
    )


def _is_plain_word(secret: str) -> bool:
    core = secret.strip("0123456789!@#$%^&*?.,:;_-+=~")
    varied = secret != secret.lower() and len(secret) - len(core) >= 4
    return core.lower() in _WORDS and not varied


def _repeats_itself(secret: str) -> bool:
    """Tell whether one character stands eight times in a row; `A` may: encoded zeros are real."""
    return any(character * 8 in secret for character in set(secret) if character != "A")


def _holds_any(text: str, parts: tuple[str, ...]) -> bool:
    # A loop, not any(): this runs for every candidate and a generator doubles its cost.
    for part in parts:  # noqa: SIM110 - see above
        if part in text:
            return True
    return False
