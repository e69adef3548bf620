"""How many credentials are found in other ways of writing, and how many of their harmless siblings?

Other words, other formats and other alphabets than those of `secret_accuracy.py`, put together in
every combination. At first sight 4,595 of 5,148 were found, with 129 of 8,360 harmless values and
40 of 1,560 digests. What was missed and taken then was looked at and mended, so that the rows are
held out no longer: the first figures say what to expect of others, later ones only what fell back.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rates import rate
from secret_accuracy import is_found

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from secret_generator import from_template

_WORDS: Final = (
    "passphrase", "signing secret", "refresh token", "private token", "consumer key",
    "app password", "auth token", "encryption key", "client credential", "deploy token",
)  # fmt: skip
_VALUES: Final = {
    "base64url, 43": "[A-Za-z0-9_-]{42}[A-Za-z0-9]",
    "base32, 32": "[A-Z2-7]{32}",
    "base58, 44": "[1-9A-HJ-NP-Za-km-z]{44}",
    "hexadecimal, capitals, 32": "[0-9A-F]{32}",
    "hexadecimal, 20": "[0-9a-f]{20}",
    "small letters and digits, 20": "[a-z0-9]{20}",
    "small letters, 24": "[a-z]{24}",
    "letters, 20": "[A-Za-z]{20}",
    "letters, 14": "[A-Za-z]{14}",
    "prefixed": "zq_live_[A-Za-z0-9]{24}",
    "in groups": "[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{6}-[A-Z0-9]{6}",
    "short, mixed, 12": "[A-Za-z0-9]{12}",
    "short, with signs, 10": "[A-Za-z0-9]{4}[!#$^*][A-Za-z0-9]{3}[!#$^*][A-Za-z0-9]",
}
_WAYS: Final = {
    "languages": (
        "define('{upper}', '{value}');",
        'const {camel} = `{value}`;',
        ":{snake} => '{value}',",
        '$env:{upper} = "{value}"',
        'static let {camel}: String = "{value}"',
        '    private static final String {upper} = "{value}";',
        'set {upper}={value}',
        '(setq {dashed} "{value}")',
        "{snake} <- '{value}'",
        'req.headers["{title}"] = "{value}"',
    ),
    "settings": (
        "{snake} = {value}",
        "  {camel}: '{value}'",
        "app.{dotted}={value}",
        'variable "{snake}" {{ default = "{value}" }}',
        "{snake}: >-\n    {value}",
        "- {{name: {upper}, value: {value}}}",
        '<add key="{camel}" value="{value}" />',
        "<{camel}>\n  {value}\n</{camel}>",
        '{{"credentials": {{"{camel}": "{value}"}}}}',
        'ARG {upper}={value}',
    ),
    "documents": (
        "| {title} | `{value}` |",
        "<tr><td>{title}</td><td>{value}</td></tr>",
        "- **{title}**: {value}",
        "{title}\t{value}",
        "{title} .......... {value}",
        "{snake},{value}",
        "Your {words} is: {value}",
        "the {words} for staging -> {value}",
        "# {words} {value}",
        "{title} ({value})",
    ),
    "commands and logs": (
        "tool login --{dashed}={value} --verbose",
        "tool -D{dotted}={value}",
        "2025-03-04 10:11:12 DEBUG using {words} [{value}]",
        "docker run -e {upper}='{value}' app:latest",
        "http POST :8080/login {snake}={value}",
        'kubectl create secret generic app --from-literal={dashed}={value}',
        'echo "{value}" | tool set {words}',
        'aws ssm put-parameter --name /app/{dashed} --value {value}',
    ),
    "addresses": (
        "mysql://svc:{value}@10.0.0.7:3306/shop",
        "amqps://svc:{value}@mq.internal/prod",
        "Server=tcp:db.internal;User ID=svc;Password={value};Encrypt=True",
        "jdbc:postgresql://db.internal/shop?user=svc&password={value}",
        "https://automation.internal/webhook/{value}",
        "https://api.internal/v2/items?limit=5&{snake}={value}",
        "curl --user svc:{value} https://api.internal/v2/items",
    ),
}  # fmt: skip
_HARMLESS_VALUES: Final = (
    "getCredentialFromVault", "process.env.APP_VALUE", "${{APP_VALUE}}", "<your value here>",
    "changeme", "xxxxxxxxxxxxxxxx", "REDACTED", "com.example.auth.DefaultProvider", "required",
    "AbstractTokenResponseHandler", "is_not_set_in_this_environment", "/run/secrets/app_value",
    "arn:aws:secretsmanager:eu-west-1:111122223333:parameter", "X509CertificateChainV3", "null",
    "EXAMPLE_VALUE_1234567890", "aes-256-gcm", "oauth2-proxy-v7.4.0", "0123456789abcdef",
    "vault:secret/data/app", "utf8mb4_unicode_ci", "application/x-www-form-urlencoded",
)  # fmt: skip
_HARMLESS_WORDS: Final = (
    "commit", "checksum", "etag", "request id", "build", "integrity", "next page token",
    "public key", "primary key", "keyboard layout", "author", "image digest", "cache key",
)  # fmt: skip
_DIGESTS: Final = ("[0-9a-f]{40}", "[0-9a-f]{64}", "sha512-[A-Za-z0-9+/]{86}==", "[0-9a-f]{12}")


class Made(NamedTuple):
    """A text, and what it was made from."""

    text: str
    way: str
    value: str


def main() -> None:
    found = [(each, is_found(each.text)) for each in secrets()]
    print(rate("found", [hit for _, hit in found]))
    for place, name in ((1, "written"), (2, "the value")):
        for kind in dict.fromkeys(each[place] for each, _ in found):
            print(rate(f"  {name}, {kind}", [hit for each, hit in found if each[place] == kind]))
    for name, rows in (("harmless values", harmless_values()), ("digests", digests())):
        taken = [(each, is_found(each.text)) for each in rows]
        print(rate(f"{name} taken for one", [hit for _, hit in taken]))
        _show("  taken", [each for each, hit in taken if hit])
    _show("missed", [each for each, hit in found if not hit])


def _show(what: str, rows: Sequence[Made]) -> None:
    for each in rows if "--show" in sys.argv else ():
        print(f"{what}  {each.way} | {each.value} | {each.text}")


def secrets() -> list[Made]:
    """Return every way of writing with every word and every kind of value."""
    return [
        Made(text, way, kind)
        for kind, template in _VALUES.items()
        for way, text in _written(
            _WORDS, lambda seed, template=template: from_template(template, seed)
        )
    ]


def harmless_values() -> list[Made]:
    """Return the same ways with values that name, look up or leave out a credential."""
    return [
        Made(text, way, value)
        for value in _HARMLESS_VALUES
        for way, text in _written(_WORDS, lambda _, value=value: value, skipped=("addresses",))
    ]


def digests() -> list[Made]:
    """Return the same ways with names of what is random and public."""
    return [
        Made(text, way, template)
        for template in _DIGESTS
        for way, text in _written(
            _HARMLESS_WORDS,
            lambda seed, template=template: from_template(template, seed),
            skipped=("addresses", "commands and logs"),
        )
    ]


def _written(
    words: Sequence[str], value: Callable[[str], str], *, skipped: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    for way, forms in _WAYS.items():
        for form in () if way in skipped else forms:
            named = any(each in form for each in ("{upper", "{snake", "{camel", "{title", "{words"))
            named = named or "{da" in form or "{do" in form
            for word in words if named else words[:1]:
                yield way, form.format_map({**_names(word), "value": value(f"{form}{word}")})


def _names(word: str) -> Mapping[str, str]:
    first, *rest = word.split()
    return {
        "words": word,
        "snake": word.replace(" ", "_"),
        "upper": word.replace(" ", "_").upper(),
        "dashed": word.replace(" ", "-"),
        "dotted": word.replace(" ", "."),
        "camel": first + "".join(each.title() for each in rest),
        "title": word.title(),
    }


if __name__ == "__main__":
    main()
