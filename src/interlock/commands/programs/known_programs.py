"""Which programs only read, and which talk to other machines: tables for `nature`.

A program that no table names may do anything, so that nothing here has to be complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def _options(table: Mapping[str, str]) -> dict[str, frozenset[str]]:
    return {name: frozenset(options.split()) for name, options in table.items()}


READERS: Final = frozenset(
    """
    cat zcat bzcat xzcat tac nl head tail wc cut tr rev fold fmt column paste join comm
    grep egrep fgrep zgrep ag ack look tsort tee
    ls dir vdir exa eza stat du df pwd realpath readlink basename dirname pathchk
    diff diff3 cmp colordiff jq strings od hexdump nm size readelf objdump
    md5sum sha1sum sha224sum sha256sum sha384sum sha512sum shasum b2sum cksum sum
    echo printf print true false test [ [[ : sleep seq expr factor numfmt getconf
    which whereis type whatis apropos man whoami id groups users who uname arch nproc tty uptime
    locale printenv ps pgrep pidof free vmstat lscpu lsblk lsusb lspci lsmod lsof
    cd pushd popd dirs read mapfile readarray export declare typeset local readonly unset set shift
    shopt alias unalias hash let return break continue exit wait jobs cal
    get-content get-childitem select-string
    """.split()
)
"""Whatever stands behind them: what they write goes through a redirection, which is seen."""

READERS_UNLESS: Final = _options(
    {
        "find": "-delete -fprint -fprint0 -fprintf -fls",
        "fd": "-x -X --exec --exec-batch",
        "fdfind": "-x -X --exec --exec-batch",
        "rg": "--pre --hostname-bin",
        "sort": "-o --output --compress-program",
        "shuf": "-o --output",
        "tree": "-o",
        "less": "-o -O --log-file --LOG-FILE",
        "more": "",
        "bat": "--pager",
        "yq": "-i --inplace",
        "date": "-s --set",
        "file": "-C --compile",
        "sdiff": "-o --output",
        "base64": "-o --output",
    }
)
"""Programs that read unless one of these options is given."""

OPERANDS_THAT_ARE_READ: Final = {"uniq": 1, "xxd": 1, "hostname": 0, "env": 0}
"""Programs that read as long as they have no more operands: the next one would be written."""

READERS_ONLY_WITH: Final = _options(
    {
        "command": "-v -V",
        "tar": "-t --list",
        "unzip": "-l -Z",
        "python": "-V",
        "node": "-v",
        "npm": "-v",
        "ruby": "-v",
        "java": "-version",
    }
)
"""Programs that read where one of these options is given."""

READING_VERBS: Final = {
    "git": (
        "status", "log", "diff", "show", "blame", "annotate", "shortlog", "describe", "grep",
        "rev-parse", "rev-list", "ls-files", "ls-tree", "cat-file", "name-rev", "merge-base",
        "for-each-ref", "show-ref", "show-branch", "count-objects", "check-ignore",
        "check-attr", "diff-tree", "diff-index", "diff-files", "whatchanged", "range-diff",
        "cherry", "var", "version", "help", "verify-commit", "verify-tag", "stash list",
        "stash show", "worktree list", "submodule status", "notes list", "notes show",
        "bisect log", "remote get-url", "reflog show", "lfs ls-files",
    ),
    "pip": ("list", "show", "freeze", "check", "debug"),
    "pip3": ("list", "show", "freeze", "check", "debug"),
    "uv": ("pip list", "pip show", "pip freeze", "pip check", "python list"),
    "npm": ("ls", "list", "root", "prefix", "bin"),
    "pnpm": ("ls", "list", "why"),
    "cargo": ("tree", "version"),
    "go": ("version", "doc"),
    "docker": (
        "ps", "images", "logs", "inspect", "version", "info", "stats", "top", "port", "diff",
        "compose ps", "compose logs",
    ),
    "systemctl": ("status", "show", "cat", "list-units", "list-unit-files", "is-active"),
    "apt": ("list", "show", "policy"),
    "brew": ("list", "config"),
}  # fmt: skip

VERBS_UNLESS: Final = frozenset("--output --ext-diff -O --open-files-in-pager".split())
"""Options with which even a verb that reads writes a file or runs a program."""

SETTINGS_IN_FRONT: Final = frozenset("-c --config-env --exec-path".split())
"""Options with values in front of a verb that may name a program to be run."""

LISTINGS: Final = _options(
    {
        "git branch": (
            "-a -r -v -vv -l -i --all --remotes --verbose --list --show-current --sort --format"
            " --contains --no-contains --merged --no-merged --points-at --color --no-color --column"
        ),
        "git tag": "-l -n --list --sort --format --contains --merged --no-merged --points-at",
        "git remote": "-v --verbose",
        "git reflog": "-n --oneline --all --date",
        "git config": (
            "-l --list --get --get-all --get-regexp --show-origin --show-scope --name-only"
            " --global --local --system"
        ),
    }
)
"""Verbs that list when nothing but these options stands behind them."""

LISTING_PICKS: Final = frozenset(
    "-l --list --get --get-all --get-regexp --contains --no-contains --merged --no-merged"
    " --points-at".split()
)
"""Options with which operands pick from a list."""

TELLING: Final = frozenset(("--version", "--help"))
"""Where this is the only word behind a program, it tells about itself."""

TRANSPARENT_UNLESS: Final = _options(
    {
        **dict.fromkeys(
            """
        sudo doas env command builtin exec eval nice ionice chrt taskset timeout gtimeout stdbuf
        unbuffer setsid busybox toybox watch xargs sh bash dash zsh ksh ash
        """.split(),
            "",
        ),
        "time": "-o --output",
    }
)
"""Programs that do what the command inside them does, unless one of these options is given."""

SYSTEM_FOLDERS: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
"""A program that is called by its path is known only here: `./test` may be anything."""

HARMLESS_VARIABLES: Final = frozenset(
    "LANG LC_ALL LC_COLLATE LC_CTYPE LANGUAGE TZ TERM COLUMNS LINES NO_COLOR GREP_COLORS".split()
)
"""Other variables in front of a program may name a program themselves: `PAGER`, `PATH`."""

SINKS: Final = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "$null", "NUL"))
"""What is written there is not kept."""

NETWORK_PROGRAMS: Final = frozenset(
    """
    curl wget aria2c axel http https xh xhs httpie lynx w3m links elinks yt-dlp youtube-dl
    ssh autossh mosh rsh scp sftp ftp lftp telnet nc ncat netcat socat nmap ping ping6 traceroute
    mtr dig nslookup host drill whois sshfs ssh-copy-id
    mail mailx mutt sendmail msmtp swaks
    gh glab hub tea aws az gcloud gsutil bq oci aliyun doctl hcloud linode-cli openstack ibmcloud
    s3cmd s5cmd rclone kubectl oc helm helmfile k9s argocd flux eksctl istioctl
    terraform tofu terragrunt pulumi cdk serverless sls sst ansible ansible-playbook packer
    heroku flyctl fly vercel vc netlify ntl railway firebase supabase wrangler fastly
    twine ngrok cloudflared tailscale
    invoke-webrequest invoke-restmethod iwr irm
    """.split()
)
"""Programs that talk to other machines whatever stands behind them."""

_INSTALLING: Final = ("install", "update", "upgrade", "add", "download", "fetch", "search")

NETWORK_VERBS: Final = {
    "git": (
        "push", "fetch", "pull", "clone", "ls-remote", "send-email", "request-pull", "svn",
        "remote update", "remote show", "remote prune", "submodule update", "submodule add",
        "lfs push", "lfs pull", "lfs fetch",
    ),
    "pip": ("install", "download", "wheel", "index", "search", "lock"),
    "pip3": ("install", "download", "wheel", "index", "search", "lock"),
    "pipx": ("install", "upgrade", "upgrade-all", "run", "inject"),
    "uv": (
        "add", "sync", "lock", "publish", "pip install", "pip sync", "pip compile", "tool install",
        "tool run", "tool upgrade", "python install", "self update",
    ),
    "poetry": ("install", "add", "update", "lock", "publish", "search", "self"),
    "pdm": ("install", "add", "update", "sync", "lock", "publish"),
    "pipenv": ("install", "update", "sync", "lock"),
    "hatch": ("publish",),
    "conda": ("install", "create", "update", "upgrade", "search"),
    "mamba": ("install", "create", "update", "upgrade", "search"),
    "npm": (
        "install", "i", "ci", "add", "update", "upgrade", "publish", "unpublish", "view", "info",
        "audit", "outdated", "search", "login", "exec", "x", "init", "create", "dist-tag",
        "deprecate", "owner", "access", "token", "ping", "whoami",
    ),
    "pnpm": ("install", "i", "add", "update", "up", "dlx", "publish", "audit", "create"),
    "yarn": ("install", "add", "up", "upgrade", "dlx", "publish", "npm", "create", "audit"),
    "bun": ("install", "i", "add", "update", "x", "publish", "create"),
    "deno": ("install", "add", "publish", "upgrade"),
    "cargo": ("install", "fetch", "add", "update", "publish", "yank", "search", "login", "owner"),
    "go": ("get", "install", "mod download", "mod tidy", "mod vendor"),
    "gem": ("install", "update", "push", "fetch", "search", "outdated"),
    "bundle": ("install", "update", "add", "outdated"),
    "composer": ("install", "update", "require", "create-project", "outdated"),
    "dotnet": ("restore", "nuget push", "add package", "tool install"),
    "mix": ("deps.get", "deps.update", "hex.publish"),
    **dict.fromkeys(
        ("apt", "apt-get", "aptitude", "dnf", "yum", "microdnf", "zypper", "apk", "brew", "snap",
         "flatpak", "choco", "winget", "scoop", "port"),
        (*_INSTALLING, "dist-upgrade", "full-upgrade", "source", "refresh", "reinstall"),
    ),
    **dict.fromkeys(
        ("docker", "podman", "nerdctl"),
        ("push", "pull", "login", "search", "manifest", "image push", "image pull",
         "compose pull", "compose push"),
    ),
    "docker-compose": ("pull", "push"),
    "openssl": ("s_client",),
}  # fmt: skip
"""Programs that talk to other machines when one of these verbs stands behind them."""
