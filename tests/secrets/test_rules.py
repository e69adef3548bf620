"""Rules as data: every kind fires on what it describes, and a bad pack does not load."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.errors import PolicyError
from interlock.model.verdict import Severity
from interlock.secrets.credential_rules import Form, Judge, SecretRule, rules_from_toml
from interlock.secrets.scanner import SecretScanner
from secret_generator import examples_of, from_pattern, from_template
from secret_packs import PACKS, RULES, SCANNER

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

_ids = [rule.name for rule in RULES]


def test_the_packs_know_at_least_two_hundred_kinds():
    assert len(RULES) >= 200
    assert len(set(_ids)) == len(_ids)
    assert len({rule.id for rule in RULES}) == len(_ids)


@pytest.mark.parametrize("path", PACKS, ids=lambda path: path.stem)
def test_every_pattern_of_the_packs_compiles(path: Path):
    assert rules_from_toml(path.read_text("utf-8"))


@pytest.mark.parametrize("rule", RULES, ids=_ids)
def test_a_rule_alone_fires_on_its_examples(rule: SecretRule):
    scanner = SecretScanner([rule])
    examples = [example for seed in range(3) for example in examples_of(rule, seed)]

    assert len(examples) >= 2
    assert [example for example in examples if not scanner.scan(example)] == []


@pytest.mark.large
@pytest.mark.parametrize("rule", RULES, ids=_ids)
def test_all_rules_together_fire_on_the_examples_and_not_on_near_misses(rule: SecretRule):
    examples = [example for seed in range(3, 6) for example in examples_of(rule, seed)]

    assert [example for example in examples if not SCANNER.scan(example)] == []
    assert [text for text in rule.not_match if SCANNER.scan(text)] == []


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
        if not any(keyword in example.lower() for keyword in rule.keywords)
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
    assert rule.examples == ("aaa-[0-9]{4}",)


def test_a_rule_is_read_with_everything_it_can_say():
    (rule,) = rules_from_toml(
        _pack(
            'id="a"\ntitle="an A"\npattern="aaa"\nkeywords=["aaa"]\njudge="always"\n'
            'min-entropy=1.5\nseverity="low"\nremediation="do b"\nexample=["aaa", "aaaa"]\n'
            'not-match=["b"]'
        )
    )

    assert (rule.form, rule.judge, rule.min_entropy) == (Form.PATTERN, Judge.ALWAYS, 1.5)
    assert (rule.severity, rule.remediation) == (Severity.LOW, "do b")
    assert (rule.examples, rule.not_match) == (("aaa", "aaaa"), ("b",))


def test_the_name_of_a_vendor_is_its_own_keyword():
    (rule,) = rules_from_toml(_pack('id="a"\ntitle="an A"\nnamed=["acme"]\nvalue="[0-9]{8}"'))

    assert rule.keywords == ("acme",)
    assert SecretScanner([rule]).scan('acme_key = "12345678"')


_BAD_PACKS = {
    "not toml": ("pack = ", "not TOML"),
    "no pack": ('[[rule]]\nid="a"\ntitle="b"\ntoken="cc"\nkeywords=["cc"]', "`pack`: "),
    "unknown table": ('[packs]\nid="x"', "unknown key `packs`"),
    "no rules": ('[pack]\nid="x"\ntitle="X"', "`rule` must be a list"),
    "rules not a list": ('rule = 3\n[pack]\nid="x"\ntitle="X"', "`rule` must be a list"),
}


@pytest.mark.parametrize(("text", "complaint"), _BAD_PACKS.values(), ids=_BAD_PACKS)
def test_refuses_a_pack_that_is_none(text: str, complaint: str):
    with pytest.raises(PolicyError, match=complaint):
        rules_from_toml(text)


_BAD_RULES = {
    "unknown key": ('id="a"\ntitle="b"\ntoken="cc"\nkeywords=["cc"]\ncolour="red"', "colour"),
    "wrong type": ('id="a"\ntitle="b"\ntoken=3\nkeywords=["cc"]', "expected `str`"),
    "no keyword": ('id="a"\ntitle="b"\ntoken="cc"', "`keywords` must hold at least one"),
    "upper-case keyword": ('id="a"\ntitle="b"\ntoken="cc"\nkeywords=["CC"]', "keyword `CC`"),
    "short keyword": ('id="a"\ntitle="b"\ntoken="cc"\nkeywords=["c"]', "keyword `c` must"),
    "foreign keyword": ('id="a"\ntitle="b"\ntoken="cc"\nkeywords=["éé"]', "keyword `éé`"),
    "two forms": ('id="a"\ntitle="b"\ntoken="c"\npattern="c"\nkeywords=["cc"]', "exactly one of"),
    "no form": ('id="a"\ntitle="b"\nkeywords=["cc"]', "exactly one of"),
    "value alone": ('id="a"\ntitle="b"\ntoken="c"\nvalue="d"\nkeywords=["cc"]', "`value` belongs"),
    "empty title": ('id="a"\ntitle=""\ntoken="cc"\nkeywords=["cc"]', "`id` and `title`"),
    "bad pattern": ('id="a"\ntitle="b"\npattern="(c"\nkeywords=["cc"]', "not a pattern in RE2"),
    "look-around": ('id="a"\ntitle="b"\npattern="(?=c)"\nkeywords=["cc"]', "not a pattern in RE2"),
    "foreign pattern": ('id="a"\ntitle="b"\npattern="é"\nkeywords=["cc"]', "must be ASCII"),
}


@pytest.mark.parametrize(("rule", "complaint"), _BAD_RULES.values(), ids=_BAD_RULES)
def test_refuses_a_rule_that_says_something_wrong(rule: str, complaint: str):
    with pytest.raises(PolicyError) as refusal:
        rules_from_toml(_pack(rule))

    (said,) = refusal.value.complaints
    assert complaint in said
    assert said.startswith("secret pack `x`: `rule[0]`")


def test_names_every_mistake_at_once():
    text = "\n".join(
        [
            _pack('id="a"\ntitle="b"\ntoken="cc"'),
            *(f"[[rule]]\n{rule}" for rule, _ in _BAD_RULES.values()),
        ]
    )
    with pytest.raises(PolicyError) as refusal:
        rules_from_toml(text)

    assert len(refusal.value.complaints) == len(_BAD_RULES) + 1


def test_refuses_an_id_that_stands_twice():
    rule = 'id="a"\ntitle="b"\ntoken="cc"\nkeywords=["cc"]'
    with pytest.raises(PolicyError, match="the id `a` stands twice"):
        rules_from_toml(_pack(f"{rule}\n[[rule]]\n{rule}"))


def test_a_pack_that_is_verified_elsewhere_is_not_compiled_again():
    text = _pack('id="a"\ntitle="b"\npattern="(c"\nkeywords=["cc"]')

    assert rules_from_toml(text, verify=False)


def test_templates_and_patterns_expand_the_same_way_for_a_seed():
    assert from_template("a[bc]{3}\\n{4}", 1) == from_template("a[bc]{3}\\n{4}", 1)
    assert from_template("[x]{3}+?|", 1) == "xxx+?|"
    assert from_pattern("(?:ab|ab)[c]{2}d?\\.", 1).rstrip(".").rstrip("d") == "abcc"
    with pytest.raises(ValueError, match="cannot expand"):
        from_pattern("a)b", 1)


def _pack(rule: str) -> str:
    return f'[pack]\nid = "x"\ntitle = "X"\n[[rule]]\n{rule}'
