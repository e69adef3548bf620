"""Variables and settings whose values programs run, expand, load or install from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from interlock.commands.shell.provenance import REMOTE, Stream
from interlock.commands.shell.scope import OWN_VARIABLES
from interlock.commands.values.addresses import ELSEWHERE, FORGE, origin_of_index

_LINES: Final = frozenset(
    (
        "PAGER EDITOR VISUAL BROWSER FCEDIT LESSOPEN LESSCLOSE PROMPT_COMMAND MANPAGER"
        " GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_DIFFTOOL_CMD"
        " RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH SVN_SSH HGMERGE HGEDITOR TAR_TO_COMMAND"
        " FZF_DEFAULT_COMMAND RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CMAKE_C_COMPILER_LAUNCHER"
        " CMAKE_CXX_COMPILER_LAUNCHER PERL5DB XARGS_COMMAND npm_config_script_shell"
        " npm_config_shell npm_config_editor npm_config_viewer npm_config_git npm_config_browser"
    ).split()
)
_FUNCTION: Final = "BASH_FUNC_"
"""What bash takes a function from: `BASH_FUNC_ls%%=() { line; }`."""
_LINE_ENDINGS: Final = ("_EDITOR", "_PAGER", "_ASKPASS", "_BROWSER")
_TAR_HELPER: Final = (
    r"--(?:checkpoint-action=exec|to-command|use-compress-program|rsh-command)="
    r"(?:'([^']*)'|\"([^\"]*)\"|(\S+))"
)
_EXPANDED: Final = frozenset("ENV BASH_ENV PS0 PS1 PS2 PS4 PROMPT_COMMAND".split())
_AGENT_SETTINGS: Final = frozenset(
    (
        "CLAUDE_CODE_SIMPLE CLAUDE_CODE_SAFE_MODE OPENCODE_PURE CLAUDE_CONFIG_DIR CODEX_HOME"
        " COPILOT_HOME GEMINI_CLI_HOME GEMINI_CLI_SYSTEM_SETTINGS_PATH OPENCODE_CONFIG_DIR"
        " GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
    ).split()
)
"""Where agents find their hooks, or are told to leave them out."""
_TEMPORARY: Final = "(?:/tmp|/var/tmp|/dev/shm)"
_FOREIGN: Final = (
    r"(?:/(?!(?:usr|opt|lib(?:32|64)?)/(?!\S*\.\./))|~|\$|\.\./\.\.|(?!node:)\w[\w+.-]*:)"
)
"""How a file begins that neither the project nor an installed package brings, or an address."""
_LIBRARY: Final = (
    r"(?:^|[:\s])(?!(?:/(?:usr|opt|lib(?:32|64)?)/(?!\S*\.\./)[^:\s]*|[\w.+-]+)(?:[:\s]|$))[^:\s]"
)
"""A library that is neither installed nor searched for among those that are."""
_ANYTHING: Final = "."
_BY_FILE: Final = frozenset(("NODE_OPTIONS", "RUBYOPT", "JAVA_TOOL_OPTIONS"))
"""Where files of the project may be named."""
_LOADING: Final = {
    **dict.fromkeys(("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"), _LIBRARY),
    **dict.fromkeys(
        (
            "PROMPT_COMMAND BASH_ENV GCONV_PATH PYTHONSTARTUP PERL5OPT GIT_EXEC_PATH PERL5DB"
            " OPENSSL_ENGINES"
        ).split(),
        _ANYTHING,
    ),
    "PATH": rf"^{_TEMPORARY}(?:/(?![^:]*bin(?::|$))[^:]*)?(?::|$)",
    "ENV": rf"^{_TEMPORARY}/",
    "LD_LIBRARY_PATH": rf"(?:^|:){_TEMPORARY}",
    "NODE_OPTIONS": (
        r"(?:^|\s)(?:-r|--require|--import|--(?:experimental-)?loader)[\s=]*\"?" + _FOREIGN
    ),
    "PYTHONBREAKPOINT": r"^(?:os|posix|pty|subprocess|shutil|builtins|runpy|code)\b",
    "RUBYOPT": rf"(?:^|\s)-[rI]\s*{_FOREIGN}",
    "JAVA_TOOL_OPTIONS": (
        rf"-(?:javaagent|agentpath):{_FOREIGN}|-agentlib:(?:(?!jdwp)|\S*address=(?:\*|0\.0\.0\.0):)"
        r"|-Xbootclasspath|OnError="
    ),
    "GIT_CONFIG_PARAMETERS": r"(?i)command|pager|editor|external|alias|helper|fsmonitor",
}
"""What in a value has programs load code, from where nobody would expect it."""
_INDEXES: Final = frozenset(
    (
        "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS UV_INDEX_URL UV_DEFAULT_INDEX UV_INDEX"
        " UV_EXTRA_INDEX_URL NPM_CONFIG_REGISTRY YARN_REGISTRY YARN_NPM_REGISTRY_SERVER GOPROXY"
        " BUNDLE_MIRROR__ALL RUSTUP_DIST_SERVER RUSTUP_UPDATE_ROOT HOMEBREW_BOTTLE_DOMAIN"
        " CONDA_CHANNEL_ALIAS"
    ).split()
)
"""Where programs install from."""
_OFF: Final = frozenset(("0", "false", "no", "off"))
_ON: Final = frozenset(("1", "true", "yes", "on"))
_UNCHECKED: Final = {
    **dict.fromkeys(("NODE_TLS_REJECT_UNAUTHORIZED", "PYTHONHTTPSVERIFY"), ("tls", _OFF)),
    **dict.fromkeys(("NPM_CONFIG_STRICT_SSL", "CONDA_SSL_VERIFY"), ("tls", _OFF)),
    **dict.fromkeys(("GIT_SSL_NO_VERIFY", "HOMEBREW_CURL_INSECURE"), ("tls", _ON)),
    **dict.fromkeys(("HUSKY", "LEFTHOOK"), ("hooks", _OFF)),
    **dict.fromkeys(("HUSKY_SKIP_HOOKS", "OVERCOMMIT_DISABLE"), ("hooks", _ON)),
}
"""Variables that switch a check off, which one, and by which values."""
_INDEX_FILES: Final = frozenset(
    ".npmrc .yarnrc .yarnrc.yml pip.conf pip.ini uv.toml bunfig.toml .condarc .gemrc".split()
)
_IN_USE: Final = re.compile(r"(?m)^[ \t]*[^#; \t\n][^\n]*")
_INDEX: Final = re.compile(r"https?://[^\s\"'<>]{1,200}")
"""Files that say where programs install from, their lines but for remarks, and the places."""
_SETS_OWN: Final = re.compile(r"(?:^|[\s'\"-])(INTERLOCK_\w{1,40})\s{0,9}[:?+]{0,2}=")
_BETWEEN_INDEXES: Final = r"[\s,|=]+"
"""What divides several of them, and the name of one from its address."""
_SAME: Final = {
    "_JAVA_OPTIONS": "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS": "JAVA_TOOL_OPTIONS",
    "JAVA_OPTS": "JAVA_TOOL_OPTIONS",
    "MAVEN_OPTS": "JAVA_TOOL_OPTIONS",
    "GRADLE_OPTS": "JAVA_TOOL_OPTIONS",
    "npm_config_node_options": "NODE_OPTIONS",
}


def line_in(name: str, value: str) -> str:
    """Return the command line that a variable gives to a program, if it is such a variable."""
    if name.startswith(_FUNCTION):
        return value.lstrip("() ")
    if name == "TAR_OPTIONS":
        found = re.search(_TAR_HELPER, value)
        return "" if found is None else found[found.lastindex or 0]
    if name not in _LINES and not name.endswith(_LINE_ENDINGS):
        return ""
    # `LESSOPEN='||- command'`.
    return value.lstrip("|- ")


def is_expanded(name: str) -> bool:
    """Whether a shell expands the value, commands included, before it uses it."""
    return name in _EXPANDED


def noted_as(name: str, value: str, written: Mapping[str, Stream]) -> Iterator[tuple[str, str]]:
    """Yield the programs and words that a variable is noted as which loads, or installs from."""
    if _loads(name, value, written):
        yield "loaded-code", f"{name}={value}"
    if value and name in _AGENT_SETTINGS:
        yield "export", f"{name}={value}"
    if name.upper() in _INDEXES:
        origins = map(origin_of_index, re.split(_BETWEEN_INDEXES, value))
        if not ELSEWHERE.isdisjoint(origins):
            yield "package-index", f"{name}={value}"
    check, values = _UNCHECKED.get(name.upper(), ("", _OFF))
    if check and value.lower() in values:
        yield "unchecked", check


def settings_in(text: str, path: str) -> Iterator[tuple[str, str]]:
    """Yield the same for what a text sets that comes to stand in a file: `.env`, `.npmrc`."""
    if OWN_VARIABLES in text:
        for name in dict.fromkeys(_SETS_OWN.findall(text)):
            yield "export", f"{name}="
    if path.rpartition("/")[2] in _INDEX_FILES:
        for index in _INDEX.findall("\n".join(_IN_USE.findall(text))):
            # Forges keep the packages of those whose code they keep.
            if origin_of_index(index) in ELSEWHERE - {FORGE}:
                yield "package-index", f"{path}: {index}"


def _loads(name: str, value: str, written: Mapping[str, Stream]) -> bool:
    """Whether programs load the code that the value names, or are told to by it."""
    name = _SAME.get(name, name)
    pattern = _LOADING.get(name)
    if pattern is None or value == "/dev/null":
        return False
    return re.search(pattern, value) is not None or (
        name in _BY_FILE
        and any(
            held.labels & REMOTE and path.rpartition("/")[2] in value
            for path, held in written.items()
        )
    )
