"""The scanner: bounded, deterministic, hard to hide from."""

from __future__ import annotations

import itertools
import string
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples, rounds
from interlock.errors import PolicyError
from interlock.secrets.credential_rules import Form, SecretRule
from interlock.secrets.redaction import redact
from interlock.secrets.scanner import LiteralSet, SecretScanner
from secret_generator import examples_of, from_template
from secret_packs import RULES, SCANNER, cases, rules_from_toml

_BAIT = rounds(short=1 << 18, soak=1 << 20)
_TOKENS = [rule for rule in RULES if rule.form is Form.TOKEN and not rule.least_entropy]
_any_text = st.text(st.characters(exclude_categories=()))
_fragments = st.lists(
    st.one_of(
        st.sampled_from(
            ["password", "token", "=", ":", '"', "'", "`", "\\", "\n", "://", "@", "-----BEGIN "]
        ),
        st.sampled_from(sorted({keyword for rule in RULES for keyword in rule.literals})),
        _any_text,
    )
).map("".join)


def test_reports_where_a_credential_stands():
    token = _token("github-personal-token")
    (match,) = SCANNER.scan(f"é {token} é")

    assert (match.rule.name, match.start, match.end) == ("vcs.github-personal-token", 2, 42)


def test_credentials_beside_each_other_are_all_found():
    tokens = [from_template("ghp_[A-Za-z0-9]{36}", seed) for seed in range(20)]

    assert len(SCANNER.scan(" ".join(tokens))) == 20
    assert len(SCANNER.scan(",".join(tokens))) == 20


def test_the_most_specific_rule_names_what_several_found():
    token = _token("github-personal-token")
    (match,) = SCANNER.scan(f'password = "{token}"')

    assert match.rule.id == "github-personal-token"


def test_what_overlaps_is_covered_as_a_whole():
    token = _token("github-personal-token")
    text = f'password = "1a-{token}-2b"'
    (match,) = SCANNER.scan(text)

    assert text[match.start : match.end] == f"1a-{token}-2b"


@pytest.mark.parametrize("off", ["vcs", "github-personal-token", "vcs.github-personal-token"])
def test_a_rule_can_be_turned_off_by_family_id_or_name(off: str):
    scanner = SecretScanner(RULES, off=[off])

    assert scanner.scan(_token("github-personal-token")) == []


def test_a_scanner_without_rules_finds_nothing():
    assert SecretScanner([]).scan("password=hunter2hunter2") == []
    assert SecretScanner([]).scan("x" * 5000) == []


def test_a_pattern_may_leave_its_group_out_or_match_nothing():
    (rule,) = rules_from_toml(
        '[pack]\nid = "x"\ntitle = "X"\n[[rule]]\nid = "a"\ntitle = "an A"\njudge = "always"\n'
        'keywords = ["aa"]\npattern = "(?:aab(?P<secret>c)?)?"'
    )
    matches = SecretScanner([rule]).scan("aab aabc")

    assert [(match.start, match.end) for match in matches] == [(0, 3), (7, 8)]


def test_an_allowed_value_is_let_through_only_as_a_whole():
    scanner = SecretScanner(RULES, allow=["hunter2(?:hunter2)?"])

    assert scanner.scan("password=hunter2hunter2") == []
    assert scanner.scan("password=hunter2hunter2x9")


@pytest.mark.parametrize("pattern", ["(", "é", "(?=a)"])
def test_refuses_an_allow_pattern_that_is_none(pattern: str):
    with pytest.raises(PolicyError, match=r"`secrets\.allow`"):
        SecretScanner(RULES, allow=[pattern])


def test_a_prefilter_that_misses_a_keyword_is_not_used():
    knows_another = LiteralSet(["xyz"])._built()

    with pytest.raises(PolicyError, match="does not find `abc`"):
        LiteralSet(["abc"])._test(knows_another)


def test_refuses_more_keywords_than_fit_into_the_prefilter():
    letters = str.maketrans(string.digits, "abcdefghij")
    keywords = [f"{number:04}".translate(letters) * 50 for number in range(5000)]

    with pytest.raises(PolicyError, match="5000 keywords are too many"):
        LiteralSet(keywords).present(b"x" * 5000)


def test_the_prefilter_finds_every_keyword_whichever_way_it_looks():
    keywords = sorted({keyword for rule in RULES for keyword in rule.literals})
    literals = LiteralSet(keywords)
    shouted = [each.upper() if each.islower() else each for each in keywords]
    found_in_order = literals.present("\n".join(shouted).encode())

    assert found_in_order == list(range(len(keywords)))
    assert LiteralSet(["abc", "xyz"]).present(b"--XYZ--") == [1]
    assert (
        LiteralSet(["ABC", "xyz"]).present(b"abc")
        == LiteralSet(["ABC"]).present(b"abc" * 999)
        == []
    )
    assert all(index in literals.present(word.encode()) for index, word in enumerate(keywords))


@given(_fragments)
def test_any_text_gets_the_same_answer_twice_and_redacts(text: str):
    matches = SCANNER.scan(text)

    assert matches == SCANNER.scan(text)
    assert all(0 <= match.start < match.end <= len(text) for match in matches)
    assert all(one.end <= other.start for one, other in itertools.pairwise(matches))
    assert isinstance(redact(text, matches), str)


@given(_any_text)
def test_a_short_text_is_judged_as_by_a_scanner_that_is_warm(text: str):
    assert SecretScanner(RULES[-40:]).scan(text) == _warm().scan(text)


