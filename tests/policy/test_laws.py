"""What holds for every policy file, whatever it says."""

from __future__ import annotations

import os
import random
import subprocess
import sys

from hypothesis import assume, given
from hypothesis import strategies as st

from effort import examples
from interlock.errors import PolicyError
from interlock.policy.config.complaints import is_list, is_table
from interlock.policy.config.document import KEYS, SECTIONS, MergedPolicy
from interlock.policy.config.key import Tighter
from policy.documents import (
    FEW_DEFAULTS,
    Document,
    admitted,
    attempt,
    documents,
    for_a_project,
    loaded,
)
from policy.files import merged, toml
from policy.strictness import loosened_parts

_OPEN = {key.path.partition(".")[0] for key in KEYS if key.tighter is not Tighter.USER_ONLY}
EVERY_PERMISSION = ["rules.*", *(f"{section}.*" for section in SECTIONS if section in _OPEN)]


@examples(16, soak=500)
@given(documents(), documents(for_project=True))
def test_a_project_never_loosens(user: Document, project: Document):
    below, both = loaded(user), loaded(user, admitted(project, below=user))

    assert loosened_parts(below.policy, both.policy) == set()


@given(documents(), documents(for_project=True))
def test_only_what_would_loosen_is_refused(user: Document, project: Document):
    below = loaded(user)
    both = loaded({**user, "layers": {"project-may-loosen": EVERY_PERMISSION}}, project)
    assume(isinstance(attempt(user, project), PolicyError))

    assert loosened_parts(below.policy, both.policy) != set()


@given(documents(), st.randoms(use_true_random=False))
def test_the_order_of_a_file_never_counts(user: Document, chance: random.Random):
    policy, shuffled = loaded(user), loaded(_shuffled_document(user, chance))

    assert shuffled.policy == policy.policy
    assert shuffled.hash == policy.hash
    assert list(shuffled.origins) == list(policy.origins)


@given(documents(), documents())
def test_the_hash_differs_exactly_where_the_policy_does(one: Document, other: Document):
    first, second = loaded(one), loaded(other)

    assert (first.hash == second.hash) == (first.policy == second.policy)


@given(documents())
def test_comments_and_blank_lines_do_not_count(user: Document):
    plain = loaded(user)
    remarked = merged(f"# a remark\n\n{toml(user)}\n# another\n", defaults=FEW_DEFAULTS)

    assert remarked.hash == plain.hash


@given(documents())
def test_a_file_that_says_the_same_as_the_one_below_changes_nothing(user: Document):
    assert loaded(user, for_a_project(user)).hash == loaded(user).hash


@given(
    documents(),
    st.sampled_from(["", *SECTIONS]),
    st.text(st.characters(codec="utf-8", exclude_characters="\x7f"), min_size=1),
    st.sampled_from([1, "text", [], {}]),
)
def test_an_unknown_key_never_loads(user: Document, section: str, name: str, value: object):
    known = {key.name for key in KEYS if key.section == section}
    assume(name not in known and (section or name not in SECTIONS))
    inner = user.get(section, {}) if section else user
    assert is_table(inner)
    extended = {**inner, name: value}

    assert isinstance(attempt({**user, section: extended} if section else extended), PolicyError)


_ANYTHING = st.recursive(
    st.none().map(lambda _: "none")
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.sampled_from(["", "off", "block", "...", "a", "git.push-force"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["path", "tools", "id", "decision", "type", "$ref"]), inner
        )
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(sorted({key.section or key.name for key in KEYS})),
        _ANYTHING | st.dictionaries(st.sampled_from(sorted({key.name for key in KEYS})), _ANYTHING),
    )
)
def test_whatever_stands_in_a_file_it_loads_or_is_refused_with_reasons(user: Document):
    outcome = attempt(user, user)

    assert isinstance(outcome, MergedPolicy) or all(": " in each for each in outcome.complaints)


@given(st.text(st.characters()) | st.text("[]{}=\"'.\n#ab1,"))
def test_any_text_loads_or_is_refused_with_reasons(text: str):
    try:
        merged(text, text, defaults=FEW_DEFAULTS)
    except PolicyError as error:
        reasons = error.complaints
    else:
        reasons = ("none needed",)

    assert reasons


def test_the_hash_is_the_same_in_any_process():
    script = "from policy.files import merged; print(merged().hash)"
    path = os.pathsep.join(sys.path)

    hashes = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]

    assert hashes == [merged().hash, merged().hash]


_ORDERED = ("command", "path", "patch", "match", "criteria", "check")


def _shuffled_document(document: Document, chance: random.Random) -> Document:
    return {name: _shuffled(value, chance, name) for name, value in _in_any_order(document, chance)}


def _shuffled(value: object, chance: random.Random, name: str) -> object:
    """Shuffle tables and lists, but not those whose order counts."""
    if is_table(value):
        items = _in_any_order(value, chance)
        return {inner: _shuffled(item, chance, inner) for inner, item in items}
    if is_list(value) and name not in _ORDERED:
        return chance.sample([_shuffled(item, chance, name) for item in value], len(value))
    return value


def _in_any_order(table: Document, chance: random.Random) -> list[tuple[str, object]]:
    return chance.sample(list(table.items()), len(table))
