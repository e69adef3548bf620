"""What comes with Interlock is the same, compiled or not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from interlock.policy.config.layers import merge
from interlock.service.policies.builtin_rules import (
    DefaultPolicy,
    Tables,
    builtin_layer,
    command_packs,
    known_rules,
    packs_with_examples,
    secret_rules,
)
from interlock.service.policies.policy_files import default_policy
from interlock.service.policies.rule_compiler import (
    COMPILED,
    CompiledFile,
    checksum_of,
    compile_rules,
    documents_in,
    rule_texts,
)
from secret_packs import RULES


def test_the_compiled_rules_are_those_of_the_toml_files_but_for_their_examples():
    plain = [
        replace(pack, rules=tuple(replace(rule, match=(), not_match=()) for rule in pack.rules))
        for pack in packs_with_examples()
    ]
    known = [replace(rule, example=(), not_match=()) for rule in RULES]

    tables = msgspec.msgpack.decode(_compiled(compile_rules()).tables, type=Tables)
    rules = [rule for file in tables.secrets.values() for rule in file.rules()]

    assert list(tables.packs.values()) == plain
    assert [replace(rule, example=(), not_match=()) for rule in rules] == known
    assert tables.programs == msgspec.convert(documents_in(rule_texts()), Tables).programs


def test_the_compiled_default_policy_is_the_one_that_is_merged_from_the_fields():
    tables = msgspec.msgpack.decode(_compiled(compile_rules()).tables, type=Tables)
    merged = merge([builtin_layer()], known_rules())

    assert tables.policy.merged == DefaultPolicy(policy=merged.policy, hash=merged.hash)
    assert default_policy().merged.places == merged.places


def test_every_rule_has_an_example_in_its_toml_file():
    assert all(rule.match for pack in packs_with_examples() for rule in pack.rules)


def test_the_installed_file_was_compiled_from_the_installed_toml_files():
    installed = files("interlock") / COMPILED

    assert installed.is_file(), "run `make install`, which compiles the rules"
    assert _compiled(installed.read_bytes()).checksum == checksum_of(rule_texts())


def test_a_build_that_has_nothing_but_msgspec_compiles_the_same(tmp_path: Path):
    (tmp_path / "msgspec").symlink_to(Path(msgspec.__file__).parent)
    sources = str(files("interlock").joinpath(".."))
    program = (
        f"import sys; sys.path[:0] = [{sources!r}, {str(tmp_path)!r}]\n"
        "from interlock.service.policies.rule_compiler import compile_rules\n"
        "sys.stdout.buffer.write(compile_rules())"
    )
    built = subprocess.run([sys.executable, "-ISc", program], check=True, capture_output=True)

    assert built.stdout == compile_rules()


def test_a_changed_toml_file_makes_the_compiled_one_count_no_more(tmp_path: Path):
    copy = tmp_path / "interlock"
    shutil.copytree(str(files("interlock")), copy, ignore=shutil.ignore_patterns("*.py*"))
    before = checksum_of(rule_texts(copy))
    pack = copy / "policy/actions/packs/git.toml"
    pack.write_bytes(pack.read_bytes() + b"\n")

    assert _compiled(compile_rules(copy)).checksum == checksum_of(rule_texts(copy)) != before


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(str(files("interlock")), folder / "interlock")
    return folder


@pytest.mark.parametrize("content", [b"", b"\x80", compile_rules()[:-1]])
def test_a_compiled_file_of_another_kind_counts_for_nothing(content: bytes, copied: Path):
    (copied / "interlock" / COMPILED).write_bytes(content)

    asked = subprocess.run(
        [sys.executable, "-m", "interlock", "check", "command", "git reset --hard"],
        env={**os.environ, "PYTHONPATH": str(copied)},
        capture_output=True,
        check=False,
    )

    assert b"git.reset-hard" in asked.stdout


def test_packs_keep_the_order_of_their_names():
    assert [pack.id for pack in command_packs()] == [pack.id for pack in packs_with_examples()]
    assert [rule.name for rule in secret_rules()] == [rule.name for rule in RULES]


def _compiled(content: bytes) -> CompiledFile:
    return msgspec.msgpack.decode(content, type=CompiledFile)
