"""What a name in a snippet may hold: every value that something gives it, or nothing known."""

from __future__ import annotations

import pytest

from interlock.commands.code.call_effects import effects_in
from interlock.commands.code.code_reader import calls_in
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.code_values import CodeArgument
from interlock.commands.code.known_calls import CallKind

PYTHON, JS, RUBY, PERL = Language.PYTHON, Language.JAVASCRIPT, Language.RUBY, Language.PERL
PHP, LUA, GO, R = Language.PHP, Language.LUA, Language.GO, Language.R


def shown(argument: CodeArgument) -> str:
    """`?` is not known, and `x…` begins so; members have a blank between them."""
    if argument.items:
        return " ".join("?" if item is None else item for item in argument.items)
    return argument.text if argument.literal else f"{argument.prefix}…" if argument.prefix else "?"


def held(code: str, language: Language) -> str:
    """Return what `tell` is called with, in every way in which the snippet may run."""
    used = [call.arguments for call in calls_in(code, language) if call.callee == "tell"]
    return ", ".join(dict.fromkeys("+".join(map(shown, each)) for each in used))


STRAIGHT = [
    (PYTHON, "c = 'a'; tell(c); c = 'b'; tell(c)", "a, b"),
    (PYTHON, "c = ['a']; c.append('b'); tell(c)", "a b"),
    (PYTHON, "c = []; c.append('a'); c.append('b'); tell(c)", "a b"),
    (PYTHON, "c = ['a']; c += ['b']; tell(c)", "a b"),
    (PYTHON, "c = []; c += ['b']; tell(c)", "b"),
    (PYTHON, "c = ['a']; c.extend(['b', x]); tell(c)", "a b ?"),
    (PYTHON, "c = ['a']; c.extend(); tell(c)", "a"),
    (PYTHON, "c = ['b']; c.insert(0, 'a'); tell(c)", "a b"),
    (PYTHON, "c = ['b']; c.insert(i, 'a'); tell(c)", "?"),
    (PYTHON, "c = ['b']; c.pop(); tell(c)", "?"),
    (PYTHON, "c = ['b']; c.clear(); c.append('a'); tell(c)", "a"),
    (PYTHON, "c = ['a', 'b']; c[0] = 'x'; tell(c)", "x b"),
    (PYTHON, "c = ['a', 'b']; c[7] = 'x'; tell(c)", "?"),
    (PYTHON, "c = ['a', 'b']; c[i] = 'x'; tell(c)", "?"),
    (PYTHON, "c[0] = 'x'; tell(c)", "?"),
    (PYTHON, "f()['a'] = 'x'; f()[i] = 'x'; tell(a)", "?"),
    (PYTHON, "d = c = ['a']; d.append('b'); tell(c)", "a b"),
    (PYTHON, "c = ['a']\nd = c\nd.append('b')\ntell(c)", "a b"),
    (PYTHON, "c = 'a'; c.replace('a', 'b'); tell(c)", "a"),
    (PYTHON, "d['a'] = 'x'; tell(d['a'])", "x"),
    (PYTHON, "d = {}; d.update({'b': 1}, a='x'); tell(d['a'])", "x"),
    (PYTHON, "c = 'a'; globals()['c'] = 'b'; tell(c)", "b"),
    (PYTHON, "c = 'a'; globals().update(c='b'); tell(c)", "b"),
    (PYTHON, "c, d = 'a', 'b'; tell(c, d)", "a+b"),
    (PYTHON, "c, d = ['a', 'b']; tell(c, d)", "a+b"),
    (PYTHON, "(c, d) = x; tell(c, d)", "?+?"),
    (PYTHON, "[c, d] = 'a', 'b'; tell(c, d)", "a+b"),
    (PYTHON, "c, d = 'a'; tell(c, d)", "a+?"),
    (PYTHON, "from m import a, b\ntell('x')", "x"),
    (PYTHON, "c = ['a', *['b', 'c'], *x]; tell(c)", "a b c ?"),
    (PYTHON, "c = ['a', 'b']; tell(*c)", "a+b"),
    (PYTHON, "c = ['a', 'b']; tell(c[1])", "b"),
    (PYTHON, "c = ['a', 'b']; tell(c[-1])", "a, b"),
    (PYTHON, "c = 'a|b'.split('|'); tell(c)", "a b"),
    (PYTHON, "c = [[['a'], 'b'], 'c']; tell(c[0])", "? b"),
    (PYTHON, "f(c='a'; tell(c)", "?"),
    (PYTHON, "c = 'a b'.split(); tell(c[1])", "b"),
    (PYTHON, "x = 'a'\n(c := 'b')\ntell(c)", "b"),
    (JS, "const c=['a']; c.push('b', 'c'); tell(c)", "a b c"),
    (JS, "const c=['a']; c.unshift('b'); tell(c)", "b a"),
    (JS, "let a='x'; [a] = ['b']; tell(a)", "b"),
    (JS, "let a='x', b='y'; tell(a, b)", "x+y"),
    (JS, "tell(c = 'a'); tell(c)", "a"),
    (JS, "const o = {}; o.a = 'x'; o['a'] = 'y'; tell(o.a)", "y"),
    (JS, "const c = ['a', ...['b']]; tell(c)", "a b"),
    (RUBY, "c = 'a'; c << 'b'; tell(c)", "ab"),
    (RUBY, "c = ['a']; c << 'b' << 'c'; tell(*c)", "a+b+c"),
    (RUBY, "c = 'a'; c.concat('b'); tell(c)", "ab"),
    (RUBY, "c = 'a'; c.prepend('b'); tell(c)", "ba"),
    (RUBY, "c = 'a'; c.replace('b'); tell(c)", "b"),
    (RUBY, "c = ['a']; c.concat(['b']); tell(c)", "a b"),
    (PERL, "my @c = ('a'); push @c, 'b', 'c'; tell(@c);", "a b c"),
    (PHP, "$c = ['a']; $c[] = 'b'; tell($c);", "a b"),
    (PHP, "$c = ['a']; array_push($c, 'b'); tell($c);", "a b"),
    (PHP, "[$a, $b] = ['x', 'y']; tell($b);", "y"),
    (GO, 'c := append(d, "b"); tell(c)', "? b"),
    (R, "x <- c('a', 'b'); tell(x)", "a b"),
]


