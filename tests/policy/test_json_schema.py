"""The JSON Schema for editors agrees with what reading accepts and refuses."""

from __future__ import annotations

import tomllib

import jsonschema_rs
import pytest
from hypothesis import given

from interlock.policy.config.complaints import is_table
from interlock.policy.config.document import KEYS
from interlock.policy.config.reference import policy_json_schema
from policy.documents import Document, documents
from policy.files import DEFAULTS, LISTS, complaints, merged

SCHEMA = policy_json_schema(LISTS)
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)

GATES = "{ id = 'a', criteria = ['x'] }, " * 65
GATE = "[[reviews.gates]]\nid = 'a'\n"
RULE = "[[rules]]\nid = 'a'\nwhen = 'true'\ndecision = 'warn'\nmessage = 'm'\n"


def test_the_schema_is_a_schema():
    assert jsonschema_rs.meta.is_valid(SCHEMA)


def test_the_defaults_are_valid():
    assert VALIDATOR.is_valid(tomllib.loads(DEFAULTS))


@given(documents())
def test_what_reading_accepts_is_valid(document: Document):
    VALIDATOR.validate(document)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("version = 2", id="version"),
        pytest.param("colour = 'blue'", id="unknown key"),
        pytest.param("[diff-size]\nthresh-old = 3", id="unknown key in a table"),
        pytest.param("limits = 3", id="number for a table"),
        pytest.param("[limits]\nnesting = 1000", id="out of range"),
        pytest.param("[diff-size]\nthreshold = 3.5", id="fraction"),
        pytest.param("[diff-size]\nthreshold = '3'", id="text for a number"),
        pytest.param("[tool-allowlist]\nenabled = 'yes'", id="text for a flag"),
        pytest.param("[tool-allowlist]\nallow = ['Bash', 7]", id="number for a name"),
        pytest.param("[tool-allowlist]\nallow = [' ']", id="empty name"),
        pytest.param("[tool-allowlist]\nallow = 'Bash'", id="text for a list"),
        pytest.param(f"[secrets]\nallow = [{'1,' * 101}]", id="too many patterns"),
        pytest.param("[secrets]\ndecision = 'allow'", id="no decision"),
        pytest.param("[secrets]\nfingerprint-key = 'short'", id="short key"),
        pytest.param("[destructive-ops.packs]\ngit = 'off'", id="word for a flag"),
        pytest.param("[destructive-ops.rules]\n'git.push-force' = false", id="flag for a word"),
        pytest.param("[tools.schemas]\nfetch = 'object'", id="text for a schema"),
        pytest.param("[[tools.carriers]]\ncommand = ['cmd']", id="carrier without tools"),
        pytest.param("[[tools.carriers]]\ntools = []", id="carrier with no tool"),
        pytest.param("[[tools.carriers]]\ntools = ['x']\ncwd = ['y']", id="folder, no command"),
        pytest.param("[[protected-paths.entries]]\npath = 'x'", id="path without a decision"),
        pytest.param("[[protected-paths.entries]]\npath = 'x'\ndecision = 'no'", id="no outcome"),
        pytest.param("[budgets.run]\ntokns = 5", id="unknown name in a budget"),
        pytest.param("[budgets.run]\ntokens = 5.5", id="fraction of a token"),
        pytest.param("[budgets.run]\ncost-usd = -0.5", id="less than nothing"),
        pytest.param("[budgets.run]\ncost-usd = '5'", id="text for money"),
        pytest.param("[[budgets.prices]]\nmodel = 'm'\ninput-usd = 1", id="half a price"),
        pytest.param("[steps]\nmax-total = 0", id="no step at all"),
        pytest.param("[steps]\ncheckpoint-command = ' '", id="empty command"),
        pytest.param("[loops]\npolling-tools = [3]", id="number for a tool"),
        pytest.param("[stops]\nprofile = 'best'", id="unknown profile"),
        pytest.param("[stops]\npoints-intent = 101", id="too many points"),
        pytest.param("[stops]\ncontinue-phrases = 'onwards'", id="text for phrases"),
        pytest.param("[stops.models.'']\nwarn-at = 3", id="models without a name"),
        pytest.param("[stops.models.m]\nwarnat = 3", id="unknown key for some models"),
        pytest.param("[stops.models.m]\nwarn-at = '3'", id="text for a score of some models"),
        pytest.param("[stops.models.m]\nprofile = 'seed'", id="profile for some models"),
        pytest.param("[stops.models]\nm = 3", id="number for models"),
        pytest.param("[reviews]\nmax-attempts = 0", id="no attempt"),
        pytest.param("[reviews]\ncompletion = [1]", id="number for a gate"),
        pytest.param("[reviews]\ncheck-environment = 'PATH'", id="text for variables"),
        pytest.param("[[reviews.gates]]\ncriteria = ['x']", id="gate without an id"),
        pytest.param(GATE + "severity = 'severe'", id="unknown severity"),
        pytest.param(GATE + "mode = 'block'", id="unknown mode"),
        pytest.param(GATE + "criteria = ['']", id="empty criterion"),
        pytest.param(GATE + "preserve-context = 1", id="number for a flag of a gate"),
        pytest.param(GATE + "timeout-seconds = 3", id="time for no check"),
        pytest.param(GATE + 'check = ["a", "\\u0000"]', id="word that no program takes"),
        pytest.param(f"[reviews]\ngates = [{GATES}]", id="too many gates"),
        pytest.param("[edits]\nfuzzy-matches = true", id="flag for an answer"),
        pytest.param("[undo]\nlimit-bytes = -1", id="less than nothing to put back"),
        pytest.param("[[rules]]\nid = 'a'", id="rule without a condition"),
        pytest.param(RULE.replace("'a'", "'A b'"), id="rule with a bad id"),
        pytest.param(RULE.replace("'warn'", "'allow'"), id="rule that allows"),
        pytest.param(RULE + "not-match = []", id="hyphen for underscore"),
        pytest.param(RULE + "match = [3]", id="number for an example"),
        pytest.param(RULE + "match = [{ name = 'x' }]", id="example of nothing"),
        pytest.param(RULE + "match = [{ tool = 'x', command = 'y' }]", id="example of two"),
        pytest.param(RULE + "match = [{ command = ['x'] }]", id="list for a command"),
    ],
)
def test_what_a_schema_can_see_is_refused(text: str):
    assert not VALIDATOR.is_valid(tomllib.loads(text))


