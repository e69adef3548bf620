"""Defaults, then the user, then the project: who may change what."""

from __future__ import annotations

import pytest

from interlock.model.verdict import Decision
from interlock.policy.config.action_sections import Carrier
from interlock.policy.config.document import Policy
from interlock.policy.config.policy_changes import loosened_places
from policy.files import DEFAULTS, KNOWN, complaints, merged, toml

RULE = "[[rules]]\nid = 'a'\nwhen = 'true'\ndecision = 'warn'\nmessage = 'm'\n"


def loosened(old: Policy, new: Policy) -> list[str]:
    return [leaf.path for leaf in loosened_places(old, new, KNOWN)]


def entry(path: str, decision: str) -> str:
    return f"[[protected-paths.entries]]\npath = '{path}'\ndecision = '{decision}'\n"


TIGHTENED = [
    pytest.param("", "version = 1", id="the same version"),
    pytest.param("", "[limits]\nnesting = 8", id="a smaller limit"),
    pytest.param("", "[limits]\nnesting = 24", id="the same limit"),
    pytest.param("", "[tool-allowlist]\nenabled = true\nallow = ['*']", id="an allow-list"),
    pytest.param(
        "[tool-allowlist]\nallow = ['Bash']",
        "[tool-allowlist]\nenabled = true\nallow = ['Read']",
        id="an allow-list unlike the one that is off",
    ),
    pytest.param(
        "[tool-allowlist]\nenabled = true\nallow = ['Bash', 'Read']",
        "[tool-allowlist]\nallow = ['Read']",
        id="a shorter allow-list",
    ),
    pytest.param(
        "[tool-allowlist]\nenabled = true\nallow = ['Bash', 'Read']",
        "[tool-allowlist]\ndeny = ['Bash']",
        id="a tool denied that is allowed below",
    ),
    pytest.param(
        "[tool-allowlist]\ndeny = ['Bash']",
        "[tool-allowlist]\ndeny = ['Bash', 'Read']",
        id="a longer deny-list",
    ),
    pytest.param(
        "[tool-allowlist]\ndeny = ['Bash']",
        "[tool-allowlist]\ndeny = ['...', 'Read']",
        id="a deny-list on top of the one below",
    ),
    pytest.param(
        "", "[[tools.carriers]]\ntools = ['Bash']\ncommand = ['run']", id="one more parameter"
    ),
    pytest.param("", "[tools.schemas.Bash]\ntype = 'object'", id="a schema"),
    pytest.param(
        "[tools.schemas.Bash]\ntype = 'object'",
        "[tools.schemas.Bash]\ntype = 'object'",
        id="the same schema",
    ),
    pytest.param("", "[destructive-ops]\nunresolved = 'block'", id="a stronger answer"),
    pytest.param("", "[destructive-ops]\nscratch-folders = []", id="fewer scratch folders"),
    pytest.param(
        "", "[destructive-ops]\nprotected-branches = ['...', 'next']", id="one more branch"
    ),
    pytest.param(
        "[destructive-ops.packs]\ngit = false",
        "[destructive-ops.packs]\ngit = true",
        id="a pack on",
    ),
    pytest.param("", "[destructive-ops.packs]\ngit = true", id="a pack on that is on"),
    pytest.param("", "[destructive-ops.rules]\n'git.push-force' = 'block'", id="a stronger rule"),
    pytest.param(
        "[destructive-ops.rules]\n'git.push-force' = 'off'",
        "[destructive-ops.rules]\n'git.push-force' = 'warn'",
        id="a rule stronger than the user's",
    ),
    pytest.param(
        "[secrets.rules]\nprivate-key = false", "[secrets.rules]\nprivate-key = true", id="a secret"
    ),
    pytest.param(
        "[secrets]\nallow = ['a', 'b']", "[secrets]\nallow = ['b']", id="fewer values let through"
    ),
    pytest.param(
        "[diff-size]\nenabled = false",
        "[diff-size]\nenabled = true\nthreshold = 9000",
        id="a gate on that is off, with any settings",
    ),
    pytest.param("", entry("src/**", "warn"), id="one more protected path"),
    pytest.param("", entry("~/.bashrc", "block"), id="a protected path, more strictly"),
    pytest.param("", entry("never/heard/of", "off"), id="a path off that was never on"),
    pytest.param("", "[budgets.run]\ntokens = 10\ncost-usd = 0.5", id="limits where none stood"),
    pytest.param(
        "[budgets.run]\ntokens = 10", "[budgets.run]\ntokens = 0", id="a smaller limit of spending"
    ),
    pytest.param(
        "[budgets.run]\ncost-usd = 2", "[budgets.run]\ncost-usd = 2.000000", id="the same money"
    ),
    pytest.param(
        "[budgets.run]\ntokens = 10", "[budgets.tree]\ntokens = 99", id="a limit for another scope"
    ),
    pytest.param("", "[budgets]\nlease-seconds = 901", id="a longer lease"),
    pytest.param("", "[budgets]\nunpriced = 'block'", id="a stronger answer to a price not known"),
    pytest.param("", "[approvals]\nexpires-seconds = 60", id="shorter questions"),
    pytest.param("", "[tool-names]\nruns = ['...', 'launch']", id="one more word for running"),
    pytest.param("", "[tool-names]\nopaque = 'block'", id="a stronger answer to opaque tools"),
    pytest.param(
        "[tool-names]\ntrusted = ['a', 'b']", "[tool-names]\ntrusted = ['a']", id="less trust"
    ),
    pytest.param("", "[parameter-names]\ndata = []", id="no name means data"),
    pytest.param(
        "[tools]\nidempotent = ['a', 'b']",
        "[tools]\nidempotent = ['a']",
        id="fewer answers from before",
    ),
    pytest.param(
        "",
        "[evaluators]\nmax-rework-percent = 0\nforbidden-commands = ['x']",
        id="stricter evaluators",
    ),
    pytest.param("", RULE, id="a rule"),
    pytest.param(RULE, RULE, id="the same rule"),
]

