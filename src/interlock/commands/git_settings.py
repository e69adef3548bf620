"""What git runs on the side: hooks, aliases, helpers and other programs that settings name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from interlock.commands.programs.places import OWN, TEMP
from interlock.commands.shell.command import Command
from interlock.commands.shell.provenance import SECRET, UNSEEN, Stream
from interlock.commands.shell.scope import Scope
from interlock.commands.shell.words import Word, literal, unknown
from interlock.commands.simulation import Simulation

_GIT_PROGRAMS: Final = (
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy|alternaterefscommand)"
    r"|diff\.external|sequence\.editor|interactive\.difffilter|web\.browser|pager\..*"
    r"|(?:diff|difftool|mergetool|merge|filter|browser|man|gpg|guitool|sendemail|credential|trailer|tar)"
    r"\.(?:.*\.)?(?:command|cmd|textconv|driver|clean|smudge|process|program|helper|tocmd|cccmd|sendmailcmd|headercmd)"
    r"|remote\..*\.(?:uploadpack|receivepack)|uploadpack\.packobjectshook|receive\.procreceiverefs"
)
_GIT_LOADS: Final = r"core\.hookspath|include(?:if\..*)?\.path|init\.templatedir"
"""Settings that name folders or files with code, or with more settings."""
_USUAL: Final = (
    ("core.fsmonitor", r"(?i)true|false|0|1"),
    ("core.pager", r"cat|more|delta|bat|less(?: -[A-Za-z]{1,9})?|"),
    ("core.editor", r"vi|vim|nvim|nano|emacs|micro|true|:|code (?:-w|--wait)"),
    (
        "credential.",
        r"|osxkeychain|manager(?:-core)?|libsecret|wincred"
        r"|!(?:/usr/(?:local/)?bin/|/opt/homebrew/bin/)?(?:gh|glab) auth git-credential",
    ),
    ("alias.", r"[^!].*"),
)
"""Settings that name programs, and values with which nothing runs that was not there."""
_GIT_COUNT: Final = "GIT_CONFIG_COUNT"
_GIT_KEY: Final = "GIT_CONFIG_KEY_"
_GIT_VALUE: Final = "GIT_CONFIG_VALUE_"
_GREP_PAGER: Final = r"-[a-zA-NP-Z]{0,9}O|--open-files[a-z-]{0,20}="
_LINE_ENDS: Final = r"\n|\0|\\n"
_TRANSPORT: Final = r"(?:%.|[^ %])+"
_GIT_RUN_VALUES: Final = (
    "-x", "--exec", "--upload-pack", "--receive-pack", "--extcmd", "--tree-filter",
    "--index-filter", "--msg-filter", "--env-filter", "--commit-filter", "--parent-filter",
)  # fmt: skip

_GIT_VERBS: Final = frozenset(
    "add am apply archive bisect blame branch bundle checkout cherry-pick clean clone commit config"
    " describe diff fetch format-patch gc grep init log ls-files ls-remote ls-tree merge mv notes"
    " pull push range-diff rebase reflog remote reset restore rev-list rev-parse revert rm shortlog"
    " show stash status submodule switch tag worktree".split()
)
"""Verbs that git never takes for an alias."""


_OTHER_TREE: Final = ("--git-dir", "--work-tree", "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
_BEGINS: Final = frozenset(("init", "clone"))
_ON_THE_TREE: Final = frozenset(
    "reset clean checkout switch restore read-tree checkout-index".split()
)
"""Verbs that change the files of one tree; the others change what all trees share."""
_BEYOND: Final = frozenset("push send-email config credential remote submodule lfs svn".split())
"""Verbs that reach beyond a repository, or into settings."""
_HEAD: Final = ".git/HEAD"


def follow_git(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`git submodule foreach`, `git bisect run`, `git rebase --exec` run what follows."""
    operands = command.invocation.operands
    verbs = [word.text for word in operands[:2]]
    if verbs in (["submodule", "foreach"], ["bisect", "run"]):
        _run_rest(simulation, command, verbs[1], scope)
    clones = ("-u",) if verbs[:1] == ["clone"] else ()
    for value in command.invocation.all_values(*_GIT_RUN_VALUES, *clones):
        simulation.run_line(value.text, command, scope, via="git rebase --exec")
    for word in command.argv if verbs[:1] == ["grep"] else ():
        found = re.match(_GREP_PAGER, word.text)
        if found is not None:
            simulation.run_line(word.text[found.end() :], command, scope, via="git grep -O")
    if verbs[:1] == ["update-ref"] and command.invocation.has("--stdin"):
        _follow_references(simulation, command)
    _follow_settings(simulation, command, scope)
    _follow_sources(simulation, command, scope)
    if scope.cwd or "-C" in command.invocation.values or not _BEGINS.isdisjoint(verbs[:1]):
        _mark_passing(simulation, command, scope)


