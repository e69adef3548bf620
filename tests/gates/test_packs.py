"""Rule packs are data: what is wrong with one is told by its name and place."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from inline_snapshot import snapshot

from interlock import Decision
from interlock.commands.affected_paths import AFFECTING_WAYS
from interlock.commands.programs.credential_reads import READING_WAYS
from interlock.commands.programs.file_effects import FILE_WAYS
from interlock.commands.programs.network_effects import NETWORK_WAYS
from interlock.commands.programs.outputs import OUTPUT_WAYS
from interlock.commands.programs.program_tables import UNKNOWN_PROGRAM, Program, Programs
from interlock.commands.programs.read_only import SCRIPT_WAYS
from interlock.commands.programs.withheld_values import WITHHOLDING_WAYS
from interlock.commands.snippets import SNIPPET_WAYS
from interlock.commands.subcommands import FOLLOWING_WAYS
from interlock.errors import RulesError
from interlock.policy.actions.rule_packs import PackHead, Rule
from interlock.service.policies import builtin_rules
from interlock.service.policies.builtin_files import pack_from_toml
from interlock.service.policies.rule_compiler import documents_in, rule_texts
from interlock.values import Severity

_HEAD = '[pack]\nid = "own"\ntitle = "Own"\nabout = "an example"\n'
_RULE = """
[[rule]]
id = "drop"
reason = "drops it"
remediation = "keep it"
programs = ["dropper"]
match = ["dropper x"]
"""


def _mistake(text: str) -> str:
    with pytest.raises(RulesError) as caught:
        pack_from_toml("own.toml", text.encode())
    return "\n".join(caught.value.complaints)


def test_a_pack_is_read_with_its_defaults():
    pack = pack_from_toml("own.toml", (_HEAD + _RULE).encode())
    (rule,) = pack.rules

    assert pack.head == PackHead(id="own", title="Own", about="an example")
    assert pack.grammar is None
    assert rule.decision is Decision.REQUIRE_CONFIRMATION
    assert rule.severity is Severity.HIGH
    assert rule.not_match == ()


def test_text_that_is_no_toml_is_named():
    assert _mistake("[pack") == snapshot(
        "own.toml: not valid TOML: Expected ']' at the end of a table declaration"
        " (at end of document)"
    )


def test_an_unknown_key_is_named_with_those_there_are():
    told, _, known = _mistake(_HEAD + _RULE + 'flagz = ["-f"]\n').partition("? ")
    assert told == snapshot("own.toml: rule `drop`: unknown field `flagz`: did you mean `flags`")
    fields = ", ".join(f"`{each}`" for each in Rule.__struct_encode_fields__)
    assert known == f"known fields: {fields}"
    assert _mistake(_HEAD + _RULE + "zzzzz = 1\n").startswith(
        "own.toml: rule `drop`: unknown field `zzzzz`: remove it; known fields: `id`, `reason`,"
    )
    assert _mistake(_HEAD + "[grammars]\n" + _RULE) == snapshot(
        "own.toml: unknown field `grammars`: did you mean `grammar`?"
        " known fields: `pack`, `rule`, `grammar`"
    )
    assert _mistake(_HEAD + 'more = "x"\n' + _RULE) == snapshot(
        "own.toml: `pack`: unknown field `more`: remove it; known fields: `id`, `title`, `about`"
    )


def test_a_missing_key_is_named():
    assert _mistake(_RULE) == snapshot("own.toml: the field `pack` is missing: add it")
    assert _mistake(_HEAD + _RULE.replace('reason = "drops it"\n', "")) == snapshot(
        "own.toml: rule `drop`: the field `reason` is missing: add it"
    )
    assert _mistake(_HEAD + _RULE.replace('match = ["dropper x"]\n', "")) == snapshot(
        "own.toml: rule `drop`: the field `match` is missing: add it"
    )


def test_a_wrong_type_is_named():
    assert _mistake(_HEAD + _RULE.replace('["dropper"]', '"dropper"')) == snapshot(
        'own.toml: rule `drop`: `programs`: `"dropper"` is text; expected a list'
    )


def test_a_wrong_value_in_a_list_and_a_rule_without_an_id_are_named_by_their_number():
    numbered = _RULE.replace('["dropper"]', '["dropper", 3]')
    assert _mistake(_HEAD + numbered) == snapshot(
        "own.toml: rule `drop`: `programs[1]`: `3` is a whole number; expected text"
    )
    assert _mistake(_HEAD + _RULE + _RULE.replace('id = "drop"\n', "")) == snapshot(
        "own.toml: rule 2: the field `id` is missing: add it"
    )


def test_a_rule_without_examples_is_refused():
    assert _mistake(_HEAD + _RULE.replace('["dropper x"]', "[]")) == snapshot(
        "own.toml: rule `drop`: has no `match` example to test it"
    )


def test_a_rule_about_nothing_is_refused():
    assert _mistake(_HEAD + _RULE.replace('programs = ["dropper"]\n', "")) == snapshot(
        "own.toml: rule `drop`: names neither `programs` nor an `effect`"
    )


def test_an_id_is_given_once():
    assert _mistake(_HEAD + _RULE + _RULE) == snapshot(
        "own.toml: rule `drop`: defined twice; rename or remove one of them"
    )


def test_a_place_a_label_and_an_effect_must_exist():
    assert _mistake(_HEAD + _RULE + 'places = ["moon", "root"]\n') == snapshot(
        "own.toml: rule `drop`: `moon` is not a place"
    )
    assert _mistake(_HEAD + _RULE + 'unless-places = ["mars"]\n') == snapshot(
        "own.toml: rule `drop`: `mars` is not a place"
    )
    assert _mistake(_HEAD + _RULE + 'labels = ["blue"]\n') == snapshot(
        "own.toml: rule `drop`: `blue` is not a label"
    )
    assert _mistake(_HEAD + _RULE + 'effect = "vanish"\n') == snapshot(
        'own.toml: rule `drop`: `effect`: `"vanish"` is unknown; expected `append`, `delete`,'
        " `execute`, `fetch`, `fork`, `move`, `overwrite`, `permit`, `read`, `send` or `show`"
    )
    assert _mistake(_HEAD + _RULE + 'decision = "forbid"\n') == snapshot(
        'own.toml: rule `drop`: `decision`: `"forbid"` is unknown; expected `allow`, `ask`,'
        " `deny` or `warn`"
    )


def test_every_mistake_is_named_at_once():
    broken = _RULE.replace('["dropper x"]', "[]").replace('programs = ["dropper"]\n', "")
    broken += 'places = ["moon"]\nlabels = ["blue"]\n'

    assert _mistake(_HEAD + broken + _RULE) == snapshot("""\
