"""Places by what they are: credentials, emptied files, many files at once, temporary folders."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

_READERS = ("cat", "head -5", "less", "base64", "xxd", "strings")
_CREDENTIALS = (
    ".aws/credentials",
    ".ssh/id_ed25519",
    ".ssh/id_rsa",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".pgpass",
    ".kube/config",
    ".docker/config.json",
    ".git-credentials",
    ".my.cnf",
    ".bash_history",
    ".zsh_history",
    ".config/gh/hosts.yml",
    ".config/rclone/rclone.conf",
    "terraform.tfstate",
    "prod.tfstate.backup",
    "server.pem",
    "tls/private.key",
    ".env.production",
)
_OWNERS = ("~", "$HOME", "/root", "/srv/app", "/mnt/old/home/dev", "backup/home")
_WILD = (
    "~/.s*h/id_*",
    "~/.ss?/id_rsa",
    "~/.ssh/id_*",
    "~/.a*/cred*",
    "~/.aws/cred*",
    "/home/*/.ssh/id_rsa",
    "/home/*/.aws/credentials",
    "/etc/sh*w",
    "/etc/[s]hadow",
    "/e*c/shadow",
    "~/.config/g*/hosts.yml",
    "*/.env",
    "./.en?",
    "~/.net*",
    "~/.kube/conf*",
)
_VALUABLE = (
    "main.py",
    "src/app.ts",
    "cmd/main.go",
    "lib.rs",
    "prod.db",
    "data/app.sqlite3",
    "backup.sql",
    "Makefile",
    "package.json",
    "go.mod",
    "README.md",
    "~/work/other/main.py",
    "certs/server.pem",
)
_EMPTYING = (
    "> <file>",
    ": > <file>",
    "true > <file>",
    ">| <file>",
    "&> <file>",
    "cat /dev/null > <file>",
    "echo -n > <file>",
    "printf '' > <file>",
    'echo "" > <file>',
    "cp /dev/null <file>",
    "dd if=/dev/null of=<file>",
    "tee <file> < /dev/null",
    ": | tee <file>",
    "truncate -s 0 <file>",
)
_LEFT_OVER = (
    "app.log",
    "log/test.log",
    "out.txt",
    "/tmp/a.py",
    "/tmp/x.db",
    "build/app.js",
    "dist/main.js",
    "pkg/__init__.py",
    ".gitkeep",
    ".stamp",
)
_SOURCES = ("*.py", "src/*.ts", "*.go", "lib/*", "*", "./*", "src/**/*.ts", "docs/*.md", "*.*")
_RUBBISH = ("*.o", "*.log", "*.pyc", "*.tmp", "*.bak", "*.orig", "*.rej", "*.class", "*.swp")
_MANY = (
    "rm <pattern>",
    "rm -f <pattern>",
    "rm -v -- <pattern>",
    'for f in <pattern>; do rm "$f"; done',
    "ls <pattern> | xargs rm",
    "ls -t <pattern> | tail -n +5 | xargs rm -f",
    "sudo rm -f <pattern>",
    "bash -c 'rm -f <pattern>'",
)
_FOUND = (
    "find . -name '<pattern>' -delete",
    "find . -type f -name '<pattern>' -delete",
    "find . -name '<pattern>' -exec rm {} \\;",
    "find . -name '<pattern>' -exec rm -f {} +",
    "find . -name '<pattern>' | xargs rm",
    "find . -name '<pattern>' -print0 | xargs -0 rm -f",
    "find . -name '<pattern>' | grep -v keep | xargs rm -f",
    "find . -name '<pattern>' | sort | xargs -I{} rm {}",
    "find . -name '<pattern>' | while read -r f; do rm \"$f\"; done",
)


def cases() -> Iterator[Case]:
    """Yield each kind of place with what harms it, and the everyday work beside."""
    yield from _credentials()
    yield from _emptied()
    yield from _many_at_once()
    yield from _temporary()


def _credentials() -> Iterator[Case]:
    yield from asked("<reader> <wild>", reader=_READERS[:3], wild=_WILD)
    yield from asked("cat <owner>/<file>", owner=_OWNERS, file=_CREDENTIALS)
    yield from asked("<reader> /srv/app/<file>", reader=_READERS[1:], file=_CREDENTIALS[:6])
    yield from asked(
        "cp <file> /tmp/x",
        "grep -i key <file>",
        "python3 -c 'print(open(\"<file>\").read())'",
        "find / -name id_rsa | xargs cat",
        "find . -name .env -exec cat {} +",
        file=("/srv/app/.aws/credentials", "/data/u/.netrc", "infra/terraform.tfstate"),
    )
    yield from free(
        "<reader> <file>",
        reader=_READERS[:3],
        file=(
            ".env.example",
            "~/.ssh/config",
            "~/.ssh/*.pub",
            "src/*.py",
            "config/*.yml",
            "config/*",
            "*.json",
            "log*",
            "/etc/*release",
            "/etc/hosts",
            "docs/credentials.md",
            "src/credentials.py",
            "terraform.tf",
            "tests/fixtures/cert.pem",
            ".github/*.yml",
            "package*.json",
            "README*",
            "*.md",
        ),
    )
    yield from free(
        "ls -la ~/.ssh",
        "test -f ~/.ssh/id_rsa",
        "ssh -i ~/.ssh/id_ed25519 host uptime",
        "docker compose --env-file .env up -d",
        "find . -name '*.pem'",
        "ls ~/.aws",
        "stat ~/.kube/config",
    )


def _emptied() -> Iterator[Case]:
    yield from asked(*_EMPTYING, file=_VALUABLE)
    yield from free(*_EMPTYING[:13], file=_LEFT_OVER)
    yield from free(
        "touch <file>",
        "echo x > <file>",
        "python gen.py > <file>",
        "cat > <file> <<'EOF'\nprint(1)\nEOF",
        "for i in 1 2 3; do echo $i; done > <file>",
        "cp other <file>",
        "tee <file> <<< x",
        ">> <file>",
        file=("main.py", "package.json", "src/app.ts", "backup.sql"),
    )


def _many_at_once() -> Iterator[Case]:
    yield from asked(*_MANY, pattern=_SOURCES)
    yield from asked(*_FOUND, pattern=("*.py", "*.ts", "*.java", "*"))
    yield from asked(
        "find <where> -delete",
        "find <where> -type f -delete",
        "find <where> -type f | xargs rm -f",
        "find <where> -not -name '*.o' -delete",
        "find <where> ! -name '*.log' -exec rm {} +",
        "cd <where> && rm -f *",
        where=(".", "src", "/srv/data"),
    )
    yield from asked(
        "git ls-files | xargs rm",
        "git ls-files -z | xargs -0 rm -f",
        "git ls-files '*.py' | xargs rm",
        "ls | xargs rm",
        "ls -1 | xargs -n1 rm -f",
        "rg -l draft | xargs rm",
        "grep -rl draft . | xargs rm -f",
        "fd -e py -x rm",
        "cat list.txt | xargs rm -rf",
    )
    yield from free(*_MANY, pattern=(*_RUBBISH, "build/*", "/tmp/x/*", "dist/*.map"))
    yield from free(*_FOUND, pattern=_RUBBISH)
    yield from free(
        "find <where> -type f -delete",
        "find <where> -name '*.py' | xargs rm -f",
        "cd <where> && rm -f *",
        "cd <where> && ls | xargs rm",
        where=("/tmp/x", "build", "dist/js", "node_modules/.cache"),
    )
    yield from free(
        "find . -type d -empty -delete",
        "find . -empty -delete",
        "find . -name __pycache__ -type d -exec rm -rf {} +",
        "find . -type d -name node_modules -prune -exec rm -rf {} +",
        "find . -name .DS_Store -delete",
        "find . -name '*.py' | xargs wc -l",
        "find . -name '*.py' -exec grep -l x {} +",
        "git ls-files | xargs wc -l",
        "git ls-files '*.py' | xargs ruff check",
        "git ls-files -d | xargs git rm",
        "git rm --cached '*.py'",
        "ls *.py | head",
        "ls | wc -l",
        "rm -i *.py",
        "rm src/old.py src/older.py",
        "rm -f test_scratch*.py",
        "rm -f *.aux *.toc *.out",
        'for f in *.py; do python -m py_compile "$f"; done',
    )


def _temporary() -> Iterator[Case]:
    yield from asked(
        "rm <options> <folder>",
        options=("-rf", "-fr --", "-r -f", "--recursive --force"),
        folder=("/tmp", "/tmp/", "/var/tmp", "/tmp/*", "/dev/shm", "/tmp/../tmp"),
    )
    yield from asked(
        "find /tmp -delete", "find /var/tmp -mindepth 1 -delete", "cd /tmp && rm -rf *"
    )
    yield from free(
        "rm <options> <folder>",
        options=("-rf", "-fr --", "-r -f", "--recursive --force"),
        folder=("/tmp/x", "/var/tmp/x", "/tmp/x/*", '"$TMPDIR/x"', "/dev/shm/x"),
    )