def follow_hub(simulation: Simulation, command: Command, scope: Scope) -> None:
    """`hub push`: what git knows is git's."""
    if any(word.text in _GIT_VERBS for word in command.invocation.operands[:1]):
        simulation.run_words([literal("git"), *command.argv[1:]], command, scope, via="hub")


def _mark_passing(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Mark work on a tree in a temporary folder, or on a repository that this line began there."""
    invocation = command.invocation
    told = {*scope.variables, *[name for name, _ in command.assignments], *invocation.values}
    if not told.isdisjoint(_OTHER_TREE):
        return
    verb = "".join([word.text for word in invocation.operands[:1]])
    folder = _tree_of(command, verb)
    head = scope.path(f"{folder}/{_HEAD}")
    places = simulation.places
    if not places.at(folder, scope) & TEMP or places.of(head, scope.project) & OWN:
        return
    if verb in _BEGINS:
        scope.files[head] = UNSEEN
    elif verb in _ON_THE_TREE or (head in scope.files and verb not in _BEYOND):
        invocation.harmless = f"nobody's work lies in `{folder}`"


def _tree_of(command: Command, verb: str) -> str:
    """Return the folder of the tree that git works on, or is about to make."""
    folder = "."
    for option, value in pairwise(command.argv):
        if option.text == verb:
            break
        if option.text == "-C":
            folder = _below(folder, value.text)
    behind = [word.text for word in command.invocation.operands[1:]]
    if verb == "init" and behind:
        return _below(folder, behind[0])
    if verb == "clone" and behind:
        own = behind[0].rpartition("/")[2].removesuffix(".git")
        return _below(folder, behind[1] if len(behind) > 1 else own)
    return folder


def _below(folder: str, path: str) -> str:
    return path if path[:1] in {"/", "~", "$"} else f"{folder}/{path}"


def _follow_references(simulation: Simulation, command: Command) -> None:
    """`git update-ref --stdin` is told line by line which references to make, move or delete."""
    told = command.frame.stdin.text
    if told is None:
        simulation.give_up(
            "git changes references as it is told at run time", command.text, asks=True
        )
    for line in re.split(_LINE_ENDS, told or ""):
        verb, _, reference = line.strip().partition(" ")
        if verb == "delete":
            simulation.note("git", ["update-ref", "-d", *reference.split()[:1]], command)


def _follow_settings(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Follow the settings of a call, and aliases among them."""
    operands = command.invocation.operands
    verbs = [word.text for word in operands[:1]]
    for name, line in _git_settings(command, scope):
        _git_setting(simulation, name, line, command, scope)
        if verbs == [name.removeprefix("alias.")] and verbs[0] not in _GIT_VERBS:
            behind = command.argv[command.argv.index(operands[0]) + 1 :]
            words = [*map(literal, ("git", *line.text.split())), *behind]
            simulation.run_words(words, command, scope, via=f"git -c {name}")
    if verbs == ["config"] and len(operands) > 1:
        _follow_kept(simulation, command, scope)


def _follow_kept(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Follow `git config name value`, and mark values that everybody keeps there."""
    invocation = command.invocation
    told = invocation.operands[1:]
    if command.argv[-2] == told[-1] and " " in command.argv[-1].text:
        # Behind the name, git takes `-c a=b log` for the value too.
        told.append(command.argv[-1])
    if len(told) < 2:
        return
    *kept, name, line = told
    _git_setting(simulation, name.text, line, command, scope)
    # A third word would say which of the old values goes.
    if not line.known or [word.text for word in kept] not in ([], ["set"]):
        return
    for beginning, usual in _USUAL:
        if name.text.lower().startswith(beginning) and re.fullmatch(usual, line.text):
            invocation.harmless = f"`{line.text}` is what many keep there"
            if beginning == "alias.":
                simulation.run_line(f"git {line.text}", command, scope, via=f"git {name.text}")


def _follow_sources(simulation: Simulation, command: Command, scope: Scope) -> None:
    """Follow where a copy is taken from: transports that are programs, templates with hooks."""
    operands = command.invocation.operands
    verbs = [word.text for word in operands[:1]]
    for folder in command.invocation.all_values("--template"):
        if verbs in (["clone"], ["init"]) and folder.text.startswith(("/", "~", "$")):
            simulation.give_up(f"it loads code from `{folder.text}`", command.text, asks=True)
    for word in operands:
        if word.text.startswith("ext::"):
            simulation.give_up("git is to start a program as a transport", command.text, asks=True)
            # `% ` is a blank within a word.
            words = [re.sub("%(.)", r"\1", each) for each in re.findall(_TRANSPORT, word.text[5:])]
            simulation.run_words([*map(literal, words)], command, scope, via="git ext::")


def _git_settings(command: Command, scope: Scope) -> Iterator[tuple[str, Word]]:
    """Yield the settings that a call of git brings along, by options or by variables."""
    for value in command.invocation.all_values("-c", "--config"):
        name = value.text.partition("=")[0]
        yield name, value.tail(len(name) + 1)
    for value in command.invocation.all_values("--config-env"):
        name, _, variable = value.text.rpartition("=")
        yield name, scope.variables.get(variable, unknown(f"${variable}"))
    for key, name in list(scope.variables.items()) if _GIT_COUNT in scope.variables else ():
        if key.startswith(_GIT_KEY):
            variable = _GIT_VALUE + key.removeprefix(_GIT_KEY)
            yield name.text, scope.variables.get(variable, unknown(f"${variable}"))


def _git_setting(
    simulation: Simulation, name: str, line: Word, command: Command, scope: Scope
) -> None:
    """Follow what a setting makes git run."""
    plain = name.lower()
    via = f"git -c {name}"
    if via in command.frame.via:
        return
    if plain.endswith(".sslverify") and line.text.lower() in {"false", "0", "no", "off"}:
        simulation.note("git", ["config", "http.sslverify", line.text], command)
    is_alias = plain.startswith("alias.")
    runs = line.text.startswith("!") or re.fullmatch(_GIT_PROGRAMS, plain) is not None
    if not line.known and (runs or is_alias):
        reason = f"what `{name}` makes git run is known only at run time"
        simulation.give_up(reason, command.text, asks=line.text.startswith("$"))
    if re.fullmatch(_GIT_LOADS, plain) and line.text.startswith(("/", "~", "$", "..")):
        if line.text != "/dev/null":
            simulation.give_up(f"it loads code from `{line.text}`", command.text, asks=True)
    elif runs:
        # A helper for credentials is told them.
        secret = plain.startswith("credential.")
        frame = command.frame.fed(Stream(SECRET) if secret else UNSEEN)
        simulation.run_nested(line.text.lstrip("!"), scope.outside(), frame, via=via)


def _run_rest(simulation: Simulation, command: Command, verb: str, scope: Scope) -> None:
    """Follow the words behind a verb: one is a shell line, several are a command."""
    texts = [word.text for word in command.argv]
    words = [word for word in command.argv[texts.index(verb) + 1 :] if word.text != "--recursive"]
    if len(words) == 1:
        simulation.run_line(words[0].text, command, scope, via=f"git {verb}")
    elif words:
        simulation.run_words(words, command, scope, via=f"git {verb}")