own.toml: rule `drop`: defined twice; rename or remove one of them
own.toml: rule `drop`: names neither `programs` nor an `effect`
own.toml: rule `drop`: has no `match` example to test it
own.toml: rule `drop`: `moon` is not a place
own.toml: rule `drop`: `blue` is not a label\
""")


_PROGRAMS = """
tool = { aliases = ["instrument"], values = ["--name"] }
snake = { aliases = ["viper"], values = ["-c"], code = { language = "python", options = ["-c"] } }
"snake charm" = { values = ["-X"] }
"""


def test_programs_are_found_by_every_name():
    programs = Programs(msgspec.toml.decode(_PROGRAMS, type=dict[str, Program]))

    assert programs.of("instrument") is programs.of("tool")
    assert programs.of("instrument").values == {"--name"}
    assert programs.of("viper") is programs.of("snake")
    assert programs.of("snake charm").values == {"-X"}
    assert programs.of("nothing") is UNKNOWN_PROGRAM


def test_every_program_has_one_entry():
    entries = documents_in(rule_texts())["programs"]["programs"]
    programs = msgspec.convert(entries, dict[str, Program])
    names = [name for key, entry in programs.items() for name in (key, *entry.aliases)]

    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_every_way_that_a_program_names_is_one():
    entries = builtin_rules.programs().entries.values()

    assert {entry.files for entry in entries} == {"", *FILE_WAYS}
    assert {entry.network for entry in entries} == {"", *NETWORK_WAYS}
    assert {entry.prints for entry in entries} == {*OUTPUT_WAYS}
    assert {entry.reads for entry in entries} == {"", *READING_WAYS}
    assert {entry.withholds for entry in entries} == {"", *WITHHOLDING_WAYS}
    assert {entry.runs for entry in entries} == {"", *FOLLOWING_WAYS, *SNIPPET_WAYS}
    assert {entry.affects.how for entry in entries if entry.affects} == {*AFFECTING_WAYS}
    assert {entry.only_reads.script for entry in entries if entry.only_reads} == {"", *SCRIPT_WAYS}


def test_every_option_that_carries_code_takes_a_value():
    for name, entry in builtin_rules.programs().entries.items():
        code = {*(entry.code.options if entry.code else ()), *(entry.sql.code if entry.sql else ())}
        assert code <= entry.values, name
