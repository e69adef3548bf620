"""What snippets of code are read to call, and what those calls would do."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policy.actions.shell.code import (
    Call,
    CodeArgument,
    CodeEffect,
    CodeEffectKind,
    Language,
    calls_in,
    effects_in,
    effects_of,
    looks_like_code,
)

PYTHON, JS, RUBY, PERL = Language.PYTHON, Language.JAVASCRIPT, Language.RUBY, Language.PERL
PHP, LUA, GO, R = Language.PHP, Language.LUA, Language.GO, Language.R


def shown(argument: CodeArgument) -> str:
    """`'x'` is known, `x` is as written, `/x…` begins so; lists in brackets, `k=` is a keyword."""
    if argument.items:
        text = "[" + ", ".join("?" if item is None else item for item in argument.items) + "]"
    elif argument.literal:
        text = f"'{argument.text}'"
    else:
        text = f"{argument.prefix}…" if argument.prefix else argument.text
    return f"{argument.name}={text}" if argument.name and argument.literal else text


def spelt(call: Call) -> str:
    return f"{call.callee}({', '.join(map(shown, call.arguments))})"


def told(effect: CodeEffect) -> str:
    marks = "" if effect.known else "?"
    marks += " recursive" if effect.recursive else ""
    marks += " decoded" if effect.decoded else ""
    return f"{effect.kind.value} {effect.target}{marks}"


CALLS = [
    # Python
    (PYTHON, 'import os; os.remove("/etc/passwd")', "os.remove('/etc/passwd')"),
    (PYTHON, "os . remove ('x')", "os.remove('x')"),
    (PYTHON, 'p = "/etc"; rmtree(p)', "rmtree('/etc')"),
    (PYTHON, 'p: str = "/etc"\nrmtree(p)', "rmtree('/etc')"),
    (PYTHON, 'p = "a"\np += "/b"\nf(p)', "f('a/b')"),
    (PYTHON, 'f("a" + "b" "c")', "f('abc')"),
    (PYTHON, 'f("a" + x)', "f(a…)"),
    (PYTHON, 'f(x + "a")', 'f(x + "a")'),
    (PYTHON, 'f("a-%s" % x)', "f(a-…)"),
    (PYTHON, 'f(f"/etc/{x}")', "f(/etc/…)"),
    (PYTHON, 'd = "/etc"; f(f"{d}/{{x}}")', "f('/etc/{x}')"),
    (PYTHON, 'd = "/etc"; f(f"{d!r:>9}")', "f('/etc')"),
    (PYTHON, 'f(rf"\\d{x}")', "f(\\d…)"),
    (PYTHON, r'f("\x2fetc\u002fx\t\q")', "f('/etc/x\tq')"),
    (PYTHON, r'f("\U0000002f\UFFFFFFFF")', "f('/')"),
    (PYTHON, r'f(r"\x2fetc")', r"f('\x2fetc')"),
    (PYTHON, "f('''a'b''')", "f('a'b')"),
    (PYTHON, 'f("""a\n"b"\\" """)', 'f(\'a\n"b"" \')'),
    (PYTHON, "f('')", "f('')"),
    (PYTHON, "f('open", "f('open')"),
    (PYTHON, "import shutil as s; s.rmtree(x)", "shutil.rmtree(x)"),
    (PYTHON, "import numpy, shutil as s\ns.rmtree(x)", "shutil.rmtree(x)"),
    (PYTHON, "from os import remove as rm, path\nrm('x')", "os.remove('x')"),
    (PYTHON, "from os import (remove,\n unlink as u)\nu('x')", "os.unlink('x')"),
    (PYTHON, "from pathlib import Path as P; P.cwd()", "Path.cwd()"),
    (PYTHON, "rm = os.remove; rm('x')", "os.remove('x')"),
    (PYTHON, "self.p = 'x'\nf(self.p)", "f('x')"),
    (PYTHON, 'subprocess.run(["rm", x, "/"], shell=True)', "subprocess.run([rm, ?, /], shell=True)"),
    (PYTHON, "f(['a'] + ['b'])", "f([a, b])"),
    (PYTHON, "f(path='x', *a)", "f(path='x', *a)"),
    (PYTHON, "f((1, 'b'))", "f([1, b])"),
    (PYTHON, "f(('a'))", "f('a')"),
    (PYTHON, "f(lambda x: x)", "f(lambda x: x)"),
    (PYTHON, "f(x[1:2])", "f(x[1:2])"),
    (PYTHON, "f({'a': 1, 'b': 2})", "f({'a': 1, 'b': 2})"),
    (PYTHON, "# f('x')", ""),
    (PYTHON, "'f(1)'", ""),
    (PYTHON, "def f(a, b='x'):\n    return 1", ""),
    (PYTHON, "class A(B): pass", ""),
    (PYTHON, "x = 1 \\\n + 2", ""),
    (PYTHON, "os.environ['HOME'] + '/x'; f(os.environ['HOME'] + '/x')", "f('~/x')"),
    (PYTHON, "f(x['a'])", "f(x['a'])"),
    (PYTHON, "a, b = 'x', 'y'\nf(a)", "f(a)"),
    (PYTHON, "x = unknown\nx = {}\nf(x.y)", "f(x.y)"),
    (PYTHON, "if x: y = 'a'\nf(y)", "f('a')"),
    (PYTHON, "f)]}(1)", "f('1')"),
    (PYTHON, "f(a", "f(a)"),
    (PYTHON, "f([1, 2", "f([1, 2])"),
    (PYTHON, "'a'.x", ""),
    (PYTHON, "1 // (f('/t') or 1)", "f('/t')"),
    (PYTHON, "f(-1)", "f(-1)"),
    (PYTHON, "f(x, y=g)", "f(x, y=g)"),
    (PYTHON, "obj[f](1)", "obj.[]('1')"),
    # JavaScript
    (JS, "import {rm as r} from 'fs/promises'\nawait r('/x')", "fs.promises.rm('/x')"),
    (JS, "import fs from 'node:fs'; fs.rm('x')", "fs.rm('x')"),
    (JS, 'import * as f from "fs-extra"; f.rm("x")', "fs.rm('x')"),
    (JS, "import fs, {rm} from 'fs'; rm('x')", "fs.rm('x')"),
    (JS, "import x; f('a')", "f('a')"),
    (JS, "const {a, b: c} = fs.promises; c('x')", "fs.promises.b('x')"),
    (JS, "const p: string = 'x'; f(p)", "f('x')"),
    (JS, "f(`/etc/${x}`)", "f(/etc/…)"),
    (JS, "const d = '/etc'; f(`${d}/x`)", "f('/etc/x')"),
    (JS, "f(process.env.HOME + '/x')", "f('~/x')"),
    (JS, "f('/', {recursive: true})", "f('/', {recursive: true})"),
    (JS, "a?.b?.(1); a?.c(2)", "a.c('2')"),
    (JS, "x\n  .f(1)", "x.f('1')"),
    (JS, "// f(1)\n/* f(2) **/ f(3)", "f('3')"),
    (JS, "x = /['\"]/g; f('a')", "f('a')"),
    (JS, "f(a ? 'b' : 'c')", "f(a ? 'b' : 'c')"),
    (JS, "f(x => x + 1)", "f(x => x + 1)"),
    (JS, "function f(a) { return 1 }", ""),
    (JS, "let x =\n 'a'\nf(x)", "f('a')"),
    (JS, "for (let i = 0; i < 2; i++) { f('a') }", "f('a')"),
    # Ruby
    (RUBY, 'system "rm -rf /"', "system('rm -rf /')"),
    (RUBY, "system 'a', 'b' if x", "system('a', 'b')"),
    (RUBY, "system 'a',\n 'b'", "system('a', 'b')"),
    (RUBY, "f %w[a b]", "f([a, b])"),
    (RUBY, "f ['a', 'b']", "f([a, b])"),
    (RUBY, "f x['a']", "f(x['a'])"),
    (RUBY, 'f(%q(a#{b}), %Q(c#{d}))', "f('a#{b}', c…)"),
    (RUBY, "f(:sym)", "f('sym')"),
    (RUBY, 'f("\\u{2e}nah\\e")', "f('.nah\x1b')"),
    (RUBY, r"f('a\nb')", r"f('a\nb')"),
    (RUBY, "`ls`", "`('ls')"),
    (RUBY, "%x{ls #{x}}", "`(ls …)"),
    (RUBY, "File::Stat.new('x')", "File.Stat.new('x')"),
    (RUBY, "a&.b('x')", "a.b('x')"),
    (RUBY, "f('a', force: true)", "f('a', force: true)"),
    (RUBY, "User.delete_all", "User.delete_all()"),
    (RUBY, "puts User.count", "puts(User.count), User.count()"),
    (RUBY, "=begin\nf(1)\n=end\nf(2)", "f('2')"),
    (RUBY, "def f(x)\n  x\nend", ""),
    (RUBY, "x = 'a'; x << 'b'; f(x)", "f('a')"),
    (RUBY, "if x then f('a') end", "f('a')"),
    # Perl
    (PERL, "unlink 'a', 'b';", "unlink('a', 'b')"),
    (PERL, 'my $p = "/etc"; unlink "$p/x" or die;', "unlink('/etc/x')"),
    (PERL, 'my $p = "a"; f("${p}b", $q)', "f('ab', $q)"),
    (PERL, 'f("$ENV{HOME}/x")', "f('~/x')"),
    (PERL, "f($ENV{'HOME'} . '/x')", "f('~/x')"),
    (PERL, 'f "\\x{2f}home"', "f('/home')"),
    (PERL, "s/'//g; f 'a'", "f('a')"),
    (PERL, "tr/a'/b/; m/'/; f 'a'", "f('a')"),
    (PERL, "=pod\nf(1);\n=cut\nf(2);", "f('2')"),
    (PERL, "f(q(a), qq{b$c}, qw(d e))", "f('a', b…, [d, e])"),
    (PERL, "qx{ls}", "`('ls')"),
    (PERL, "f </etc/*>", "f('/etc/*')"),
    (PERL, "$x->f('a'); File::Path::rmtree('b')", "$x.f('a'), File.Path.rmtree('b')"),
    (PERL, "f('a')->g('b')", "f('a'), f.g('a', 'b')"),
    (PERL, "exec {'/bin/sh'} 'x'", "exec('x')"),
    (PERL, "open my $fh, '>', 'x'", "open($fh, '>', 'x')"),
    # PHP
    (PHP, '<?php $p="/etc"; f($p . "/x"); ?>', "f('/etc/x')"),
    (PHP, '$d = "/a"; f("$d/x {$e}")', "f(/a/x …)"),
    (PHP, "$c->a()->b(1)", "$c.a(), $c.a.b('1')"),
    (PHP, "\\A\\B::c('x')", ".A.B.c('x')"),
    (PHP, "$p = 'a'; $p .= 'b'; f($p)", "f('ab')"),
    (PHP, "# f(1)\nf(2);", "f('2')"),
    (PHP, "function f($x) {}", ""),
    # Lua
    (LUA, 'print([[f("x")]])', "print('f(\"x\")')"),
    (LUA, "f 'a'", "f('a')"),
    (LUA, 'local p = "/e" .. "tc"; f(p)', "f('/etc')"),
    (LUA, "t:m('x') -- f(1)", "t.m('x')"),
    (LUA, "--[[ f(1)\n ]] f([=[a]=])", "f('a')"),
    # Go and R
    (GO, 'p := "a" + "b"; f(p, `\\c`)', "f('ab', '\\c')"),
    (GO, "func f(a string) {}", ""),
    (R, 'p <- "x"; base::f(p)', "base.f('x')"),
    (R, "x$f(1)", "x.f('1')"),
]


@pytest.mark.parametrize(
    ("language", "code", "expected"), CALLS, ids=[f"{row[0].value} {row[1]}" for row in CALLS]
)
def test_reads_the_calls_of_a_snippet(language: Language, code: str, expected: str) -> None:
    assert ", ".join(map(spelt, calls_in(code, language))) == expected
