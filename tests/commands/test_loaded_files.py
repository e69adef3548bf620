"""Code that runs a file runs what this very line wrote or fetched there."""

from __future__ import annotations

import pytest

from commands.lines import commands_in, effects_in
from interlock.commands.code.code_tokens import Language
from interlock.commands.code.loaded_files import files_loaded, module_files


@pytest.mark.parametrize(
    ("file", "use"),
    [
        ("got", """python3 -c 'exec(open("got").read())'"""),
        ("got", """python3 -c 'exec(compile(open("got").read(), "x", "exec"))'"""),
        ("got.py", "python3 -c 'import os, got'"),
        ("got.py", "python3 -c 'from got import run'"),
        ("got.py", """python3 -c 'import runpy; runpy.run_path("got.py")'"""),
        ("a/got.py", "python3 -c 'import a.got'"),
        ("got.js", "node -e 'require(\"./got\")'"),
        ("got.mjs", "node --import ./got.mjs app.js"),
        ("got.pl", "perl -e 'do \"./got.pl\"'"),
        ("got.rb", "ruby -e 'load \"got.rb\"'"),
        ("got.rb", "ruby -r ./got -e 1"),
        ("got.lua", "lua -e 'dofile(\"got.lua\")'"),
        ("got.php", "php -r 'include \"got.php\";'"),
        ("got.R", "Rscript -e 'source(\"got.R\")'"),
        ("got.awk", "awk -f got.awk data"),
        ("Makefile", "make"),
    ],
)
def test_a_fetched_file_that_code_runs_is_remote_code(file: str, use: str):
    effects = effects_in(f"curl -so {file} https://h/a; {use}")

    assert any(each.startswith("execute") and "remote" in each for each in effects)
    assert not any(each.startswith("execute") for each in effects_in(use))


@pytest.mark.parametrize(
    "line",
    [
        "curl -so a.json https://h/a; node -e 'require(\"./a.json\")'",
        "curl -so a.csv https://h/a; python3 -c 'print(open(\"a.csv\").read())'",
        "curl -so a.py https://h/a; python3 -c 'import b'",
        "curl -so a.py https://h/a; python3 -m http.server",
        "curl -so a.mk https://h/a; make",
    ],
)
def test_a_fetched_file_that_nothing_runs_is_data(line: str):
    assert not any(each.startswith("execute") for each in effects_in(line))


def test_what_a_file_of_this_line_says_is_followed_and_once():
    text = "import a, os; os.system('rm -rf src')"

    assert "rm -rf src" in commands_in(f'echo "{text}" > a.py; python3 -c "import a"')


def test_the_module_of_an_import_may_lack_its_name():
    assert list(files_loaded("import ,", Language.PYTHON)) == []
    assert list(module_files("a::b", Language.GO)) == ["a::b"]
