"""Ways to the same loss or leak beside the well-known one, and what only looks like them."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free

_SHOWN = (
    *("export -p", "declare -p", "declare -px", "typeset -x", "env -0", "env -u HOME"),
    *("ps eww", "ps auxe", "ps -p 42 e", "ps axe", "ps -E", "jq -n env", "jq -n '$ENV'"),
    "awk 'BEGIN{for(k in ENVIRON) print k, ENVIRON[k]}'",
    "node -p process.env",
    "perl -e 'print \"$_=$ENV{$_}\" for keys %ENV'",
    "ruby -e 'ENV.each{|k,v| puts v}'",
    "php -r 'foreach($_ENV as $k=>$v) echo $v;'",
    "python3 -c 'import os; [print(k, v) for k, v in os.environ.items()]'",
    *("docker inspect -f '{{.Config.Env}}' api", "systemctl show-environment"),
    *("tmux show-environment -g", "gh auth status --show-token"),
)
_HIDDEN = (
    *("export -p > /tmp/e", "declare -p PATH", "declare -A t", "declare -f", "env -u HOME make"),
    *("ps aux", "ps -ef", "ps axo pid,etime", "ps -C node", "jq -n env.HOME", "jq .env a.json"),
    *("jq -n 'env|keys'", "awk 'BEGIN{print ENVIRON[\"HOME\"]}'", "node -p process.env.CI"),
    *("perl -e 'print for keys %ENV'", "docker inspect -f '{{.State.Status}}' api"),
    *("systemctl show api", "tmux show-environment -g PATH", "gh auth status"),
)
_BEHIND = ("<line>", 'bash -c "<line>"', "true && <line>", 'timeout 9 bash -c "<line>"')
_EMPTIED = (
    *("sed -i d <file>", "sed -i '1,$d' <file>", "sed -i '/.*/d' <file>", "sed -i '' d <file>"),
    *("sed -ni s/a/b/ <file>", "sed -i 's/.*//' <file>", "perl -i -ne '' <file>"),
    *("perl -pi -e '$_=\"\"' <file>", "ruby -i -ne '' <file>", "gawk -i inplace 0 <file>"),
    "find src -name '*.py' -exec sed -i d {} + # <file>",
)
_EDITED = (
    *("sed -i 1d <file>", "sed -i '/^$/d' <file>", "sed -i '$d' <file>", "sed -i '/etc/d' <file>"),
    *("sed -i.bak d <file>", "sed -ni /x/p <file>", "perl -i -ne 'print if /x/' <file>"),
    *("perl -pi -e 's/x.*//' <file>", "gawk -i inplace '{print $1}' <file>"),
)
_MOVED = (
    *("mv <place> /tmp/x && rm -rf /tmp/x", "mv <place> /tmp/t/ && rm -rf /tmp/t/*"),
    *("mv -t /tmp/t <place>; rm -rf /tmp/t", "mv <place> /tmp/x && cd /tmp && rm -rf x"),
    *(
        't=$(mktemp -d); mv <place> "$t"; rm -rf "$t"',
        "mv <place> /tmp/a; mv /tmp/a /tmp/b; rm -rf /tmp/b",
    ),
)
_REFERENCES = (
    *("git fetch origin +main:main", "git fetch -f origin main:main"),
    *("git fetch origin '+refs/heads/*:refs/heads/*'", "git pull --force . HEAD~5:master"),
    *("git update-ref refs/heads/main HEAD~20", "git replace --graft HEAD~3", "git replace a b"),
    *("git checkout-index -af", "git config alias.x '!./x'", "git config alias.x 'push -f'"),
    *("git config core.pager ./x cat", "git config core.fsmonitor ./x"),
)
_LEFT = (
    *("git fetch origin '+refs/heads/*:refs/remotes/origin/*'", "git fetch origin main:main"),
    *("git fetch --force --tags", "git update-ref refs/heads/topic HEAD", "git replace -l"),
    *("git filter-repo --analyze", "git checkout-index -a --prefix=out/"),
    *("git config alias.st 'status -sb'", "git config --global core.pager cat"),
    *("git config core.fsmonitor true", "git config --global core.editor 'code --wait'"),
)


def cases() -> Iterator[Case]:
    """Yield every case of the area."""
    yield from asked(*_SHOWN)
    yield from free(*_HIDDEN)
    plain = [line for line in (*_SHOWN[:13], *_SHOWN[-4:]) if '"' not in line and "$" not in line]
    yield from asked(*_BEHIND, line=plain)
    yield from asked(*_EMPTIED, file=("src/main.py", "app.ts", "lib/a.go"))
    yield from free(*_EDITED, file=("src/main.py", "app.ts", "lib/a.go"))
    yield from free("sed -i d <file>", file=("app.log", "/tmp/x.py", "build/a.js"))
    yield from asked(*_MOVED, place=("src", "~/Documents", ".git"))
    yield from free(*_MOVED, place=("build", "node_modules", "/tmp/y"))
    yield from asked(*_REFERENCES)
    yield from free(*_LEFT)
