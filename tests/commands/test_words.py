"""Words without their quotes: backslashes, `$'...'`, braces, values, patterns, arithmetic."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.commands.shell.pieces import fields_of
from interlock.commands.shell.provenance import UNSEEN, Stream
from interlock.commands.shell.scope import Function, Scope, Shell
from interlock.commands.shell.word_reader import PLAIN, WordReader
from interlock.commands.shell.words import Word, decode_ansi_c
from interlock.commands.values.allowance import Budget, TooComplex

_SHELLISH = st.text(st.sampled_from("\\'\"$`{},.01xuUcab \n\t\ud800é[]()#%/:-"), max_size=40)


def _nothing(_inside: Function | str, _scope: Scope) -> Stream:
    return UNSEEN


def _shown(raw: str, **variables: str | list[str]) -> list[str]:
    """Return the words of a text; `?` marks what only the run decides."""
    return [word.text if word.known else f"?{word.text}" for word in _words(raw, variables)]


def _words(raw: str, variables: dict[str, str | list[str]]) -> list[Word]:
    scope = Scope.begun(None)
    for name, value in variables.items():
        if isinstance(value, list):
            scope.lists[name] = [Word(item) for item in value]
        else:
            scope.assign(name, Word(value))
    budget = Budget()
    shell = Shell(scope, _nothing, budget, {})
    readers = WordReader(raw, shell).brace_expanded()
    return [
        word
        for reader in readers
        for word in fields_of(reader.pieces(PLAIN), scope.value("IFS"), budget)
    ]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("rm", ["rm"]),
        (r"r\m", ["rm"]),
        (r"a\ b", ["a b"]),
        ("r\\\nm", ["rm"]),
        ("\\\\", ["\\"]),
        ("end\\", ["end"]),
        ("'a b'c", ["a bc"]),
        ("'never closed", ["never closed"]),
        ("''", [""]),
        ('""', [""]),
        ("\"a\"'b'c", ["abc"]),
        ('$"a b"', ["a b"]),
        ("$'a\\'b'", ["a'b"]),
        ("$'rm\\0x'", ["rm"]),
        ("$'\\xff'", ["?\xff"]),
        ("$'never", ["never"]),
        ("a$", ["a$"]),
        ('"$"', ["$"]),
        ("<(x", ["<(x"]),
        ("`never", ["?$(…)"]),
        ("$(never", ["?$(…)"]),
        ("$(a 'b)' \"$(c)\" (d))e", ["?$(…)e"]),
        ("${never", ["?$never"]),
        ("${}", ["?${…}"]),
        ("${x y}", ["?$x"]),
    ],
)
def test_quotes_come_off(raw: str, words: list[str]):
    assert _shown(raw) == words


@pytest.mark.parametrize(
    ("inside", "plain"),
    [
        ("plain", "plain"),
        (r"\$HOME", "$HOME"),
        (r"\"\`\\", '"`\\'),
        (r"\n stays", r"\n stays"),
        ("a\\\nb", "ab"),
    ],
)
def test_double_quotes_keep_the_backslashes_that_escape_nothing(inside: str, plain: str):
    assert _shown(f'"{inside}"') == [plain]


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("plain", "plain"),
        (r"\x72m", "rm"),
        (r"\x7", "\x07"),
        (r"\162m", "rm"),
        (r"\u0072m", "rm"),
        (r"\U00000072m", "rm"),
        (r"\Uffffffff", "\N{REPLACEMENT CHARACTER}"),
        (r"a\tb\n", "a\tb\n"),
        (r"\e[0m\E", "\x1b[0m\x1b"),
        (r"\'\"\?\\", "'\"?\\"),
        (r"\cA\c?", "\x01\x7f"),
        ("\\c", "\\c"),
        (r"\q", r"\q"),
        (r"\xg", r"\xg"),
        ("end\\", "end\\"),
    ],
)
def test_ansi_c_quotes_are_decoded(raw: str, plain: str):
    assert decode_ansi_c(raw) == plain


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("a", ["a"]),
        ("{a,b}", ["a", "b"]),
        ("x{a,}y", ["xay", "xy"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"]),
        ("{a,b{c}", ["{a,b{c}"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{1..10..4}", ["1", "5", "9"]),
        ("{08..10}", ["08", "09", "10"]),
        ("{-1..1}", ["-1", "0", "1"]),
        ("{a..c}", ["a", "b", "c"]),
        ("{a..3}", ["{a..3}"]),
        ("{a..c..x}", ["{a..c..x}"]),
        ("{1..2..3..4}", ["{1..2..3..4}"]),
        ("{'1'..3}", ["{1..3}"]),
        ("{a}", ["{a}"]),
        ("{}", ["{}"]),
        ("}{a,b}", ["}a", "}b"]),
        ("{x}{a,b}", ["{x}a", "{x}b"]),
        ("'{a,b}'\"{c,d}\"\\{e,f}", ["{a,b}{c,d}{e,f}"]),
        ("$'{a,b}'{c,d}", ["{a,b}c", "{a,b}d"]),
        ("$(a,b){c,d}`e,f`", ["?$(…)c$(…)", "?$(…)d$(…)"]),
        ("${x:-{a,b}}{c,d}", ["?{a,b}c", "?{a,b}d"]),
    ],
)
def test_braces_make_words(raw: str, words: list[str]):
    assert [word.removeprefix("?") for word in _shown(raw)] == [
        word.removeprefix("?") for word in words
    ]


@pytest.mark.parametrize(
    "raw",
    ["{a,b}" * 200, "{1..999999999999}", "{0..99999}", "{a,b,c,d,e,f,g,h}" * 6],
    ids=["many groups", "huge numbers", "long range", "eight at a time"],
)
def test_braces_without_end_are_too_complex(raw: str):
    with pytest.raises(TooComplex):
        _shown(raw)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("$x1 ${x}1", ["?$x1 ab1"]),
        ("$x{1,2}", ["?$x1", "?$x2"]),
        ("${x:1}${x:0:1}${x: -1}", ["baB".lower()]),
        ('"${x:5}${x: -5}"', [""]),
        ("${x:0:-1}", ["a"]),
        ("${x:1:-5}", ["?${x…}"]),
        ("${x:$y}", ["?${x…}"]),
        ("${x:1?1:0}", ["?${x…}"]),
        ("${p%/*}:${p##*/}:${p%%/*}:${p#*/}", ["src/a:b.c:src:a/b.c"]),
        ("${p%.[ch]}:${p%.[!a-h]}:${p#[s]rc}", ["src/a/b:src/a/b.c:/a/b.c"]),
        ("${p%.[c-h]}:${p%'*'}:${p#???}", ["src/a/b:src/a/b.c:/a/b.c"]),
        ("${p%[[:alpha:]]}", ["?${p…}"]),
        ("${p%@(a|b)}", ["?${p…}"]),
        ("${p%[}", ["?${p…}"]),
        ("${p%$y}", ["?${p…}"]),
        ("${w#$w}", ["?${w…}"]),
        (
            "${p/a/b}:${p//[abc]/_}:${p/#src/lib}:${p/%.c/.o}",
            ["src/b/b.c:sr_/_/_._:lib/a/b.c:src/a/b.o"],
        ),
        ("${p/nothing/x}:${p/%nothing/x}:${p/#nothing/x}", ["src/a/b.c:src/a/b.c:src/a/b.c"]),
        ("${p//}:${p/}", ["src/a/b.c:src/a/b.c"]),
        ("${p/a}:${p/\\//_}", ["src//b.c:src_a/b.c"]),
        ("${p/a/&}", ["?${p…}"]),
        ("${p/a/$y}", ["?${p…}"]),
        ('"${e/#/x}${e//x/y}"', ["x"]),
        ("${x^}${x^^}${m,}${m,,}${m~~}", ["AbABmIxmixmiX"]),
        ("${m^^[a-i]}", ["MIx"]),
        ("${u^^}", ["?${u…}"]),
        ("${x^^$y}", ["?${x…}"]),
        ("${x@U}${m@L}${x@u}${x@Q}", ["ABmixAb'ab'"]),
        ("${x@Z}${q@Q}", ["?${x…}${q…}"]),
        ("${x@}", ["?${x…}"]),
        ("${b@E}", ["rm"]),
        ("${x@P}", ["?${x…}"]),
        ("${x;}", ["?${x…}"]),
        ("${#x}${#nothing}", ["?2${#…}"]),
        ("${x-d}${x:-d}${nothing-d}${e:-d}", ["ababdd"]),
        ('"${e-d}${e:+d}${x+d}${x:+d}"', ["dd"]),
        ("${nothing+d}${nothing:?d}${x?d}", ["?d$nothingab"]),
        ("${nothing:-a b}", ["a", "b"]),
        ("${nothing:-'a b'}", ["a b"]),
        ('"${nothing:-it\'s}"', ["it's"]),
        ("\"${p#'src'}\"", ["/a/b.c"]),
        ('"${nothing:-"a b"}"', ["a b"]),
        ("${nothing:=new}$nothing", ["newnew"]),
        ("${n!}", ["?$n"]),
        ("${!r}${!r:1}", ["abb"]),
        ("${!x}", ["?$ab"]),
        ("${!s}", ["?$?"]),
        ("${!x@}${!l[@]}", ["?${!x…}${!l…}"]),
        ("${!k}", ["two"]),
    ],
)
def test_a_form_is_computed_exactly_or_unknown(raw: str, words: list[str]):
    known = {
        "x": "ab", "p": "src/a/b.c", "e": "", "m": "MIx", "u": "é", "q": "it's", "b": "\\x72m",
        "w": "a\\b", "r": "x", "s": "a b", "k": "l[1]", "l": ["one", "two"],
    }  # fmt: skip

    assert _shown(raw, **known) == words


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('"${l[@]}"', ["one", "t w o"]),
        ("${l[@]}", ["one", "t", "w", "o"]),
        ('"a${l[@]}b"', ["aone", "t w ob"]),
        ('"${l[*]}"', ["one t w o"]),
        ('"$l"', ["one"]),
        ("$l", ["one", "t", "w", "o"]),
        ("${l[0]}${l[-2]}${l[1-1]}", ["oneoneone"]),
        ("${l[9]}x", ["x"]),
        ("${l[$y]}", ["?$l"]),
        ("${x[0]}${x[1]}", ["ab"]),
        ('"${x[@]}"', ["ab"]),
        ("${#l[@]}${#l[0]}", ["23"]),
        ("${#nothing[@]}", ["?${#…}"]),
        ('"${l[@]:1}"', ["t w o"]),
        ('"${l[@]: -1:1}"', ["t w o"]),
        ('"${l[@]: -9}"', []),
        ('"${l[@]:0:-1}"', ["?${l…}"]),
        ('"${l[@]:$y}"', ["?${l…}"]),
        ('"${l[@]#o}"', ["ne", "t w o"]),
        ('"${l[@]-d}"', ["one", "t w o"]),
        ('"${none[@]}"', []),
        ('"${none[*]}"', [""]),
        ('"${none[@]:-d}"', ["d"]),
        ('"${none[@]+d}"', [""]),
        ("${nothing[@]}", ["?$nothing"]),
        ('"$@" $# $3 ${9}', ["?$@ $# $3 $9"]),
    ],
)
def test_lists_keep_their_elements(raw: str, words: list[str]):
    assert _shown(raw, l=["one", "t w o"], x="ab", none=[]) == words


@pytest.mark.parametrize(
    ("ifs", "value", "words"),
    [
        (" \t\n", "  a  b\n", ["a", "b"]),
        (",", "a,b,,c,", ["a", "b", "", "c"]),
        (",", ",a", ["", "a"]),
        (", ", " a , b c", ["a", "b", "c"]),
        ("", "a b", ["a b"]),
        (",", "", []),
    ],
)
def test_a_value_is_split_at_its_separators(ifs: str, value: str, words: list[str]):
    assert _shown("$v", v=value, IFS=ifs) == words


def test_what_separates_may_be_unknown():
    scope = Scope.begun(None)
    scope.assign("IFS", Word("$X", known=False))
    scope.assign("v", Word("a b"))
    scope.assign("w", Word("ab"))
    budget = Budget()
    shell = Shell(scope, _nothing, budget, {})
    pieces = WordReader('$v$w"${l[*]}"', shell).pieces(PLAIN)

    found = fields_of(pieces, scope.value("IFS"), budget)

    assert [(word.text, word.known) for word in found] == [("a bab$l", False)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("", "0"),
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("-7 / 2, -7 % 3", "-1"),
        ("2 ** 3 ** 2", "512"),
        ("-2 ** 2", "4"),
        ("0x1f + 010 + 2#101", "44"),
        ("!0 + !5 + ~0", "0"),
        ("1 << 4 >> 2", "4"),
        ("1 < 2 && 2 <= 2 || 0", "1"),
        ("0 && (i = 9)", "0"),
        ("1 || (i = 9)", "1"),
        ("1 ? 5 : (i = 9)", "5"),
        ("0 ? 1/0 : 2", "2"),
        ("5 & 3 | 8 ^ 1", "9"),
        ("3 > 2 == 1 != 0 >= 0", "0"),
        ("i++ + ++i + i--", "13"),
        ("--i", "2"),
        ("i += 2", "5"),
        ("i <<= 2, i", "12"),
        ("l[1] = 4, l[1] + l[0]", "5"),
        ("e", "6"),
        ("$i + 1", "4"),
        ('"1" + 1', "2"),
        ("+3", "3"),
    ],
)
def test_arithmetic_is_computed(expression: str, value: str):
    assert _shown(f"$(({expression}))", i="3", e="i * 2", l=["1", "2"]) == [value]


@pytest.mark.parametrize(
    "expression",
    [
        "1 / 0", "1 % 0", "1 << 64", "2 ** 64", "2 ** -1", "9223372036854775807 + 1", "1_0", "08",
        "37#1", "1 +", "1 ? 2", "1 2", "@", "x", "x++", "++5", "l[1", "l[x]", "loop", "99x",
        "!" * 40 + "1", "(" * 40 + "1" + ")" * 40, "$x", "i = x",
    ],
)  # fmt: skip
def test_arithmetic_that_only_the_run_computes_is_unknown(expression: str):
    assert _shown(f"$(({expression}))", loop="loop", i="1", l=["1"]) == ["?$((…))"]


def test_what_an_expression_may_change_is_unknown_where_it_is_not_computed():
    assert _shown("$((i = x))$i$[1 + 1]", i="1") == ["?$((…))$i2"]


@pytest.mark.parametrize("raw", ["${a:-" * 100 + "}" * 100, "$((" * 100 + "))" * 100])
def test_what_is_nested_too_deeply_is_too_complex(raw: str):
    with pytest.raises(TooComplex):
        _shown(raw)


def test_the_tail_of_a_word_knows_as_much_as_the_word():
    word = Word("of=$X", known=False, glob=True, labels=3)

    assert word.tail(3) == Word("$X", known=False, glob=True, labels=3)


@given(_SHELLISH)
def test_no_text_breaks_the_reader(text: str):
    try:
        _shown(text, a=["x", "y"], b="c d")
    except TooComplex:
        return


@given(st.text(st.characters(exclude_characters="\\"), max_size=40))
def test_a_text_without_backslashes_has_nothing_to_decode(text: str):
    assert decode_ansi_c(text) == text


@given(st.text(st.characters(exclude_characters="\n"), min_size=1, max_size=20))
def test_a_word_escaped_by_hand_comes_back(text: str):
    assert _shown("".join(f"\\{char}" for char in text)) == [text]


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=3), min_size=1, max_size=2))
def test_braces_make_the_product_of_their_choices(groups: list[list[str]]):
    text = "".join("{" + ",".join(choices) + "}" for choices in groups)

    assert _shown(text) == ["".join(parts) for parts in itertools.product(*groups)]
