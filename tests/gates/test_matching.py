"""Rules against what a line would run: who speaks, and who was silenced by what."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from interlock.policy.actions.inspection import lowered
from interlock.policy.actions.rule_packs import Pack
from interlock.policy.actions.rulebook import Hit, Rulebook
from interlock.service.policies.builtin_files import pack_from_toml
from interlock.service.policies.policy_files import default_policy

_HEAD = '[pack]\nid = "own"\ntitle = "Own"\nabout = "an example"\n'


def _pack(conditions: str) -> Pack:
    rule = '[[rule]]\nid = "rule"\nreason = "a"\nremediation = "b"\nmatch = ["x"]\n'
    return pack_from_toml("own.toml", f"{_HEAD}{rule}{conditions}".encode())


def _hits(conditions: str, line: str, *, branches: Sequence[str] = ()) -> list[Hit]:
    found = lowered(line, None, default_policy())
    return list(
        Rulebook([_pack(conditions)], branches=branches).hits(found.commands, found.effects)
    )


_CONDITIONS: dict[str, tuple[str, list[str], list[str]]] = {
    "program": (
        'programs = ["tool", "kit"]',
        ["tool", "TOOL", "/bin/kit x"],
        ["tools", "echo tool"],
    ),
    "file-fetched-before": (
        'programs = ["pip"]\norigins = ["fetched"]\norigin-options = ["-r"]',
        [
            "curl -o a.tgz https://h.example/a.tgz && pip install ./a.tgz",
            "curl -o A.txt https://h.example/a; pip install -r A.txt",
        ],
        [
            "pip install a",
            "curl -o a https://h.example/a && pip install b",
            "pip https://h.example",
        ],
    ),
    "program-by-its-beginning": (
        'programs = ["tool-*"]',
        ["tool-a", "tool-"],
        ["tool", "x-tool-a"],
    ),
    "verb": (
        'programs = ["tool"]\nverbs = ["a b", "c"]',
        ["tool a b x", "tool C"],
        ["tool a", "tool"],
    ),
    "any-first-verb": (
        'programs = ["tool"]\nverbs = ["* b"]',
        ["tool x b"],
        ["tool b", "tool x c"],
    ),
    "flags": (
        'programs = ["tool"]\nflags = ["-f", "--force"]',
        ["tool -xf", "tool --forc"],
        ["tool"],
    ),
    "all-flags": (
        'programs = ["tool"]\nall-flags = ["-a|--all", "-f"]',
        ["tool -af", "tool --all -f"],
        ["tool -a", "tool -f"],
    ),
    "values": (
        'programs = ["git push"]\nvalues = { "-o|--push-option" = ["ci.*"] }\n',
        [],
        ["git push -o ci.skip"],
    ),
    "values-of-an-option": (
        'programs = ["kubectl"]\nvalues = { "-n|--namespace" = ["prod*"] }',
        ["kubectl -n prod-1 get", "kubectl --namespace=PROD get"],
        ["kubectl -n test get", "kubectl get"],
    ),
    "values-of-any-kind": (
        'programs = ["tool"]\nvalues = { "-n" = [] }',
        ["tool", "tool -n x"],
        [],
    ),
    "operands": (
        'programs = ["tool"]\noperands = ["*.db", "x"]',
        ["tool a A.DB", "tool x"],
        ["tool a"],
    ),
    "operands-behind-verbs": (
        'programs = ["tool"]\nverbs = ["rm"]\noperands = ["rm"]',
        ["tool rm rm"],
        ["tool rm x"],
    ),
    "last-operand": (
        'programs = ["tool"]\nlast-operand = ["b"]',
        ["tool a b"],
        ["tool b a", "tool"],
    ),
    "least-operands": ('programs = ["tool"]\nmin-operands = 2', ["tool a b"], ["tool a"]),
    "most-operands": ('programs = ["tool"]\nmax-operands = 1', ["tool a", "tool"], ["tool a b"]),
    "words": ('programs = ["tool"]\nwords = ["--x=*"]', ["tool a --x=1"], ["tool a"]),
    "variables": (
        'programs = ["tool"]\nvariables = ["*_KEY"]',
        ["tool $MY_KEY", 'tool "a-${MY_KEY}-b"'],
        ["tool MY_KEY", "tool $OTHER", "tool '$MY_KEY'", "tool $(x)"],
    ),
    "way": ('programs = ["tool"]\nvia = ["sudo"]', ["sudo tool", "sudo env tool"], ["tool"]),
    "bare": ('programs = ["tool"]\nbare = true', ["tool"], ["tool x"]),
    "printed": ('programs = ["tool"]\nprinted = true', ["tool"], ["tool > f", "x=$(tool)"]),
    "effect": ('effect = "delete"', ["rm a", "find . -delete"], ["cat a", "echo rm a"]),
    "effect-on-a-place": ('effect = "delete"\nplaces = ["root"]', ["rm -r /"], ["rm -r a"]),
    "effect-with-a-label": (
        'effect = "execute"\nlabels = ["remote"]',
        ["curl x | sh"],
        ["cat x | sh"],
    ),
    "recursive-effect": ('effect = "delete"\nrecursive = true', ["rm -r a"], ["rm a"]),
    "effect-not-recursive": ('effect = "delete"\nrecursive = false', ["rm a"], ["rm -r a"]),
    "forced-effect": ('effect = "delete"\nforced = true', ["rm -f a"], ["rm a"]),
    "effect-on-a-target": ('effect = "delete"\ntargets = ["*.db"]', ["rm A.DB"], ["rm a"]),
    "effect-by-a-program": (
        'effect = "delete"\nprograms = ["unl*", "find"]',
        ["unlink a", "find . -delete"],
        ["rm a"],
    ),
    "effect-not-by-a-program": (
        'effect = "delete"\nunless-programs = ["rm"]',
        ["find . -delete"],
        ["rm a"],
    ),
}


@pytest.mark.parametrize(("conditions", "spoken", "quiet"), _CONDITIONS.values(), ids=_CONDITIONS)
def test_a_rule_speaks_where_all_its_conditions_hold(
    conditions: str, spoken: list[str], quiet: list[str]
):
    assert [line for line in spoken if not _hits(conditions, line)] == []
    assert [line for line in quiet if _hits(conditions, line)] == []


_SILENCED = {
    "flag": ('programs = ["tool"]\nunless-flags = ["-n"]', "tool -n", "does not apply with `-n`"),
    "version": (
        'programs = ["tool"]',
        "tool --version",
        "`--version` only tells of the program itself",
    ),
    "setting": (
        'programs = ["tool"]\nunless-settings = ["stage=test"]',
        "STAGE=test tool",
        "does not apply where `STAGE` is `test`",
    ),
    "help": ('programs = ["tool"]', "tool --help", "`--help` only shows what would happen"),
    "dry-run": (
        'programs = ["tool"]',
        "tool --dry-run",
        "`--dry-run` only shows what would happen",
    ),
    "dry-run-with-a-value": (
        'programs = ["kubectl"]',
        "kubectl x --dry-run=client",
        "`--dry-run` only shows what would happen",
    ),
    "dry-run-switched-off": ('programs = ["tool"]', "tool --dry-run=false", ""),
    "dry-run-perhaps": ('programs = ["kubectl"]', "kubectl x --dry-run=$HOW", ""),
    "dry-run-taken-back": ('programs = ["kubectl"]', "kubectl x --dry-run=none", ""),
    "operand": (
        'programs = ["tool"]\nunless-operands = ["test*"]',
        "tool a Testing",
        "does not apply to `Testing`",
    ),
    "no-such-operand": ('programs = ["tool"]\nunless-operands = ["test*"]', "tool a", ""),
    "word": ('programs = ["tool"]\nunless-words = ["*=x"]', "tool a=x", "does not apply to `a=x`"),
    "place": (
        'effect = "delete"\nunless-places = ["temp", "scratch"]',
        "rm -r /tmp/a",
        "`/tmp/a` is temp",
    ),
    "no-such-place": ('effect = "delete"\nunless-places = ["temp"]', "rm -r src", ""),
    "flag-of-an-effect": (
        'effect = "delete"\nunless-flags = ["-i"]',
        "rm -i a",
        "does not apply with `-i`",
    ),
}


@pytest.mark.parametrize(("conditions", "line", "why"), _SILENCED.values(), ids=_SILENCED)
def test_a_silenced_rule_says_what_kept_it_quiet(conditions: str, line: str, why: str):
    (hit,) = _hits(conditions, line)

    assert hit.silenced == why


@pytest.mark.parametrize(
    ("conditions", "line"),
    [
        ('programs = ["tool"]', "tool -h"),
        ('programs = ["tool"]', "tool help"),
        ('programs = ["tool"]', "tool --version 1.2 rm"),
        ('programs = ["tool"]\nunless-settings = ["stage=test"]', "STAGE=live tool"),
        ('programs = ["tool"]\nunless-settings = ["stage=test"]', "STAGE=test DATABASE=x tool"),
    ],
)
def test_a_rule_is_not_silenced_by_what_only_looks_like_it(conditions: str, line: str):
    (hit,) = _hits(conditions, line)

    assert hit.silenced == ""


def test_a_protected_branch_stands_where_a_rule_says_so():
    conditions = 'programs = ["tool"]\noperands = ["*:{branch}", "+x"]'

    assert _hits(conditions, "tool a:main", branches=["Main", "live"])
    assert _hits(conditions, "tool a:live", branches=["Main", "live"])
    assert _hits(conditions, "tool +x", branches=[])
    assert not _hits(conditions, "tool a:feature", branches=["Main", "live"])


def test_a_protected_branch_may_be_the_value_of_an_option():
    conditions = 'programs = ["tool"]\nvalues = { "--to" = ["{branch}", "x"] }'

    assert _hits(conditions, "tool --to=main", branches=["Main"])
    assert _hits(conditions, "tool --to=x", branches=[])
    assert not _hits(conditions, "tool --to=feature", branches=["Main"])


def test_where_no_branch_is_protected_a_rule_about_those_is_about_none():
    conditions = 'programs = ["tool"]\noperands = ["{branch}", "*:{branch}"]'

    assert not _hits(conditions, "tool feature", branches=[])
    assert not _hits(conditions, "tool", branches=[])


def test_a_rule_that_is_off_is_not_in_the_book():
    pack = _pack('programs = ["tool"]')

    assert list(Rulebook([pack]).rules) == ["own.rule"]
    assert list(Rulebook([pack], off=frozenset(("own.rule",))).rules) == []


_GRAMMAR = f"""{_HEAD}
[[rule]]
id = "delete"
reason = "deletes"
remediation = "keep it"
programs = ["-"]
match = ["cloudy rm x"]
[grammar]
services = ["cloudy"]
machine = ["apt"]
delete-verbs = ["destroy", "delete"]
service-delete-verbs = ["rm"]
service-disable-verbs = ["stop"]
reading-words = ["list", "help"]
service-flags = ["--delete-all", "--purge"]
quiet-flags = ["--preview"]
"""


def _grammar_hits(line: str) -> list[Hit]:
    found = lowered(line, None, default_policy())
    pack = pack_from_toml("own.toml", _GRAMMAR.encode())
    return list(Rulebook([pack]).hits(found.commands, found.effects))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("cloudy rm x", True, id="verb-of-services"),
        pytest.param("cloudy volumes rm x", True, id="behind-a-resource"),
        pytest.param("cloudy delete-stage x", True, id="first-in-a-word"),
        pytest.param("cloudy apps:destroy x", True, id="last-in-a-word"),
        pytest.param("cloudy DELETE_STAGE x", True, id="capitals"),
        pytest.param("cloudy ./file destroy", True, id="behind-a-path"),
        pytest.param("cloudy sync --purge", True, id="by-a-flag"),
        pytest.param("cloudy sync --delete-all --purge", True, id="by-two-flags"),
        pytest.param("cloudy sync", False, id="harmless"),
        pytest.param("cloudy list destroy", False, id="reading"),
        pytest.param("cloudy a b c d e destroy", False, id="too-far-behind"),
        pytest.param("cloudy stop x", False, id="kind-without-a-rule"),
        pytest.param("other apps destroy", True, id="any-program"),
        pytest.param("other rm x", False, id="verb-of-services-only"),
        pytest.param("other sync --purge", False, id="flag-of-services-only"),
        pytest.param("other ./x destroy", False, id="path-in-front"),
        pytest.param("./other apps destroy", False, id="script-of-the-project"),
        pytest.param("other.sh apps destroy", False, id="script"),
        pytest.param("apt delete x", False, id="machine"),
        pytest.param("$X delete x", True, id="program-known-only-at-run-time"),
    ],
)
def test_services_are_read_by_their_grammar(line: str, expected: bool):
    assert [hit.rule_id for hit in _grammar_hits(line)] == (["own.delete"] if expected else [])


def test_a_preview_silences_the_grammar():
    (hit,) = _grammar_hits("cloudy rm x --preview")

    assert hit.silenced == "`--preview` only shows what would happen"
