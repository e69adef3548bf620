"""How long a scan for credentials takes, beside detect-secrets and one naive regular expression."""

from __future__ import annotations

import hashlib
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from interlock.secrets.credential_rules import CredentialPack, SecretRule
from interlock.secrets.redaction import KnownSecrets
from interlock.secrets.scanner import SecretScanner

_PACKS = Path(__file__).parents[1] / "src/interlock/secrets/packs"
_KIB = 1024
_MIB = 1024 * 1024

NAIVE = re.compile(
    r"(?:api[_-]?key|secret|password|passwd|pwd|token|bearer)\s*[:=]\s*['\"]?[^\s'\"]{8,}"
    r"|-----BEGIN (?:\w+ )?PRIVATE KEY-----|sk-\w{20,}|gh[pousr]_\w{36}|npm_\w{36}|AKIA\w{16}",
    re.IGNORECASE,
)


class Timing(NamedTuple):
    """The median time of one scan of one text."""

    name: str
    seconds: float


def main() -> None:
    rules = load_rules()
    scanner = SecretScanner(rules)
    print(f"rules: {len(rules)}")
    print(f"building the scanner: {_median(lambda: SecretScanner(rules), 5) * 1e3:.2f} ms")
    for timing in timings(scanner):
        print(f"{timing.name}: {timing.seconds * 1e3:.3f} ms")
    for timing in adversarial_timings(scanner):
        print(f"adversarial 1 MiB, {timing.name}: {timing.seconds * 1e3:.0f} ms")
    for timing in redaction_timings(scanner):
        print(f"redaction of {timing.name}: {timing.seconds * 1e3:.0f} ms")
    for name, ratio in ratios(scanner).items():
        print(f"10 KB code, {name} / interlock: {ratio:.1f}")


def load_rules() -> list[SecretRule]:
    """Return the rules of all packs."""
    texts = [path.read_text("utf-8") for path in sorted(_PACKS.glob("*.toml"))]
    packs = [msgspec.toml.decode(text, type=CredentialPack) for text in texts]
    return [rule for pack in packs for rule in pack.rules()]


def timings(scanner: SecretScanner) -> list[Timing]:
    """Time ordinary texts: code and a tool-call log in several sizes."""
    code, log = _code(), _log()
    texts = {
        "200 B command": "git commit -m 'fix the parser' && npm run build -- --watch=false " * 3,
        "1 KB code": code[:_KIB],
        "10 KB code": code[: 10 * _KIB],
        "10 KB JSON log": log[: 10 * _KIB],
        "1 MiB code": _repeated(code),
        "1 MiB JSON log": _repeated(log),
    }
    return [
        Timing(name, _median(lambda text=text: scanner.scan(text), 200 if len(text) < _MIB else 7))
        for name, text in texts.items()
    ]


def adversarial_timings(scanner: SecretScanner) -> list[Timing]:
    """Time 1 MiB of what costs most: keywords over and over, nearly matching."""
    keywords = " ".join(sorted({word for rule in load_rules() for word in rule.literals}))
    texts = {
        "password=": _repeated("password="),
        "password=a1b2c3": _repeated("password=a1b2c3 "),
        "eyJ": _repeated("eyJ"),
        "eyJ.": _repeated("eyJhbGciOiJIUz.eyJ"),
        "key headers": _repeated("-----BEGIN RSA " + "PRIVATE KEY-----\n"),
        "every keyword": _repeated(keywords),
        "every keyword, assigned": _repeated(keywords.replace(" ", "_key=a1b2c3d4e5f6a7b8 ")),
        "://a:b": _repeated("://a:b"),
        "curl -u": _repeated("curl -u a"),
        "password=abcdefg": _repeated("password=abcdefg "),
        "token=hello_world12": _repeated("token=hello_world12 "),
        "programs": _repeated("docker curl mysql az mongo -p -u "),
        "one long line of x": "x" * _MIB,
        "CJK": _repeated("密码=password=あ"),
    }
    return [
        Timing(name, _median(lambda text=text: scanner.scan(text), 3))
        for name, text in texts.items()
    ]


def redaction_timings(scanner: SecretScanner) -> list[Timing]:
    """Time what replaces known credentials: twice as many in twice the text take twice as long."""
    timed: list[Timing] = []
    for count in (2_000, 4_000, 8_000):
        hashes = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)]
        lines = [f"KEY = 'ghp_{each[:36]}'" for each in hashes]
        text = "\n".join(lines)
        kinds = {text[each.start : each.end]: each.rule.id for each in scanner.scan(text)}
        seconds = _median(lambda text=text, kinds=kinds: KnownSecrets(kinds).replaced(text), 3)
        timed.append(Timing(f"{len(kinds)} credentials in {len(text) // _KIB} KB", seconds))
    return timed


def ratios(scanner: SecretScanner) -> dict[str, float]:
    """Return how many times longer others take for 10 KB of code, in the same run."""
    text = _code()[: 10 * _KIB]
    ours = _median(lambda: scanner.scan(text), 200)
    return {
        "detect-secrets": _detect_secrets_time(text) / ours,
        "naive regular expression": _median(lambda: NAIVE.findall(text), 50) / ours,
    }


def _detect_secrets_time(text: str) -> float:
    from detect_secrets.core.scan import scan_line  # noqa: PLC0415 - only this comparison needs it
    from detect_secrets.settings import default_settings  # noqa: PLC0415 - as above

    with default_settings():
        return _median(lambda: [list(scan_line(line)) for line in text.splitlines()], 5)


def _code() -> str:
    return Path(statistics.__file__).read_text("utf-8")


def _log() -> str:
    lines = [
        f'{{"ts": {1700000000 + index}, "level": "info", "tool": "Bash", "session": "s-{index}",'
        f' "params": {{"command": "npm test -- --token-file=/run/t{index}", "auth": false}},'
        f' "usage": {{"input_tokens": {index * 7}, "output_tokens": {index}}},'
        ' "note": "password prompt skipped, api key read from the environment"}'
        for index in range(400)
    ]
    return "\n".join(lines)


def _repeated(text: str) -> str:
    return (text * (_MIB // len(text) + 1))[:_MIB]


def _median(work: Callable[[], object], rounds: int) -> float:
    work()
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    main()
