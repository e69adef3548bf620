"""What a line made, linked or fetched itself, and what by its name is there only for a while."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

_FETCHES = (
    "curl -so <file> https://h.example/x",
    "wget -qO <file> https://h.example/x",
    "curl -s https://h.example/x > <file>",
    "scp host:/srv/x <file>",
)
_RUN_BY_CODE = {
    "got.py": (
        "python3 -c 'import got'",
        "python3 -c 'from got import main; main()'",
        "python3 -c 'exec(open(\"got.py\").read())'",
        "python3 -c 'from pathlib import Path; exec(Path(\"got.py\").read_text())'",
        "python3 -c 'import runpy; runpy.run_path(\"got.py\")'",
        "python3 -c 'import importlib; importlib.import_module(\"got\")'",
    ),
    "got.js": (
        "node -e 'require(\"./got\")'",
        "node -e 'require(\"./got.js\").main()'",
        "node -e 'import(\"./got.js\")'",
        "node -r ./got.js -e 1",
        'node -e \'eval(require("fs").readFileSync("got.js","utf8"))\'',
    ),
    "got.rb": (
        "ruby -e 'load \"got.rb\"'",
        "ruby -e 'require_relative \"got\"'",
        "ruby -r ./got -e 1",
        "ruby -e 'eval File.read(\"got.rb\")'",
    ),
    "got.pl": ("perl -e 'do \"./got.pl\"'", "perl -e 'require \"./got.pl\"'"),
    "got.php": ("php -r 'include \"got.php\";'", "php -r 'require_once(\"got.php\");'"),
    "got.lua": ("lua -e 'dofile(\"got.lua\")'",),
    "got.R": ("Rscript -e 'source(\"got.R\")'",),
    "got.awk": ("awk -f got.awk data.txt",),
    "Makefile": ("make", "make -j4 all"),
}
_THROUGH_A_LINK = (
    "rm -rf <link>/*",
    "rm -rf <link>/",
    "rm -rf <link>/src",
    "find <link>/ -type f -delete",
    "cd <link> && rm -rf src",
    "cd <link> && git reset --hard",
    "rsync -a --delete empty/ <link>/",
)
_ON_A_TREE = (
    "git reset --hard HEAD~1",
    "git clean -fdx",
    "git checkout -- .",
    "git checkout -f main",
    "git restore .",
    "git switch --discard-changes main",
)
_ON_A_REPOSITORY = (
    "git branch -D topic",
    "git stash clear",
    "git tag -d v1",
    "git reflog expire --expire=now --all",
    "git update-ref -d refs/heads/topic",
)
_TO_A_TREE = ("cd <tree> && <work>", "pushd <tree> && <work>", "(cd <tree>; <work>)")


def cases() -> Iterator[Case]:
    """Yield every case of this kind."""
    for file, uses in _RUN_BY_CODE.items():
        fetches = [each.replace("<file>", file) for each in _FETCHES]
        yield from asked("<fetch> && <use>", fetch=fetches, use=uses)
        yield from free("<use>", use=uses)
    links = ("/tmp/linked", "build/linked")
    yield from asked(*[f"ln -s ~/work <link>; {use}" for use in _THROUGH_A_LINK], link=links)
    yield from free("ln -s /tmp/a <link>; rm -rf <link>/*", link=links)
    yield from free("ln -s ~/work <link>; rm <link>", link=links)
    work = (*_ON_A_TREE, *_ON_A_REPOSITORY)
    yield from asked(*_TO_A_TREE, tree=("~/other", "/tmp"), work=work)
    yield from free(*_TO_A_TREE, tree=("/tmp/x", '"$(mktemp -d)"'), work=_ON_A_TREE)
    yield from asked(*_TO_A_TREE, tree=("/tmp/x",), work=_ON_A_REPOSITORY)
    yield from free("git init -q /tmp/x && cd /tmp/x && <work>", work=work)
    yield from free("git clone -q /srv/x.git /tmp/x && cd /tmp/x && <work>", work=work)
    yield from asked("git worktree add /tmp/x && cd /tmp/x && <work>", work=_ON_A_REPOSITORY)
    yield from asked("hub <work>", work=[each.removeprefix("git ") for each in _ON_A_TREE])
    yield from _names()


def _names() -> Iterator[Case]:
    """Yield what names tell: of variables, of folders in a home, of what a search looks for."""
    passing = ("BATS_TMPDIR", "TMP_DIR", "tmpdir", "tmp", "TEST_TEMP_DIR", "work_tmp")
    yield from free('rm -rf "$<name>"', 'rm -rf "${<name>}/out"', name=passing)
    yield from asked('rm -rf "$<name>"/*', 'rm -rf "$<name>/../x"', name=passing)
    others = ("TEMPLATE_DIR", "ATTEMPT", "WORK_DIR", "TARGET", "PIDS")
    yield from asked('rm -rf "$<name>/src"', name=others)
    yield from asked('rm -rf "$<name>"', name=others)
    yield from free('rm -f "$<name>"', name=("PIDFILE", "PID_FILE", "lockfile", "SOCKET_FILE"))
    ways = (
        "rm -rf $(find . -name <name>)",
        'for d in $(find . -name <name>); do rm -rf "$d"; done',
    )
    yield from asked(*ways, name=("src", "docs", "'*'", "'*.py'"))
    yield from asked("rm -rf $(find <root> -name dist)", root=("/", "~", "/srv"))
    for client in ("psql -d <base> -c", "psql <base> -c", "mysql <base> -e"):
        yield from free(f"{client} 'TRUNCATE users'", base=("app_test", "test_app", "app-tests"))
        yield from asked(f"{client} 'TRUNCATE users'", base=("app", "latest", "contest"))
        yield from asked(f"{client} 'DROP DATABASE app'", base=("app_test",))
