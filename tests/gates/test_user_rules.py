"""Does a condition hold that the user wrote in the policy?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from gates.policies import by_gate, gates_with
from interlock import (
    Decision,
    PolicyError,
    Verdict,
    evaluate_command,
    evaluate_edit,
    evaluate_tool_use,
    load_policy,
)
from interlock.policy.actions import conditions
from interlock.policy.actions.conditions import compile_condition, complaint_about, plain_facts
from interlock.values import Severity
from policy.files import wrapped

_RULE = """
[[rules]]
id = "{id}"
when = '''{when}'''
decision = "{decision}"
message = "{message}"
"""


def _rule(
    when: str,
    *,
    name: str = "own",
    decision: str = "block",
    message: str = "not here",
    more: str = "",
) -> str:
    return _RULE.format(id=name, when=when, decision=decision, message=message) + more


def _fires(verdict: Verdict) -> bool:
    return any(finding.rule == "own" for finding in by_gate(verdict, "rules"))


_OVER_COMMANDS = {
    "program": ('commands.exists(c, c.program == "make")', "cd a && make b", "echo make"),
    "arguments": ('commands.exists(c, "deploy" in c.args)', "make deploy", "make test"),
    "flags": ('commands.exists(c, "-j" in c.flags)', "make -j4 test", "make test"),
    "operands": ('commands.exists(c, c.operands == ["a", "b"])', "cp -v a b", "cp -v a c"),
    "line": ('commands.exists(c, c.line.contains("b c"))', "sh -c 'a b c'", "a bc"),
    "way": ('commands.exists(c, "sudo" in c.via)', "sudo make", "make"),
    "subcommand": (
        'commands.exists(c, c.program == "git" && c.subcommand == "push")',
        "git -C app push",
        "git; git log push",
    ),
    "folder-of-a-command": (
        'commands.exists(c, c.program == "make" && c.cwd.endsWith("/live"))',
        "cd /srv/live && make",
        "cd /srv/live; cd ..; make",
    ),
    "effects": (
        'effects.exists(e, e.kind == "delete" && e.target.endsWith(".sql"))',
        "rm a.sql",
        "cat a.sql",
    ),
    "recursive-effects": ("effects.exists(e, e.recursive)", "rm -r a", "rm a"),
    "text": ('command.startsWith("git ")', "git status", "ls"),
    "kind": ('kind == "command" && command == "ls"', "ls", "pwd"),
    "many": ("size(commands) > 2", "a; b; c", "a; b"),
}


@pytest.mark.parametrize(("when", "fires", "quiet"), _OVER_COMMANDS.values(), ids=_OVER_COMMANDS)
def test_a_rule_asks_about_commands(when: str, fires: str, quiet: str):
    gates = gates_with(_rule(when))

    for line, expected in ((fires, True), (quiet, False)):
        assert _fires(evaluate_command(line, policy=gates)) is expected
        assert _fires(evaluate_tool_use("Bash", {"command": line}, policy=gates)) is expected


def test_a_rule_asks_about_the_working_folder():
    gates = gates_with(_rule('cwd.startsWith("/srv")'))

    assert _fires(evaluate_command("ls", cwd="/srv/app", policy=gates))
    assert not _fires(evaluate_command("ls", policy=gates))


@pytest.mark.parametrize(
    ("when", "params", "expected"),
    [
        pytest.param('tool == "fetch"', {}, True, id="name"),
        pytest.param('tool == "fetch" && params.depth > 3', {"depth": 4}, True, id="number"),
        pytest.param('tool == "fetch" && params.depth > 3', {"depth": 3}, False, id="smaller"),
        pytest.param('"x" in params.list', {"list": ["x"]}, True, id="list"),
        pytest.param("has(params.a) && params.a.b == true", {"a": {"b": True}}, True, id="nested"),
        pytest.param("has(params.a)", {}, False, id="missing"),
        pytest.param("params.a == null", {"a": None}, True, id="null"),
        pytest.param("params.a > 1.5", {"a": 1.75}, True, id="fraction"),
        pytest.param('kind == "tool" && size(params) == 0', {}, True, id="no-parameters"),
    ],
)
def test_a_rule_asks_about_tools(when: str, params: dict[str, object], expected: bool):
    assert _fires(evaluate_tool_use("fetch", params, policy=gates_with(_rule(when)))) is expected


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        pytest.param('path.endsWith(".sql")', True, id="path"),
        pytest.param('content.contains("DROP")', True, id="content"),
        pytest.param("diff_lines == 2", True, id="size"),
        pytest.param('kind == "edit"', True, id="kind"),
        pytest.param('path.endsWith(".py")', False, id="another-path"),
    ],
)
def test_a_rule_asks_about_edits(when: str, expected: bool):
    gates = gates_with(_rule(when))
    params = {"file_path": "a.sql", "content": "-- DROP\nx\n"}

    assert _fires(evaluate_edit("a.sql", "-- DROP\nx\n", policy=gates)) is expected
    assert _fires(evaluate_tool_use("Write", params, policy=gates)) is expected


def test_a_finding_says_what_the_rule_says():
    gates = gates_with(
        _rule(
            'tool == "publish"',
            decision="require-confirmation",
            message="deploys need a person",
            more='remediation = "ask for it"\nseverity = "critical"\n',
        )
    )
    (finding,) = evaluate_tool_use("publish", {}, policy=gates).findings

    assert (finding.gate, finding.rule) == ("rules", "own")
    assert finding.decision is Decision.REQUIRE_CONFIRMATION
    assert finding.severity is Severity.CRITICAL
    assert finding.message == "deploys need a person"
    assert finding.remediation == "ask for it"


def test_a_rule_without_advice_still_says_what_to_do():
    (finding,) = evaluate_tool_use("x", {}, policy=gates_with(_rule("true"))).findings

    assert finding.severity is Severity.MEDIUM
    assert finding.remediation == snapshot(
        "do it another way, or ask the person who wrote this rule"
    )


_FAILING = {
    "missing-key": "params.nowhere == 1",
    "wrong-type": "params.text > 3",
    "division": "1 / size(commands) == 1",
    "index": 'commands[0].program == "x"',
    "pattern": "tool.matches(params.text)",
    "no-answer": "params.text",
    "not-a-number": "int(params.text) > 3",
}


@pytest.mark.parametrize("when", _FAILING.values(), ids=_FAILING)
def test_a_condition_that_fails_counts_as_fired_and_says_so(when: str):
    verdict = evaluate_tool_use("fetch", {"text": "("}, policy=gates_with(_rule(when)))

    assert verdict.decision is Decision.BLOCK
    assert verdict.findings[0].message.startswith("not here (the condition failed: ")


def test_every_rule_that_holds_speaks():
    policy = (
        _rule("true", name="a", decision="warn")
        + _rule("true", name="b")
        + _rule("false", name="c")
    )
    verdict = evaluate_tool_use("x", {}, policy=gates_with(policy))

    assert [(each.rule, each.decision) for each in verdict.findings] == [
        ("a", Decision.WARN),
        ("b", Decision.BLOCK),
    ]


_ODD: dict[str, object] = {
    "lone-surrogate": "\ud800",
    "lone-surrogate-as-key": {"\udfff": "\udc80"},
    "nul": "a\0b",
    "huge-number": 10**40,
    "hugely-negative-number": -(10**40),
    "largest-number": 2**63 - 1,
    "smallest-number": -(2**63),
    "infinity": float("inf"),
    "not-a-number": float("nan"),
    "tuple": (1, "two", None, True),
    "bytes": b"raw",
    "key-that-is-no-text": {1: 2},
}


@pytest.mark.parametrize("value", _ODD.values(), ids=_ODD)
def test_odd_values_neither_break_nor_trip_a_condition(value: object):
    gates = gates_with(_rule('has(params.value) && params.value == "the one"'))

    assert evaluate_tool_use("x", {"value": value}, policy=gates).findings == ()


def test_deep_nests_are_cut_off():
    deep: object = "x"
    for _ in range(10_000):
        deep = {"a": [deep]}
    gates = gates_with(_rule("params.value.a[0].a[0].a[0].a.size() == 1"))

    assert _fires(evaluate_tool_use("x", {"value": deep}, policy=gates))
    assert str(plain_facts(deep)).count("a") == 12


_TEXT = st.text(st.characters(exclude_categories=[]))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("abc"), inner),
    )
)
def test_a_condition_takes_any_parameters(value: object):
    gates = gates_with(_rule('tool == "x" && size(params) == 1'))

    (finding,) = by_gate(evaluate_tool_use("x", {"value": value}, policy=gates), "rules")
    assert finding.message == "not here"


def test_nothing_hides_behind_a_nul_byte():
    gates = gates_with(_rule('tool == "note" && params.text.contains("secret plan")'))

    assert _fires(evaluate_tool_use("note", {"text": "\0 secret plan"}, policy=gates))


def test_a_fact_that_cel_cannot_hold_counts_as_fired():
    answer = compile_condition('tool == "x"').ask({"tool": "\ud800"})

    assert answer.holds
    assert answer.error


def test_without_the_extra_a_condition_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "cel_expr_python", None)
    conditions._environment.cache_clear()

    told = complaint_about("true")

    assert told == "a condition needs the cel extra: pip install 'interlock[cel]'"


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        pytest.param("true", None, id="right"),
        pytest.param("params", None, id="known-only-later"),
        pytest.param(
            "tool",
            "`tool` is not a CEL condition: gives string, expected true or false",
            id="text",
        ),
        pytest.param(
            "diff_lines",
            "`diff_lines` is not a CEL condition: gives int, expected true or false",
            id="number",
        ),
        pytest.param(
            "Toll == 'x'",
            (
                "`Toll == 'x'` is not a CEL condition: at line 1, column 1: undeclared reference to"
                " 'Toll'; it may ask about kind, command, cwd, tool, params, path, content,"
                " diff_lines, commands, effects"
            ),
            id="name",
        ),
        pytest.param(
            "(true",
            (
                "`(true` is not a CEL condition: at line 1, column 6: syntax error: missing ')' at"
                " the end"
            ),
            id="unfinished",
        ),
        pytest.param(
            "cwd = 'x'",
            (
                "`cwd = 'x'` is not a CEL condition: at line 1, column 5: syntax error: cannot read"
                " '= '"
            ),
            id="not-in-the-language",
        ),
    ],
)
def test_a_condition_is_checked_when_it_is_read(source: str, complaint: str | None):
    assert complaint_about(source) == complaint


def test_a_complaint_names_line_and_column():
    complaint = complaint_about('tool == "x" &&\n  (kind == "tool"')

    assert complaint is not None
    assert "` is not a CEL condition: at line 2, column 18: syntax error: " in complaint


def test_a_complaint_without_a_place_is_given_as_it_is():
    complaint = complaint_about("(" * 500 + "true" + ")" * 500)

    assert complaint is not None
    assert "recursion limit" in complaint


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


def test_rules_come_from_a_file_with_their_tests(policy: Path):
    policy.write_text(
        _rule(
            'commands.exists(c, c.program == "deploy") || path == "live.env" || tool == "ship"',
            more=(
                'match = ["deploy", "sudo deploy", { tool = "ship", params = {} }, '
                '{ path = "live.env", content = "" }]\n'
                'not_match = ["echo deploy", { tool = "Bash", params = { command = "ls" } }]\n'
            ),
        )
    )

    assert _fires(evaluate_command("deploy now", policy=load_policy(user=policy)))


def test_a_file_whose_examples_do_not_hold_does_not_load(policy: Path):
    policy.write_text(
        _rule(
            'tool == "ship"',
            more=(
                'match = ["deploy", { tool = "ship", params = {} }]\n'
                'not_match = ["ls", { tool = "ship", params = { dry = true } }]\n'
            ),
        )
    )

    with pytest.raises(PolicyError) as caught:
        load_policy(user=policy)
    assert wrapped(caught.value.complaints) == snapshot("""\