LOOSENED = [
    pytest.param(
        "",
        "[limits]\nnesting = 25",
        "limits.nesting: `25` is looser than `24` of defaults.toml",
        id="a larger limit",
    ),
    pytest.param(
        "[tool-allowlist]\nenabled = true\nallow = ['Bash']",
        "[tool-allowlist]\nenabled = false",
        "tool-allowlist.enabled: `false` is looser than `true` of policy.toml",
        id="no allow-list",
    ),
    pytest.param(
        "[tool-allowlist]\nenabled = true\nallow = ['Bash']",
        "[tool-allowlist]\nallow = ['...', 'Read', 'Write']",
        'tool-allowlist.allow: adds `"Read"`, `"Write"` to the list of policy.toml',
        id="a longer allow-list",
    ),
    pytest.param(
        "[tool-allowlist]\ndeny = ['Bash', 'Read']",
        "[tool-allowlist]\ndeny = ['Read']",
        'tool-allowlist.deny: leaves out `"Bash"` from the list of policy.toml',
        id="a shorter deny-list",
    ),
    pytest.param(
        "",
        "[[tools.carriers]]\ntools = ['Bash']",
        "tools.carriers.Bash: takes away what the tool carries according to defaults.toml",
        id="a tool that carries nothing any more",
    ),
    pytest.param(
        "[tools.schemas.fetch]\ntype = 'object'",
        "[tools.schemas.fetch]\n",
        "tools.schemas.fetch: differs from the entry of the same name of policy.toml",
        id="another schema",
    ),
    pytest.param(
        "[tools.schemas.fetch]\nproperties.depth.const = 1",
        "[tools.schemas.fetch]\nproperties.depth.const = true",
        "tools.schemas.fetch: differs from the entry of the same name of policy.toml",
        id="a schema with true for 1",
    ),
    pytest.param(
        "",
        "[destructive-ops]\nenabled = false",
        "destructive-ops.enabled: `false` is looser than `true` of defaults.toml",
        id="a gate off",
    ),
    pytest.param(
        "",
        "[destructive-ops]\nunresolved = 'off'",
        'destructive-ops.unresolved: `"off"` is looser than `"warn"` of defaults.toml',
        id="a weaker answer",
    ),
    pytest.param(
        "[destructive-ops]\nscratch-folders = []",
        "[destructive-ops]\nscratch-folders = ['a', 'b', 'c', 'd', 'e', 'f', 'g']",
        'destructive-ops.scratch-folders: adds `"a"`, `"b"`, `"c"`, `"d"`, `"e"` and 2 more '
        "to the list of policy.toml",
        id="more scratch folders",
    ),
    pytest.param(
        "",
        "[destructive-ops.packs]\ngit = false",
        "destructive-ops.packs.git: `false` is looser than `true` of the built-in rules",
        id="a pack off",
    ),
    pytest.param(
        "",
        "[destructive-ops.rules]\n'git.push-force' = 'warn'",
        'destructive-ops.rules."git.push-force": `"warn"` is looser than '
        '`"ask"` of the built-in rules',
        id="a weaker rule",
    ),
    pytest.param(
        "[destructive-ops.rules]\n'git.push-force' = 'block'",
        "[destructive-ops.rules]\n'git.push-force' = 'require-confirmation'",
        'destructive-ops.rules."git.push-force": `"ask"` is looser than `"deny"` of policy.toml',
        id="a rule weaker than the user's",
    ),
    pytest.param(
        "",
        "[secrets.rules]\nprivate-key = false",
        "secrets.rules.private-key: `false` is looser than `true` of the built-in rules",
        id="a secret not looked for",
    ),
    pytest.param(
        "",
        "[secrets]\nallow = ['.']",
        'secrets.allow: adds `"."` to the list of defaults.toml',
        id="values let through",
    ),
    pytest.param(
        "",
        entry("~/.ssh/**", "warn"),
        'protected-paths.entries."~/.ssh/**": `"warn"` is looser than `"deny"` of defaults.toml',
        id="a protected path, less strictly",
    ),
    pytest.param(
        "",
        entry("~/.ssh/**", "off"),
        'protected-paths.entries."~/.ssh/**": `"off"` is looser than `"deny"` of defaults.toml',
        id="a protected path off",
    ),
    pytest.param(
        "[budgets.run]\ntokens = 10",
        "[budgets.run]\ntokens = 11",
        "budgets.run.tokens: `11` is looser than `10` of policy.toml",
        id="a larger limit of spending",
    ),
    pytest.param(
        "[budgets.project-day]\ncost-usd = 2",
        "[budgets.project-day]\ncost-usd = 2.000001",
        "budgets.project-day.cost-usd: `2.000001` is looser than `2` of policy.toml",
        id="a millionth of a dollar more",
    ),
    pytest.param(
        "",
        "[budgets]\nlease-seconds = 899",
        "budgets.lease-seconds: `899` is looser than `900` of defaults.toml",
        id="a shorter lease",
    ),
    pytest.param(
        "",
        "[budgets]\nunpriced = 'off'",
        'budgets.unpriced: `"off"` is looser than `"ask"` of defaults.toml',
        id="a weaker answer to a price not known",
    ),
    pytest.param(
        "",
        "[approvals]\nexpires-seconds = 3601",
        "approvals.expires-seconds: `3601` is looser than `3600` of defaults.toml",
        id="longer questions",
    ),
    pytest.param(
        "",
        "[tool-names]\ntrusted = ['deploy']",
        'tool-names.trusted: adds `"deploy"` to the list of defaults.toml',
        id="one more tool trusted",
    ),
    pytest.param(
        "",
        "[tool-names]\nopaque = 'warn'",
        'tool-names.opaque: `"warn"` is looser than `"ask"` of defaults.toml',
        id="a weaker answer to opaque tools",
    ),
    pytest.param(
        "",
        "[parameter-names]\ndata = ['...', 'command']",
        'parameter-names.data: adds `"command"` to the list of defaults.toml',
        id="one more name for data",
    ),
    pytest.param(
        "",
        "[tools]\nidempotent = ['fetch']",
        'tools.idempotent: adds `"fetch"` to the list of defaults.toml',
        id="one more tool answered from before",
    ),
    pytest.param(
        "",
        "[evaluators]\nmax-violations = 1",
        "evaluators.max-violations: `1` is looser than `0` of defaults.toml",
        id="one more violation",
    ),
    pytest.param(
        "",
        "[evaluators]\nmax-rework-percent = 31",
        "evaluators.max-rework-percent: `31` is looser than `30` of defaults.toml",
        id="more rework",
    ),
    pytest.param(
        "[evaluators]\nforbidden-commands = ['sudo']",
        "[evaluators]\nforbidden-commands = []",
        'evaluators.forbidden-commands: leaves out `"sudo"` from the list of policy.toml',
        id="fewer forbidden commands",
    ),
    pytest.param(
        "[evaluators]\nforbidden-dependencies = ['left-*']",
        "[evaluators]\nforbidden-dependencies = []",
        'evaluators.forbidden-dependencies: leaves out `"left-*"` from the list of policy.toml',
        id="fewer forbidden dependencies",
    ),
    pytest.param(
        RULE,
        RULE.replace("'true'", "'false'"),
        "rules.a: differs from the entry of the same name of policy.toml",
        id="another rule of the same name",
    ),
]


