"""Rules as data: every rule is well formed, and fires on what it describes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec
import pytest

from effort import rounds
from interlock.model.verdict import Severity
from interlock.secrets.credential_rules import Form, Judge, SecretRule
from interlock.secrets.scanner import SecretScanner
from secret_generator import examples_of, from_pattern, from_template
from secret_packs import RULES, SCANNER, rules_from_toml

_SEEDS = rounds(short=2, soak=3)
_CONTEXTS = {
    "bare": "{}",
    "quoted": '"{}"',
    "environment": "export THING={}",
    "json": '{{"data": "{}"}}',
    "escaped json": '{{\\"data\\": \\"{}\\"}}',
    "command line": "tool --opt {} --more",
    "log": "2024-05-01T10:00:00Z sent {} to host",
    "escaped lines": "one\\n{}\\ntwo",
    "markup": "<v>{}</v>",
    "call": "foo({})",
}

FAMILIES = {family: tuple(rules) for family, rules in groupby(RULES, key=lambda rule: rule.family)}
"""The rules of each pack: one question is asked of all of them."""


def test_the_packs_know_at_least_two_hundred_kinds():
    assert len(RULES) >= 200
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert sum(map(len, FAMILIES.values())) == len(RULES)


def test_a_rule_says_what_a_rule_has_to_say():
    ways = {rule.name: sum(map(bool, (rule.token, rule.named, rule.pattern))) for rule in RULES}
    words = {rule.name: rule.keywords or rule.named for rule in RULES}

    assert [rule.name for rule in RULES if not all((rule.id, rule.title, rule.literals))] == []
    assert {name: count for name, count in ways.items() if count != 1} == {}
    assert [rule.name for rule in RULES if rule.value and not rule.named] == []
    assert {
        name: literal
        for name, literals in words.items()
        for literal in literals
        if not literal.isascii() or len(literal) < 2
    } == {}


@pytest.mark.parametrize("rules", FAMILIES.values(), ids=FAMILIES)
def test_a_rule_alone_fires_on_its_examples(rules: Sequence[SecretRule]):
    examples = {rule: list(_examples(rule, seeds=range(_SEEDS))) for rule in rules}

    assert [rule.name for rule, texts in examples.items() if len(texts) < 2] == []
    missed = {rule.name: _missed(SecretScanner([rule]), examples[rule]) for rule in rules}
    assert {name: texts for name, texts in missed.items() if texts} == {}


@pytest.mark.large
@pytest.mark.parametrize("rules", FAMILIES.values(), ids=FAMILIES)
def test_all_rules_together_fire_on_the_examples_and_not_on_near_misses(
    rules: Sequence[SecretRule],
):
    missed = {
        rule.name: _missed(SCANNER, _examples(rule, seeds=range(3, 3 + _SEEDS))) for rule in rules
    }
    found = {rule.name: [text for text in rule.not_match if SCANNER.scan(text)] for rule in rules}

    assert {name: texts for name, texts in missed.items() if texts} == {}
    assert {name: texts for name, texts in found.items() if texts} == {}


@pytest.mark.large
@pytest.mark.parametrize("context", _CONTEXTS.values(), ids=_CONTEXTS)
def test_a_token_is_found_in_every_context(context: str):
    missed = [
        rule.name
        for rule in RULES
        if rule.form is Form.TOKEN
        for example in examples_of(rule, context)
        if not SCANNER.scan(context.format(example))
    ]

    assert missed == []


def test_every_match_contains_a_keyword():
    silent = [
        rule.name
        for rule in RULES
        for example in examples_of(rule, "keyword")
        if not any(
            literal in (example.lower() if literal.islower() else example)
            for literal in rule.literals
        )
    ]

    assert silent == []


def test_a_rule_is_read_with_its_defaults():
    (rule,) = rules_from_toml(
        _pack('id="a"\ntitle="an A"\ntoken="aaa-[0-9]{4}"\nkeywords=["aaa-"]')
    )

    assert rule.name == "x.a"
    assert rule.severity is Severity.CRITICAL
    assert rule.judge is Judge.TOKEN
    assert rule.form is Form.TOKEN
    assert rule.least_entropy == 0.0


def test_a_rule_is_read_with_everything_it_can_say():
    (rule,) = rules_from_toml(
        _pack(
            'id="a"\ntitle="an A"\npattern="aaa"\nkeywords=["aaa"]\njudge="always"\n'
            'min-entropy=1.5\nseverity="low"\nremediation="do b"\nexample=["aaa", "aaaa"]\n'
            'not-match=["b"]'
        )
    )

    assert (rule.form, rule.judge, rule.least_entropy) == (Form.PATTERN, Judge.ALWAYS, 1.5)
    assert (rule.severity, rule.remediation) == (Severity.LOW, "do b")
    assert (rule.example, rule.not_match) == (("aaa", "aaaa"), ("b",))


def test_the_name_of_a_vendor_is_its_own_keyword():
    (rule,) = rules_from_toml(_pack('id="a"\ntitle="an A"\nnamed=["acme"]\nvalue="[0-9]{8}"'))

    assert rule.literals == ("acme",)
    assert SecretScanner([rule]).scan('acme_key = "12345678"')


@pytest.mark.parametrize(
    "rule",
    ['token="cc"\ncolour="red"', "token=3", 'token="cc"\njudge="nobody"'],
    ids=["unknown key", "wrong type", "unknown judge"],
)
def test_refuses_a_rule_that_says_something_wrong(rule: str):
    with pytest.raises(msgspec.ValidationError):
        rules_from_toml(_pack(f'id="a"\ntitle="b"\nkeywords=["cc"]\n{rule}'))


def test_templates_and_patterns_expand_the_same_way_for_a_seed():
    assert from_template("a[bc]{3}\\n{4}", 1) == from_template("a[bc]{3}\\n{4}", 1)
    assert from_template("[x]{3}+?|", 1) == "xxx+?|"
    assert from_pattern("(?:ab|ab)[c]{2}d?\\.", 1).rstrip(".").rstrip("d") == "abcc"
    with pytest.raises(ValueError, match="cannot expand"):
        from_pattern("a)b", 1)


def _examples(rule: SecretRule, *, seeds: Iterable[int]) -> Iterator[str]:
    for seed in seeds:
        yield from examples_of(rule, seed)


def _missed(scanner: SecretScanner, examples: Iterable[str]) -> list[str]:
    return [example for example in examples if not scanner.scan(example)]


def _pack(rule: str) -> str:
    return f'[pack]\nid = "x"\ntitle = "X"\n[[rule]]\n{rule}'