rules.own.match: `deploy` does not match; expected the rule to match it
rules.own.not_match: `{"tool":"ship","params":{"dry":true}}` matches; expected the rule to
    ignore it\
""")


def test_a_file_with_a_condition_that_is_none_does_not_load(policy: Path):
    policy.write_text(_rule("tool ==") + _rule("toll", name="b") + _rule("path", name="c"))

    with pytest.raises(PolicyError) as caught:
        load_policy(user=policy)
    complaints = [each.replace(str(policy), "FILE") for each in caught.value.complaints]
    assert wrapped(complaints) == snapshot("""\
FILE: rules[0].when: `tool ==` is not a CEL condition: at line 4, column 18 of the file:
    syntax error: unexpected the end
FILE: rules[1].when: `toll` is not a CEL condition: at line 10, column 11 of the file:
    undeclared reference to 'toll'; it may ask about kind, command, cwd, tool, params, path,
    content, diff_lines, commands, effects
FILE: rules[2].when: `path` is not a CEL condition: gives string, expected true or false\
""")


def test_a_complaint_about_a_condition_names_the_place_in_the_file(policy: Path):
    """Where a text is written with escapes, or twice, the place is that in the condition."""
    policy.write_text(
        "[[rules]]\nid = 'one'\nwhen = 'toll == \"a\"'\n"
        "[[rules]]\nid = 'two'\nwhen = '''\nkind == \"tool\" &&\n  toll'''\n"
        '[[rules]]\nid = "three"\nwhen = "\\"b\\" == toll"\n'
    )

    with pytest.raises(PolicyError) as caught:
        load_policy(user=policy)
    told = [each.partition(": at ")[2].partition(":")[0] for each in caught.value.complaints]
    assert [each for each in told if each] == [
        "line 3, column 9 of the file",
        "line 8, column 3 of the file",
        "line 1, column 8 of the condition",
    ]


def test_an_example_that_matches_by_an_error_does_not_hold(policy: Path):
    more = 'match = [{ tool = "fetch", params = {} }]\n'
    policy.write_text(_rule('params.url.startsWith("http:")', more=more))

    with pytest.raises(PolicyError) as caught:
        load_policy(user=policy)
    assert wrapped(caught.value.complaints) == snapshot("""\