@pytest.mark.parametrize(("user", "project"), TIGHTENED)
def test_a_project_may_tighten(user: str, project: str):
    assert loosened(merged(user).policy, merged(user, project).policy) == []


@pytest.mark.parametrize(("user", "project", "complaint"), LOOSENED)
def test_a_project_may_not_loosen(user: str, project: str, complaint: str):
    path = complaint.partition(": ")[0]

    assert complaints(user, project) == [
        f"interlock.toml: {complaint}; a project may only tighten: take it out, or list "
        f"`{path}` under `layers.project-may-loosen` in the user's file"
    ]


@pytest.mark.parametrize(("user", "project", "complaint"), LOOSENED)
def test_a_project_may_loosen_what_the_user_leaves_to_it(user: str, project: str, complaint: str):
    path = complaint.partition(": ")[0]
    permission = f"[layers]\nproject-may-loosen = ['{path}']\n"

    with_project = merged(permission + user, project)
    assert with_project.origins[path] == "project"
    assert path in loosened(merged(permission + user).policy, with_project.policy)


@pytest.mark.parametrize(("user", "project", "complaint"), LOOSENED)
def test_the_user_may_loosen_anything(user: str, project: str, complaint: str):
    path = complaint.partition(": ")[0]

    assert merged(project).origins[path] == "user"


