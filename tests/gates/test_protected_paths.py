"""Does an action write where an agent must not write?"""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from gates.policies import by_gate, gates_with
from interlock import Decision, evaluate_command, evaluate_edit, evaluate_tool_use
from policy.files import wrapped

_BLOCK = Decision.BLOCK
_CONFIRM = Decision.REQUIRE_CONFIRMATION
_EDITS = {
    "policy": ("interlock.toml", _BLOCK),
    "policy-in-a-folder": ("app/interlock.toml", _BLOCK),
    "policy-above": ("../interlock.toml", _BLOCK),
    "here": ("./interlock.toml", _BLOCK),
    "there-and-back": ("src/../interlock.toml", _BLOCK),
    "doubled-slashes": ("app//interlock.toml", _BLOCK),
    "capitals": ("Interlock.TOML", _BLOCK),
    "hook-settings": (".claude/settings.json", _BLOCK),
    "hook-settings-in-capitals": (".CLAUDE/Settings.json", _BLOCK),
    "windows-separators": ("app\\.claude\\settings.json", _BLOCK),
    "windows-home": ("C:\\Users\\ada\\.ssh\\id_ed25519", _BLOCK),
    "home": ("~/.ssh/authorized_keys", _BLOCK),
    "home-of-somebody": ("~ada/.ssh/authorized_keys", _BLOCK),
    "home-in-full": ("/home/ada/.ssh/authorized_keys", _BLOCK),
    "home-on-a-mac": ("/Users/ada/.ssh/config", _BLOCK),
    "home-of-root": ("/root/.ssh/config", _BLOCK),
    "home-by-variable": ("$HOME/.ssh/config", _BLOCK),
    "home-by-braced-variable": ("${HOME}/.ssh/config", _BLOCK),
    "home-and-back": ("/home/ada/src/../.ssh/config", _BLOCK),
    "shell-rc": ("~/.bashrc", _CONFIRM),
    "git-internals": (".git/hooks/pre-commit", _CONFIRM),
    "system": ("/etc/hosts", _CONFIRM),
    "system-there-and-back": ("/usr/../etc/hosts", _CONFIRM),
    "strictest-of-two": ("/etc/passwd", _BLOCK),
}
_FREE = [
    "src/app.py",
    "interlock.toml.md",
    "docs/my-interlock.toml",
    ".claude/commands/review.md",
    ".gitignore",
    "app/.git/../README.md",
    ".ssh-notes/a",
    "etc/hosts",
    "",
    ".",
]


@pytest.mark.parametrize(("path", "expected"), _EDITS.values(), ids=_EDITS)
def test_an_edit_of_a_protected_path_is_refused(path: str, expected: Decision):
    assert evaluate_edit(path, "x").decision is expected
    assert evaluate_tool_use("Write", {"file_path": path, "content": "x"}).decision is expected


@pytest.mark.parametrize("path", _FREE)
def test_other_paths_are_free(path: str):
    assert evaluate_edit(path, "x").findings == ()


_COMMANDS = {
    "redirect": ("echo x > interlock.toml", _BLOCK),
    "append": ("echo x >> ~/.bashrc", _CONFIRM),
    "copy": ("cp other.toml interlock.toml", _BLOCK),
    "move-onto": ("mv other.toml interlock.toml", _BLOCK),
    "move-away": ("mv interlock.toml other.toml", _BLOCK),
    "delete": ("rm .claude/settings.json", _BLOCK),
    "tee": ("echo x | tee .claude/settings.json", _BLOCK),
    "in-place": ("sed -i s/block/warn/ interlock.toml", _BLOCK),
    "permissions": ("chmod 644 ~/.ssh/id_ed25519", _BLOCK),
    "from-its-folder": ("cd .claude && rm settings.json", _BLOCK),
    "from-home": ("cd ~ && echo x >> .ssh/authorized_keys", _BLOCK),
    "in-capitals": ("rm INTERLOCK.toml", _BLOCK),
    "nested": ("bash -c 'rm interlock.toml'", _BLOCK),
    "strictest-of-two": ("echo x >> /etc/sudoers", _BLOCK),
    "less-strict-of-two": ("echo x >> /etc/motd", _CONFIRM),
    "folder-deleted": ("rm -rf .claude", _BLOCK),
    "folder-moved": ("mv .interlock gone", _BLOCK),
    "outer-folder-deleted": ("rm -r ~/.config", _BLOCK),
    "history": ("rm -rf .git", _CONFIRM),
}