rules.own.match: `{"tool":"fetch","params":{}}` makes the condition fail: key not found in
    map: "url"; expected the rule to match it: ask first whether a value is there, such as
    `has(params.url) && …`\
""")


def test_a_misspelt_field_is_told_with_what_was_likely_meant(policy: Path):
    condition = 'commands.exists(c, c.prog == "make")'
    policy.write_text(_rule(condition, more='match = ["make"]\n'))

    with pytest.raises(PolicyError) as caught:
        load_policy(user=policy)
    assert str(caught.value).endswith(
        'key not found in map: "prog"; did you mean `program`?; expected the rule to match it'
    )


def test_every_field_of_commands_and_effects_is_known():
    names = " && ".join(
        f"commands.exists(c, has(c.{name})) != effects.exists(e, has(e.{name}))"
        for name in sorted(conditions.FIELDS - {"kind"})
    )
    verdict = evaluate_command("rm -r old", policy=gates_with(_rule(names)))

    assert [finding.message for finding in by_gate(verdict, "rules")] == ["not here"]


def test_a_rule_that_allows_says_what_to_write_instead(policy: Path):
    policy.write_text(_rule("true", decision="allow"))

    with pytest.raises(PolicyError) as caught:
        load_policy(user=policy)
    complaints = [each.replace(str(policy), "FILE") for each in caught.value.complaints]
    assert wrapped(complaints) == snapshot("""\
FILE: rules[0].decision: `"allow"` is unknown; expected `warn`, `ask` or `deny`: a rule
    never allows. `[destructive-ops.rules]` makes a built-in rule milder,
    `destructive-ops.accepted-commands` accepts one command\
""")