@pytest.mark.parametrize(
    ("permission", "is_enough"),
    [
        ("destructive-ops.*", True),
        ("destructive-ops.rules.*", True),
        ('destructive-ops.rules."git.push-force"', True),
        ("destructive-ops.rules.git.push-force", True),
        ("destructive-ops.rules.'git.push-force'", True),
        ('destructive-ops.rules."filesystem.rm-root"', False),
        ("destructive-ops.packs.*", False),
        ("secrets.*", False),
    ],
)
def test_a_permission_covers_exactly_what_it_names(permission: str, is_enough: bool):
    user = toml({"layers": {"project-may-loosen": [permission]}})
    project = "[destructive-ops.rules]\n'git.push-force' = 'off'"

    if is_enough:
        assert merged(user, project).policy.destructive_ops.rules == {"git.push-force": "off"}
    else:
        assert len(complaints(user, project)) == 1


@pytest.mark.parametrize(
    "user",
    [
        pytest.param("[diff-size\n", id="a file that cannot be parsed"),
        pytest.param("[diff-size]\nthreshold = '900'", id="the same key, wrong"),
        pytest.param("[diff-size]\nthresh-old = 900", id="the same key, misspelt"),
        pytest.param("[diff-size]\nenabled = 'no'", id="the switch, wrong"),
        pytest.param("diff-size = 900", id="the table, wrong"),
        pytest.param("[layers]\nproject-may-lossen = ['diff-size.*']", id="a permission, misspelt"),
        pytest.param("[layers]\nproject-may-loosen = ['diff-size']", id="a permission, wrong"),
    ],
)
def test_nothing_is_concluded_from_what_is_wrong_below(user: str):
    [complaint] = complaints(user, "[diff-size]\nthreshold = 800")

    assert complaint.startswith("policy.toml: ")


