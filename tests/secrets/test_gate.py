"""The gate and what it shows: findings that help, and not a character of a credential."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.inspection import Text
from interlock.policy.actions.parameters import strings_in
from interlock.policy.config.action_sections import Secrets
from interlock.policy.gates.secrets_gate import secrets_gate
from interlock.secrets.credential_rules import Form, SecretRule
from interlock.secrets.redaction import fingerprint, redact
from secret_generator import examples_of, from_template
from secret_packs import RULES, SCANNER

_TOKEN_RULES = [rule for rule in RULES if rule.form is Form.TOKEN]


def test_a_finding_names_kind_place_and_what_to_do():
    token = from_template("ghp_[A-Za-z0-9]{36}", 1)
    (finding,) = _findings(f"x = 1\ntoken = '{token}'  # mine\ny = 2", place="parameter `content`")

    assert finding.gate == "secrets"
    assert finding.rule == "secrets.vcs.github-personal-token"
    assert finding.decision is Decision.BLOCK
    assert finding.severity is Severity.CRITICAL
    assert finding.message == "a GitHub personal access token stands in parameter `content`"
    assert finding.excerpt == "token = '[github-personal-token]'  # mine"
    assert "environment variable" in finding.remediation


def test_the_policy_sets_the_decision_and_turns_the_gate_off():
    text = "password=hunter2hunter2"

    assert [f.decision for f in _findings(text, decision=Decision.WARN)] == [Decision.WARN]
    assert _findings(text, enabled=False) == []
    assert _findings("nothing here") == []


def test_an_excerpt_redacts_every_credential_on_the_line():
    tokens = [from_template("ghp_[A-Za-z0-9]{36}", seed) for seed in range(3)]
    findings = _findings(" and ".join(tokens))

    assert len(findings) == 3
    assert {finding.excerpt for finding in findings} == {
        "[github-personal-token] and [github-personal-token] and [github-personal-token]"
    }


def test_an_excerpt_is_short_and_keeps_the_credential_in_sight():
    token = from_template("ghp_[A-Za-z0-9]{36}", 1)
    (finding,) = _findings("a " * 500 + token + " b" * 500)

    assert finding.excerpt is not None
    assert len(finding.excerpt) <= 120
    assert "[github-personal-token]" in finding.excerpt
    assert finding.excerpt.startswith("…")
    assert finding.excerpt.endswith("…")


def test_an_excerpt_cuts_no_credential_open():
    tokens = [from_template("ghp_[A-Za-z0-9]{36}", seed) for seed in range(3)]
    text = tokens[0] + "x " * 50 + tokens[1] + " y" * 50 + tokens[2]

    for finding in _findings(text):
        assert not any(piece in (finding.excerpt or "") for t in tokens for piece in _pieces(t))


def test_a_place_that_is_itself_a_credential_is_redacted():
    token = from_template("ghp_[A-Za-z0-9]{36}", 1)
    (finding,) = _findings(token, place=f"parameter `{token}`")

    assert token not in finding.message
    assert finding.message.endswith("parameter `[github-personal-token]`")


def test_no_more_than_a_hundred_findings_are_given():
    text = "\n".join(from_template("ghp_[A-Za-z0-9]{36}", seed) for seed in range(150))

    assert len(_findings(text)) == 100


def test_a_fingerprint_is_keyed():
    token = from_template("ghp_[A-Za-z0-9]{36}", 1)
    digest = hmac.new(b"key", token.encode(), hashlib.sha256).hexdigest()

    assert fingerprint(token, "key") == digest[:8]
    assert redact(f"a {token} b", SCANNER.scan(f"a {token} b"), fingerprint_key="key") == (
        f"a [github-personal-token #{digest[:8]}] b"
    )
    (finding,) = _findings(token, fingerprint_key="key")
    assert finding.excerpt == f"[github-personal-token #{digest[:8]}]"


def test_redaction_takes_matches_in_any_order_and_overlapping():
    token = from_template("ghp_[A-Za-z0-9]{36}", 1)
    text = f"{token} {token}"
    matches = SCANNER.scan(text)

    assert redact(text, [*reversed(matches), *matches]) == (
        "[github-personal-token] [github-personal-token]"
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(_TOKEN_RULES), st.integers(0, 10**6)), min_size=1, max_size=4
    ),
    st.sampled_from(["\n", " ", ",", '"', "é", " \ud800 "]),
    st.sampled_from(["", "key"]),
)
def test_redaction_leaves_nothing_of_a_credential(
    made: list[tuple[SecretRule, int]], between: str, key: str
):
    tokens = [examples_of(rule, seed)[0] for rule, seed in made]
    # A few random tokens come out as words and are not taken for real: recall is not the subject.
    tokens = [token for token in tokens if SCANNER.scan(token)]
    text = between.join(tokens)
    matches = SCANNER.scan(text)
    shown = redact(text, matches, fingerprint_key=key)
    labels = "".join(match.rule.id for match in matches)

    for token in tokens:
        assert not any(piece in shown and piece not in labels for piece in _pieces(token))


_PARAMS = {
    "a value under a telling name": {"password": "hunter2hunter2"},
    "deeper": {"db": {"auth": {"password": "hunter2hunter2"}}},
    "in a list": {"env": [{"name": "DB_PASSWORD", "value": "hunter2hunter2"}]},
    "in text": {"content": 'x\npassword = "hunter2hunter2"\n'},
    "in raw json": '{"password":"hunter2hunter2"}',
    "as key and value": {"key": "DB_PASSWORD", "value": "hunter2hunter2"},
    "in a long text": {"content": "x" * 1000 + "\npassword=hunter2hunter2"},
}


@pytest.mark.parametrize("params", _PARAMS.values(), ids=_PARAMS)
def test_a_parameter_is_judged_with_the_names_it_stands_under(params: object):
    findings = [f for place, text in strings_in(params) for f in _findings(text, place=place)]

    assert findings


def test_a_credential_used_as_a_key_is_found():
    token = from_template("ghp_[A-Za-z0-9]{36}", 1)

    assert [f for _, text in strings_in({token: 1}) for f in _findings(text)]


_HARMLESS: dict[str, object] = {
    "command": {"command": "git status", "cwd": "/work"},
    "numbers": {"max_tokens": 4096, "ok": True, "none": None, "ratio": 0.5},
    "names": {"name": "password", "value": "required"},
}


@pytest.mark.parametrize("params", _HARMLESS.values(), ids=_HARMLESS)
def test_ordinary_parameters_are_left_alone(params: object):
    assert [f for place, text in strings_in(params) for f in _findings(text, place=place)] == []


def test_places_read_like_paths():
    places = [place for place, _ in strings_in({"edits": [{"new": "a"}, {"new": "b"}], "x": "c"})]

    assert places == ["", "edits[0].new", "edits[1].new", "x"]


def test_deep_nesting_is_walked_without_recursion():
    params: object = "password=hunter2hunter2"
    for _ in range(20_000):
        params = [params]
    ((place, text),) = strings_in(params)

    assert text == "password=hunter2hunter2"
    assert place == "[0]" * 8


def _findings(
    text: str,
    *,
    place: str = "the command",
    enabled: bool = True,
    decision: Decision = Decision.BLOCK,
    fingerprint_key: str = "",
) -> list[Finding]:
    policy = Secrets(
        enabled=enabled,
        decision=decision,
        rules={},
        allow=(),
        fingerprint_key=fingerprint_key,
    )
    return list(secrets_gate(Text(text, place, limit=len(text), scan=SCANNER.scan), policy))


def _pieces(token: str) -> list[str]:
    """Return every stretch of six characters that is not part of a public prefix."""
    return [token[i : i + 6] for i in range(len(token) // 2, len(token) - 6)]


def test_an_excerpt_shows_no_copy_that_sticks_to_a_letter():
    token = from_template("ghp_[A-Za-z0-9]{36}", 1)

    (finding,) = _findings(f"x{token} {token} y{token}")

    assert finding.excerpt is not None
    assert token not in finding.excerpt


def test_parameters_that_contain_themselves_are_looked_at_once():
    params: dict[str, object] = {"text": "ls", "list": []}
    params["again"] = params
    params["list"] = [params["list"], params]

    assert [text for _, text in strings_in(params)].count('text="ls"') == 1