@pytest.mark.parametrize(("language", "code", "expected"), STRAIGHT)
def test_computes_what_straight_code_makes_of_a_name(
    language: Language, code: str, expected: str
) -> None:
    assert held(code, language) == expected


SEVERAL = [
    (PYTHON, "for c in ['a', 'b', x]: tell(c)", "a, b, ?"),
    (PYTHON, "for c in 'a', 'b': tell(c)", "a, b"),
    (PYTHON, "for c in ('a', 'b'): tell(c)", "a, b"),
    (PYTHON, "for c in []: tell(c)", "?"),
    (PYTHON, "for c in [['a'], ['b', 'c']]: tell(c)", "a, b c"),
    (PYTHON, "for c, d in [('a', 'b'), ('x', 'y')]: tell(c, d)", "a+b, x+y"),
    (PYTHON, "for i, c in enumerate(['a', 'b']): tell(c)", "a, b"),
    (PYTHON, "for i, c in enumerate(x): tell(c)", "?"),
    (PYTHON, "for c in ['a', 'b']:\n  for d in ['x', 'y']: tell(c + d)", "ax, by, ay, bx"),
    (PYTHON, "for c in ['a', 'b']:\n  d = c + 'x'\n  tell(d)", "ax, bx"),
    (PYTHON, "[tell(c) for c in ['a', 'b']]", "a, b"),
    (PYTHON, "[tell(c, d) for c, d in [('a', 'b'), ('x', 'y')]]", "a+b, x+y"),
    (PYTHON, "for c in [d for d in ['a', 'b']]: tell(c)", "a, b"),
    (PYTHON, "c = 'a'\nif x: c = 'b'\ntell(c)", "b, a"),
    (PYTHON, "c = 'a'\nif x:\n  c = 'b'\ntell(c)\nc = 'z'", "b, a"),
    (PYTHON, "c = 'a'\nif x: c = y + 1\ntell(c)", "?, a"),
    (PYTHON, "c = 'a' if x else 'b'; tell(c)", "a, b"),
    (PYTHON, "tell(x or 'b')", "?, b"),
    (PYTHON, "c = ['a']\nif x: c.append('b')\ntell(c)", "a b, a, a b b"),
    (PYTHON, "if (c := 'a'): tell(c)", "a"),
    (PYTHON, "c = 'a'\nmatch 'b':\n  case c: tell(c)", "b, a"),
    (PYTHON, "def f(): tell(c)\nc = 'a'\nf()\nc = 'b'", "a, b"),
    (PYTHON, "c = 'x'\ndef f(c): tell(c)\nf('a')", "?, x, a"),
    (PYTHON, "def f(c: str = 'x', *, d: int): tell(c)\nf('a', d='y')", "?, x, a"),
    (PYTHON, "def f(c): tell(c)\nf('a', c='y')", "?, a, y"),
    (PYTHON, "class A:\n  def f(self, c): tell(c)\nA().f('a')", "?, a"),
    (PYTHON, "f = lambda c, d='x': tell(c + d)\nf('a')", "?, ax, a…"),
    (PYTHON, "def f(c): tell(c)\nf('a', 'b')", "?, a"),
    (PYTHON, "(lambda c: tell(c))('a')", "?+a, ?, a+a, a"),
    (PYTHON, "f(lambda\ntell('a')", "a"),
    (PYTHON, "def f(c): tell(c)\nlist(map(f, ['a', 'b']))", "?, a, b"),
    (PYTHON, "def f(c): tell(c)\nmap(f, [])", "?"),
    (JS, "for (const c of ['a', 'b']) tell(c)", "a, b"),
    (JS, "for (const [c, d] of [['a', 'b'], ['x', 'y']]) tell(c, d)", "a+b, x+y"),
    (JS, "let c='a'; if (x) { c='b' } tell(c)", "b, a"),
    (JS, "let c='a'; if (x) c='b'; tell(c); c='z'", "b, a"),
    (JS, "c = x ? 'a' : 'b'; tell(c)", "a, b"),
    (JS, "let c; c ||= 'a'; tell(c)", "a"),
    (JS, "const l=['a','b']; for (let i=0; i<2; i++) tell(l[i])", "a, b"),
    (JS, "function f(c) { tell(c) } f('a')", "?, a"),
    (JS, "const f = (c='x') => tell(c); f('a')", "?, ?+a, x, x+a, a, a+a"),
    (JS, "['a','b'].forEach(function(c) { tell(c) })", "a, b"),
    (JS, "[].forEach(c => tell(c))", "?"),
    (JS, "import('m').then(c => tell(c))", "?"),
    (RUBY, "['a', 'b'].each { |c| tell(c) }", "a, b"),
    (RUBY, "[].each { |c| tell(c) }", "?"),
    (RUBY, "c = 'a'; c = 'b' if x; tell(c)", "b, a"),
    (PERL, "for my $c ('a', 'b') { tell($c) }", "a, b"),
    (PERL, "tell($_) for ('a', 'b');", "a, b"),
    (PHP, "foreach (['a', 'b'] as $c) tell($c);", "a, b"),
    (PHP, "foreach ([] as $c) tell($c);", "?"),
]