def test_a_value_replaces_the_one_below():
    policy = merged("[diff-size]\nthreshold = 500\ndecision = 'block'").policy

    assert policy.diff_size.threshold == 500
    assert policy.diff_size.decision is Decision.BLOCK
    assert policy.diff_size.enabled is True


def test_a_list_replaces_the_one_below():
    policy = merged("[destructive-ops]\nprotected-branches = ['live']").policy

    assert policy.destructive_ops.protected_branches == ("live",)


def test_three_dots_in_a_list_stand_for_the_one_below():
    policy = merged("[destructive-ops]\nprotected-branches = ['...', 'live', 'main']").policy

    assert policy.destructive_ops.protected_branches == (
        "live",
        "main",
        "master",
        "production",
        "release",
        "trunk",
    )


def test_three_dots_stand_for_nothing_where_nothing_is_below():
    defaults = DEFAULTS.replace("deny = []", "deny = ['...', 'Bash']")

    assert merged(defaults=defaults).policy.tool_allowlist.deny == ("Bash",)


def test_named_entries_are_merged_one_by_one():
    policy = merged(
        "[destructive-ops.packs]\ngit = false",
        "[destructive-ops.packs]\nsql = true\n[destructive-ops.rules]\n'git.push-force' = 'block'",
    ).policy

    assert policy.destructive_ops.packs == {"git": False, "sql": True}
    assert policy.destructive_ops.rules == {"git.push-force": "block"}


def test_the_user_takes_a_protected_path_away():
    before = {entry.path for entry in merged().policy.protected_paths.entries}
    after = {
        entry.path for entry in merged(entry("~/.bashrc", "off")).policy.protected_paths.entries
    }

    assert before - after == {"~/.bashrc"}


def payloads_of(tool: str, user: str) -> list[Carrier]:
    return [carrier for carrier in merged(user).policy.tools.carriers if tool in carrier.tools]


def test_a_tool_carries_what_every_layer_says():
    carriers = payloads_of("patch", "[[tools.carriers]]\ntools = ['patch']\npatch = ['it']")

    assert sorted(carrier.patch[0] for carrier in carriers) == ["it", "patch"]


def test_an_empty_carrier_clears_what_is_below():
    assert payloads_of("patch", "[[tools.carriers]]\ntools = ['patch']") == []


def test_an_empty_carrier_beside_another_replaces_what_is_below():
    text = "[[tools.carriers]]\ntools = ['patch']\n"
    [carrier] = payloads_of("patch", f"{text}{text}patch = ['it']")

    assert carrier == Carrier(tools=("patch",), patch=("it",))


def test_tells_where_each_value_came_from():
    origins = merged(
        "[diff-size]\nthreshold = 200\n[secrets]\nallow = ['x']",
        "[diff-size]\nthreshold = 100\n[destructive-ops.packs]\nsql = true",
    ).origins

    assert {path: origin for path, origin in origins.items() if origin != "default"} == {
        "diff-size.threshold": "project",
        "destructive-ops.packs.sql": "project",
        "secrets.allow": "user",
    }
    assert origins["diff-size.decision"] == "default"