@pytest.mark.parametrize(("line", "expected"), _COMMANDS.values(), ids=_COMMANDS)
def test_a_command_that_writes_to_a_protected_path_is_refused(line: str, expected: Decision):
    for verdict in (evaluate_command(line), evaluate_tool_use("Bash", {"command": line})):
        (finding,) = by_gate(verdict, "protected-paths")

        assert finding.decision is expected


@pytest.mark.parametrize(
    "line",
    [
        "cat interlock.toml",
        "cp ~/.ssh/config.example notes.txt",
        "grep -r hooks .claude",
        "rm -rf build",
        "rmdir .claude",
        "chmod -R u+w .claude",
        "echo '> interlock.toml'",
    ],
)
def test_reading_and_mentioning_are_free(line: str):
    assert by_gate(evaluate_command(line), "protected-paths") == []


def test_the_working_folder_counts():
    line = "rm settings.json"

    assert by_gate(evaluate_command(line, cwd="/srv/app/.claude"), "protected-paths")
    assert not by_gate(evaluate_command(line, cwd="/srv/app"), "protected-paths")


def test_a_path_is_named_once_however_often_it_is_written():
    verdict = evaluate_command("echo a > interlock.toml; echo b > interlock.toml; rm -f a b")

    assert len(by_gate(verdict, "protected-paths")) == 1


def test_a_refusal_names_the_path_the_reason_and_what_to_do():
    (finding,) = evaluate_edit("./interlock.toml", "x").findings

    assert finding.rule == "protected-paths.**/interlock.toml"
    assert wrapped([finding.message]) == snapshot("""\
writes to the protected path `./interlock.toml`: the project's policy decides what the agent
    may do\
""")
    assert finding.remediation == snapshot(
        "leave this path alone; a person who owns it can change it"
    )
    assert finding.excerpt == "./interlock.toml"


@pytest.mark.parametrize(
    ("line", "verb"),
    [
        pytest.param("rm interlock.toml", "deletes", id="delete"),
        pytest.param("echo > interlock.toml", "writes to", id="overwrite"),
        pytest.param("echo >> interlock.toml", "writes to", id="append"),
        pytest.param("mv interlock.toml a", "moves", id="move"),
        pytest.param("chmod 666 interlock.toml", "changes the permissions of", id="permit"),
    ],
)
def test_a_refusal_says_what_a_command_does_to_the_path(line: str, verb: str):
    (finding,) = by_gate(evaluate_command(line), "protected-paths")

    assert finding.message.startswith(f"{verb} the protected path `interlock.toml`: ")


_OWN = """
[protected-paths]
entries = [
    { path = "migrations/**", decision = "warn", reason = "others run them" },
    { path = "migrations/*.lock", decision = "block", reason = "a tool writes it" },
    { path = "/srv/*/data.db", decision = "require-confirmation" },
    { path = "~/.ssh/**", decision = "off" },
]
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("migrations/1.sql", Decision.WARN, id="one-entry"),
        pytest.param("app/migrations/deep/1.sql", Decision.WARN, id="anywhere"),
        pytest.param("migrations/a.lock", _BLOCK, id="strictest-of-two"),
        pytest.param("/srv/shop/data.db", _CONFIRM, id="anchored"),
        pytest.param("/backup/srv/shop/data.db", Decision.ALLOW, id="anchored-elsewhere"),
        pytest.param("~/.ssh/config", Decision.ALLOW, id="switched-off"),
        pytest.param("interlock.toml", _BLOCK, id="defaults-stay"),
    ],
)
def test_the_policy_names_paths_of_its_own(path: str, expected: Decision):
    assert evaluate_edit(path, "x", policy=gates_with(_OWN)).decision is expected


def test_a_folder_that_holds_protected_paths_goes_with_the_strictest():
    gates = gates_with(
        "[protected-paths]\n"
        "entries = [\n"
        '    { path = ".vault/a/*", decision = "warn" },\n'
        '    { path = ".vault/b/key", decision = "block" },\n'
        "]\n"
    )
    found = {
        folder: by_gate(evaluate_command(f"rm -r {folder}", policy=gates), "protected-paths")
        for folder in (".vault", ".vault/a", ".vault/b", ".vault/c")
    }

    assert {folder: [each.decision for each in said] for folder, said in found.items()} == {
        ".vault": [_BLOCK],
        ".vault/a": [Decision.WARN],
        ".vault/b": [_BLOCK],
        ".vault/c": [],
    }


def test_the_gate_can_be_switched_off():
    gates = gates_with("[protected-paths]\nenabled = false\n")

    assert evaluate_edit("interlock.toml", "x", policy=gates).findings == ()
    assert evaluate_command("rm interlock.toml", policy=gates).findings == ()
    assert by_gate(evaluate_command("rm -rf .claude", policy=gates), "protected-paths") == []
