"""What nobody should send gets an answer that can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from inline_snapshot import snapshot

from gates.policies import rules_of, told
from interlock import PolicyError, evaluate_command, evaluate_edit, evaluate_tool_use, load_policy
from policy.files import wrapped


def test_invalid_utf8_in_a_command():
    line = b"rm -rf /srv/\xff\xfe && echo \xc3\x28".decode("utf-8", "surrogateescape")

    assert told(evaluate_command(line)) == snapshot("""\
require-confirmation
filesystem.delete-recursive-forced: deletes a whole tree without asking back: `/srv/??`
hidden-command: a part of this command cannot be seen before it runs: it is not a complete
    shell command, and it deletes or overwrites\
""")
    assert told(evaluate_tool_use("Bash", {"command": line})) == snapshot("""\
require-confirmation
filesystem.delete-recursive-forced: deletes a whole tree without asking back: `/srv/??`
hidden-command: a part of this command cannot be seen before it runs: it is not a complete
    shell command, and it deletes or overwrites\
""")


def test_invalid_utf8_in_parameters():
    text = b'{"command": "rm -rf /srv/\xff"}'.decode("utf-8", "surrogateescape")

    assert told(evaluate_tool_use("Bash", text)) == snapshot("""\
require-confirmation
filesystem.delete-recursive-forced: deletes a whole tree without asking back: `/srv/?`\
""")


def test_invalid_utf8_in_an_edit():
    path = b"/etc/\xff".decode("utf-8", "surrogateescape")

    assert told(evaluate_edit(path, "\udcff" * 3)) == snapshot("""\
require-confirmation
protected-paths./etc/**: writes to the protected path `/etc/?`: the system is configured
    here\
""")


def test_nul_bytes():
    assert told(evaluate_command("rm -rf /\0")) == snapshot("""\
block
filesystem.delete-root: deletes the system, a home folder or everything in it: `/`\
""")
    assert told(evaluate_command("rm -rf /srv\0/etc")) == snapshot("""\
block
filesystem.delete-root: deletes the system, a home folder or everything in it: `/srv`
protected-paths./etc/claude-code/**: deletes the protected path `/etc`: the managed settings
    of the agent's client live here\
""")
    assert told(evaluate_command("\0")) == snapshot("allow\n")
    assert told(evaluate_tool_use("Bash", '{"command": "ls \\u0000; rm -rf /"}')) == snapshot("""\
block
filesystem.delete-root: deletes the system, a home folder or everything in it: `/`\
""")
    assert told(evaluate_edit("interlock.toml", "\0" * 8)) == snapshot("""\
block
protected-paths.**/interlock.toml: writes to the protected path `interlock.toml`: the
    project's policy decides what the agent may do\
""")


def test_unclosed_quotes():
    assert told(evaluate_command("echo 'never closed")) == snapshot("""\
warn
unresolved-command: a part of this command cannot be judged: it is not a complete shell
    command\
""")
    assert told(evaluate_command('rm -rf / "never closed')) == snapshot("""\
block
filesystem.delete-root: deletes the system, a home folder or everything in it: `/`
filesystem.delete-recursive-forced: deletes a whole tree without asking back: `never closed`
hidden-command: a part of this command cannot be seen before it runs: it is not a complete
    shell command, and it deletes or overwrites\
""")
    assert told(evaluate_command("echo $(rm -rf /")) == snapshot("""\
block
filesystem.delete-root: deletes the system, a home folder or everything in it: `/`
hidden-command: a part of this command cannot be seen before it runs: it is not a complete
    shell command, and it deletes or overwrites\
""")
    assert told(evaluate_command("cat <<EOF\nnever closed")) == snapshot("""\
warn
unresolved-command: a part of this command cannot be judged: it is not a complete shell
    command\
""")
    assert told(evaluate_command("echo `rm -rf /")) == snapshot("""\
block
filesystem.delete-root: deletes the system, a home folder or everything in it: `/`
hidden-command: a part of this command cannot be seen before it runs: it is not a complete
    shell command, and it deletes or overwrites\
""")


def test_json_that_is_cut_off():
    assert told(evaluate_tool_use("Bash", '{"command": "rm -rf /')) == snapshot("""\
block
schema.not-json: the parameters are not JSON: the text ends at line 1, column 22 (offset
    21), as if it was cut off, behind `{"command": "rm -rf /`\
""")
    assert told(evaluate_tool_use("Bash", '{"command"')) == snapshot("""\
block
schema.not-json: the parameters are not JSON: the text ends at line 1, column 11 (offset
    10), as if it was cut off, behind `{"command"`\
""")


def test_nothing_at_all():
    assert told(evaluate_command("")) == snapshot("allow\n")
    assert told(evaluate_tool_use("", "")) == snapshot("allow\n")
    assert told(evaluate_edit("", "")) == snapshot("allow\n")


def test_a_command_that_is_too_long():
    assert told(evaluate_command("echo " + "x" * 8188)) == snapshot("""\
require-confirmation
oversize-command: the command cannot be judged as a whole: it is 8193 characters long, more
    than 8192\
""")
    assert told(evaluate_command("é" * (1 << 20) + "é")) == snapshot("""\
require-confirmation
oversize-command: the command is 2097154 bytes long, more than 1048576: too long to be
    judged
secrets.oversize-content: the command is longer than 1048576 characters (1048577): only its
    start was judged\
""")


def test_content_that_is_too_large():
    large = "x" * ((1 << 20) + 1)

    assert told(evaluate_edit("a.txt", large)) == snapshot("""\
require-confirmation
secrets.oversize-content: `a.txt` is longer than 1048576 characters (1048577): only its
    start was judged\
""")
    assert rules_of(evaluate_tool_use("note", large)) == [
        "schema.not-json",
        "secrets.oversize-content",
    ]


def test_schemas_that_are_none(tmp_path: Path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        "[tools.schemas]\n"
        'a = { type = "words" }\n'
        "b = { required = 7 }\n"
        'c = { pattern = "(" }\n'
        'd = { properties = { a = "text" } }\n'
        'e = { "$ref" = "#/nowhere" }\n'
        "f = 7\n"
    )

    with pytest.raises(PolicyError) as caught:
        load_policy(user=policy)
    complaints = [each.replace(str(policy), "FILE") for each in caught.value.complaints]
    assert wrapped(complaints) == snapshot("""\
FILE: tools.schemas.a.type: not a JSON Schema: "words" is not valid under any of the schemas
    listed in the 'anyOf' keyword
FILE: tools.schemas.b.required: not a JSON Schema: 7 is not of type "array"
FILE: tools.schemas.c.pattern: not a JSON Schema: not a pattern; lookaround and
    back-references are not supported
FILE: tools.schemas.d.properties.a: not a JSON Schema: "text" is not of types "boolean",
    "object"
FILE: tools.schemas.e: not a JSON Schema: pointer '/nowhere' does not exist
FILE: tools.schemas.f: `7` is a whole number; expected a table\
""")