@given(st.sampled_from(_TOKENS), st.integers(0, 10**6), _fragments, _fragments)
@examples(60, soak=2000)
def test_text_around_a_token_does_not_hide_it(rule: SecretRule, seed: int, before: str, after: str):
    token = examples_of(rule, seed)[0]
    text = f"{before}\n{token}\n{after}"
    start = len(before) + 1

    assert any(
        match.start <= start and start + len(token) <= match.end for match in SCANNER.scan(text)
    )


_DENSE = {
    "names": "password=",
    "weak values": "password=a1b2c3 ",
    "rejected values": "token=hello_world12 ",
    "web tokens": "eyJhbGciOiJIUz.eyJ",
    "key headers": "-----BEGIN RSA " + "PRIVATE KEY-----\n",
    "urls": "://a:b",
    "commands": "docker curl mysql -p -u ",
    "every keyword": " ".join(sorted({word for rule in RULES for word in rule.literals})),
    "surrogates": "\ud800password=\udfff",
    "null bytes": "\0",
}


@pytest.mark.large
@pytest.mark.parametrize("part", _DENSE.values(), ids=_DENSE)
def test_much_bait_takes_time_in_proportion(part: str):
    long = (part * (_BAIT // len(part) + 1))[:_BAIT]
    short = long[: _BAIT // 8]
    _seconds(short)

    # Time in proportion to the square would be 64 times as long; other work disturbs one look.
    assert any(_seconds(long) < 24 * _seconds(short) for _ in range(5))


def _seconds(text: str) -> float:
    start = time.process_time()
    SCANNER.scan(text)
    return time.process_time() - start


def test_a_text_full_of_credentials_is_one_as_a_whole():
    text = "password=a1b2c3d4 " * 11_000
    (match,) = SCANNER.scan(text)

    assert (match.start, match.end) == (0, len(text))


def test_another_process_with_another_hash_seed_answers_the_same():
    script = (
        "import sys; sys.path[:0] = ['tests', 'src']\n"
        "from secret_packs import rules_from_toml, SCANNER, cases\n"
        "print([(m.rule.name, m.start, m.end) for c in cases() for m in SCANNER.scan(c.text)])"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
            text=True,
        ).stdout
        for seed in ("1", "2")[: rounds(short=1, soak=2)]
    }
    here = [(m.rule.name, m.start, m.end) for case in cases() for m in SCANNER.scan(case.text)]

    assert answers == {f"{here}\n"}


_WARM: list[SecretScanner] = []


def _warm() -> SecretScanner:
    if not _WARM:
        scanner = SecretScanner(RULES[-40:])
        scanner.scan("x" * 5000)
        _WARM.append(scanner)
    return _WARM[0]


def _token(rule_id: str) -> str:
    rule = next(rule for rule in RULES if rule.id == rule_id)
    return examples_of(rule, 7)[0]


def test_many_kinds_of_names_are_looked_for_in_one_pass():
    """A text that names hundreds of services is searched as one that names a few."""
    token = _token("github-personal-token")
    names = " ".join(sorted({keyword for rule in RULES for keyword in rule.literals}))
    text = f"{names}\nx = '{token}'\nMISTRAL_KEY = '{_token('mistral-key')[-32:]}'\n{names}"

    found = {match.rule.id for match in SCANNER.scan(text)}
    assert "github-personal-token" in found


@pytest.mark.parametrize("part", ["AKIA", "sk-", "hf_", "://", "MT"])
def test_what_only_begins_like_credentials_is_none(part: str):
    assert SCANNER.scan(part * 20_000) == []


@pytest.mark.parametrize("before", ["", "a word " * 100], ids=["short", "long"])
def test_a_match_is_not_looked_for_within_another(before: str):
    one = "xapp-1-" + "A1B2C3D4E5" + "-1234567890-" + "0123456789abcdef" * 4
    (match,) = SCANNER.scan(before + one)

    assert (match.start, match.end) == (len(before), len(before + one))


@pytest.mark.parametrize("before", ["", "a word " * 100], ids=["short", "long"])
def test_a_beginning_within_a_match_begins_nothing(before: str):
    one = from_template("patpat[A-Za-z0-9]{11}.[0-9a-f]{64}", 3)
    (match,) = SCANNER.scan(before + one)

    assert (match.rule.name, match.start) == ("saas.airtable-token", len(before))
    assert match.end == len(before + one)


@pytest.mark.parametrize(
    "line",
    ["password = 'Xk9!d2Zq7'\n", "curl -u a:b'\n", "azure openai cohere mistral\n"],
    ids=["credentials", "candidates", "attempts"],
)
def test_more_than_can_be_told_apart_is_one_credential_or_none(line: str):
    text = line * 5_000
    found = SCANNER.scan(text)

    assert found == [] or [(match.start, match.end) for match in found] == [(0, len(text))]


def test_a_text_that_could_begin_too_much_is_one_credential():
    rules = [
        SecretRule(family="own", id=str(number), title="x", token="ab[0-9]{4}", keywords=("ab",))
        for number in range(12)
    ]
    text = "ab is a b " * 4_000
    (match,) = SecretScanner(rules).scan(text)

    assert (match.start, match.end) == (0, len(text))
    assert SecretScanner(rules[:1]).scan(text) == []


def test_the_bytes_of_a_key_are_found_and_those_of_a_picture_are_not():
    numbers = ",".join(str(place * 151 % 256) for place in range(64))

    assert SCANNER.scan(f"~/.config/solana/id.json: [{numbers}]")
    assert SCANNER.scan(f"pixels: [{numbers}]") == []