@pytest.mark.parametrize("path", [key.path for key in KEYS])
def test_every_key_is_described(path: str):
    place: object = SCHEMA
    for part in path.split("."):
        assert is_table(place)
        properties = place["properties"]
        assert is_table(properties)
        place = properties[part]

    assert is_table(place)
    assert place["description"]


@pytest.mark.parametrize(
    "text",
    [
        "secretPatterns = ['tok_[a-z]{9}']",
        "diffSizeThreshold = 300",
        "[auto_continue]\nenabled = false\nmax_retries = 2",
        f"{GATE}criteria = ['x']\nenforcementMode = 'advisory'",
        f"{GATE}criteria = ['x']\nenforcement_mode = 'blocking'\nmaxAttempts = 3",
        f"{GATE}criteria = ['x']\nfailureAction = 'abort'",
        f"{GATE}criteria = ['x']\nretry_config = {{ max_attempts = 3, improvementHints = false }}",
        f"{GATE}criteria = ['x']\nretryConfig = {{ max-attempts = 3, preserve_context = true }}",
    ],
)
def test_the_names_of_other_definitions_are_valid_where_reading_takes_them(text: str):
    merged(text)
    VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "secretPattern = ['x']",
        "secretPatterns = 3",
        "[auto_continue]\nenabld = true",
        f"{GATE}criteria = ['x']\nfailureAction = 'boom'",
        f"{GATE}criteria = ['x']\nretry_config = 3",
        f"{GATE}criteria = ['x']\nretry_config = {{ mode = 'advisory' }}",
        f"{GATE}criteria = ['x']\nmax_attempts = 3",
    ],
)
def test_what_reading_refuses_of_them_is_not_valid(text: str):
    assert complaints(text)
    assert not VALIDATOR.is_valid(tomllib.loads(text))
