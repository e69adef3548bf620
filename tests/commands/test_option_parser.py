"""A program's words are taken apart the way the program would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.commands.programs.program_tables import invocation_of
from interlock.commands.shell.command import Invocation
from interlock.commands.shell.words import literal
from interlock.service.policies.policy_files import default_policy

_EN_DASH = "\N{EN DASH}"
_WORDS = st.lists(
    st.sampled_from(
        ["-", "--", "-a", "-rf", "--all", "--x=y", "-ofile", "push", "x", "", f"{_EN_DASH}f"]
    ),
    max_size=8,
)


def _invoked(line: str) -> Invocation:
    program, *words = line.split()
    return invocation_of(program, [literal(word) for word in words], default_policy().programs)


@pytest.mark.parametrize(
    ("line", "flags", "operands"),
    [
        ("rm -rf a b", ["-f", "-r"], ["a", "b"]),
        ("rm a -r", ["-r"], ["a"]),
        ("rm -- -r", [], ["-r"]),
        ("cat - x", [], ["-", "x"]),
        ("rm --recursive --x=y a", ["--recursive", "--x"], ["a"]),
        (f"rm {_EN_DASH}rf a", ["-f", "-r"], ["a"]),
        ("cat é", [], ["é"]),
        ("git -C d push -f origin", ["-f"], ["push", "origin"]),
        ("git --no-pager", ["--no-pager"], []),
        ("git", [], []),
        ("curl -sXPOST u", ["-X", "-s"], ["u"]),
        ("curl -so f u", ["-o", "-s"], ["u"]),
        ("curl u -o", ["-o"], ["u"]),
        ("rsync --delete --no-delete a b", ["--no-delete"], ["a", "b"]),
        ("rsync --no-delete --delete a b", ["--delete", "--no-delete"], ["a", "b"]),
        ("rsync -an --no-dry-run a b", ["--no-dry-run", "-a"], ["a", "b"]),
        ("rsync -an --no-n a b", ["--no-n", "-a"], ["a", "b"]),
        ("rsync --dry-run --no-d a b", ["--no-d"], ["a", "b"]),
        ("docker compose down --volumes=false", [], ["compose", "down"]),
        ("docker compose down --volumes --volumes=False", [], ["compose", "down"]),
        ("docker compose down --volumes=false --volumes", ["--volumes"], ["compose", "down"]),
        ("kubectl --context=false get pods", ["--context"], ["get", "pods"]),
        ("tool --force=false u", ["--force"], ["u"]),
        ("docker run --x img --no-x", ["--no-x", "--x"], ["run", "img"]),
    ],
)
def test_flags_and_operands(line: str, flags: list[str], operands: list[str]):
    invocation = _invoked(line)

    assert sorted(invocation.flags) == flags
    assert [word.text for word in invocation.operands] == operands


@pytest.mark.parametrize(
    ("line", "name", "values"),
    [
        ("curl -o f u", "-o", ["f"]),
        ("curl -of u", "-o", ["f"]),
        ("curl -sof u", "-o", ["f"]),
        ("curl --output=f u", "--output", ["f"]),
        ("curl -d a -d b u", "-d", ["a", "b"]),
        ("curl u -o", "-o", []),
        ("git -c a=b push", "-c", ["a=b"]),
        ("tar --to-com a", "--to-command", ["a"]),
        ("tar --to-com=a", "--to-command", ["a"]),
        ("rsync --backup a", "--backup-dir", []),
        ("rsync --backup-d a", "--backup-dir", ["a"]),
        ("mv --target=a b", "--target-directory", ["a"]),
        ("curl --d a u", "--data", []),
    ],
)
def test_values(line: str, name: str, values: list[str]):
    invocation = _invoked(line)

    assert [word.text for word in invocation.all_values(name)] == values
    assert invocation.value(name) == (literal(values[-1]) if values else None)


@pytest.mark.parametrize(
    ("line", "name", "given"),
    [
        ("rm --rec x", "--recursive", True),
        ("rm --r x", "--recursive", False),
        ("rm --force x", "--force-with-lease", False),
        ("rm --recursively x", "--recursive", False),
        ("rm x", "-r", False),
        ("rm -r x", "-r", True),
    ],
    ids=str,
)
def test_long_options_may_be_cut_short(line: str, name: str, given: bool):
    assert _invoked(line).has(name) is given


@given(st.sampled_from(["rm", "git", "curl", "find", "nobody-knows"]), _WORDS)
def test_no_word_is_lost(program: str, words: list[str]):
    taken = invocation_of(program, [literal(word) for word in words], default_policy().programs)

    operands = [word.text for word in taken.operands]
    values = [word.text for given in taken.values.values() for word in given]
    lost = [
        word for word in words if word not in operands + values and word[:1] not in {"-", _EN_DASH}
    ]
    assert lost == []
    assert all(operand in words for operand in operands)
    assert all(flag.startswith("-") for flag in taken.flags)