@pytest.mark.parametrize(("language", "code", "expected"), SEVERAL)
def test_takes_everything_that_a_name_may_hold(
    language: Language, code: str, expected: str
) -> None:
    assert held(code, language) == expected


def test_goes_through_a_long_list_to_its_end() -> None:
    names = ", ".join(f"'f{index}'" for index in range(100))
    deleted = [each.target for each in effects_in(f"for f in [{names}]: os.remove(f)", PYTHON)]

    assert deleted == [f"f{index}" for index in range(100)]


def test_does_not_combine_what_many_names_may_hold() -> None:
    loops = "".join(f"{' ' * index}for c{index} in ['a', 'b']:\n" for index in range(8))
    named = "+".join(f"c{index}" for index in range(8))

    assert held(f"{loops}{' ' * 8}tell({named})", PYTHON) == "aaaaaaaa, bbbbbbbb"


def test_what_a_name_may_hold_has_an_end() -> None:
    code = "c = 'a'\nwhile x:\n" + "".join(f"  c = 'b{index}'\n" for index in range(400))

    assert len(held(f"{code}tell(c)", PYTHON).split(", ")) <= 257


@pytest.mark.parametrize("count", [150, 300])
def test_what_runs_more_than_can_be_looked_at_is_said(count: int) -> None:
    listed = ", ".join(f"'echo {index} # {'long' * 4}'" for index in range(count))
    code = f"for c in [{listed}]: os.system(c)"

    assert [each.kind for each in effects_in(code, PYTHON)].count(CallKind.UNSEEN) == 1
    assert effects_in(code.replace("os.system", "print"), PYTHON) == []


@pytest.mark.parametrize(
    "code",
    [
        "platform.os.system('ls')",
        "get_ipython().system('ls')",
        "os.__getattribute__('system')('ls')",
        "import os as o; o.__getattribute__('system')('ls')",
        "fs = [os.system]; fs[0]('ls')",
    ],
)
def test_finds_a_function_in_another_place(code: str) -> None:
    assert [each.target for each in effects_in(code, PYTHON)] == ["ls"]


def test_a_module_that_is_promised_is_that_module() -> None:
    code = "import('child_process').then(m => m.execSync('ls'))"

    assert [each.target for each in effects_in(code, JS)] == ["ls"]


def test_a_list_grows_up_to_an_end() -> None:
    code = "c = ['a', 'b']\n" + "c = c + c\n" * 9 + "c.append('x')\ntell(c)"

    assert held(code, PYTHON) == " ".join(["a b"] * 128)
