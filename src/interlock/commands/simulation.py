"""One simple command → what really runs: functions, aliases, wrappers and redirections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from interlock.commands.program_input import (
    STANDARD_INPUT,
    doubtful_sources,
    fetched_files,
    is_fed_unseen,
    only_knocks,
    opens_shell,
    shows,
    waits_for_lines,
)
from interlock.commands.programs.environment import is_expanded, line_in, noted_as, settings_in
from interlock.commands.programs.execution import Execution, counted
from interlock.commands.programs.file_effects import effects_of
from interlock.commands.programs.outputs import output_of
from interlock.commands.programs.places import CREDENTIAL, ROOT, SYSTEM, SYSTEM_ROOT, Places
from interlock.commands.programs.program_tables import (
    UNKNOWN_PROGRAM,
    Program,
    Programs,
    invocation_of,
)
from interlock.commands.programs.scripts import Ran, acts_in
from interlock.commands.programs.withheld_values import (
    loaded,
    loads_variables,
    withholds_values,
    without_handed_on,
)
from interlock.commands.programs.wrappers import (
    Inner,
    carried_lines,
    carries_lines,
    guessed_lines,
    guessed_start,
    surroundings,
    unwrapped,
    values_behind,
)
from interlock.commands.run_time_programs import (
    RUN_TIME,
    bare_name,
    candidates,
    is_only_variables,
    may_decide,
    own_program,
)
from interlock.commands.shell.command import (
    Command,
    Effect,
    EffectKind,
    Frame,
    Invocation,
    Redirect,
    SimpleCommand,
)
from interlock.commands.shell.fork_bombs import endless_forks
from interlock.commands.shell.provenance import (
    DECODED,
    EMPTY,
    ENVIRON,
    MANY,
    NOTHING,
    REMOTE,
    SECRET,
    TYPED,
    UNKNOWN_FILE,
    UNSEEN,
    Stream,
    joined,
    part_of,
    written,
)
from interlock.commands.shell.scope import OWN_PROGRAM, OWN_VARIABLES, Scope
from interlock.commands.shell.statements import Walker
from interlock.commands.shell.syntax import Tree
from interlock.commands.shell.words import Word, literal
from interlock.commands.values.allowance import Budget

_MAX_GUESSES: Final = 3
_LEADS_TO: Final = frozenset(("--", "exec", "shell", "ssh"))
_READERS: Final = frozenset(("read", "mapfile", "readarray"))
_NAMED_IN_CODE: Final = r"[\"']([~./$][^\"'\s]{1,200})[\"']"
_STREAMS: Final = frozenset(("/dev/stdout", "/dev/stderr", "/dev/null", "-"))
_WORDS_ONLY: Final = re.compile(r"[\w ./:=@%+,~-]*")


class Simulation(Walker):
    """Everything a command line would run, noted while it is followed."""

    def __init__(
        self,
        programs: Programs,
        places: Places,
        follow: Follow,
        *,
        nesting: int,
        longest: int,
        budget: Budget,
    ) -> None:
        """`follow` follows what a command runs in turn; None when it runs nothing but itself."""
        super().__init__(nesting=nesting, longest=longest, budget=budget)
        self.programs = programs
        self._showing = programs.showing
        self.places = places
        self.commands: list[Command] = []
        self.effects: list[Effect] = []
        self._follow = follow
        self._calling: list[str] = []
        self._guessed = 0

    def run_tree(self, tree: Tree, scope: Scope, frame: Frame) -> Stream:
        """Follow all of a parsed line; it may also start processes without end."""
        if bomb := endless_forks(tree):
            command = self.bare("fork", bomb, scope, frame)
            self.note_effect(EffectKind.FORK, literal(bomb), 0, command)
        return super().run_tree(tree, scope, frame)

    def run_nested(self, text: str, scope: Scope, frame: Frame, *, via: str) -> Stream:
        """Follow a nested command line."""
        return self.run_text(text, scope, frame.deeper().behind(via))

    def run_line(self, line: str, command: Command, scope: Scope, *, via: str = "") -> None:
        """Follow a line that a command runs in a shell of its own."""
        self.run_nested(line, scope.outside(), command.frame, via=via or command.program)

    def run_words(
        self,
        argv: list[Word],
        command: Command,
        scope: Scope,
        *,
        via: str = "",
        text: str = "",
        stdin: Stream = UNSEEN,
    ) -> Stream:
        """Follow words as a command of their own, behind the one that runs them."""
        simple = SimpleCommand(argv, text or command.text)
        inner = command.frame.fed(stdin).deeper().behind(via or command.program)
        return self.resolve(argv, simple, scope.outside(), inner)

    def invoke(self, simple: SimpleCommand, scope: Scope, frame: Frame) -> Stream:
        """Resolve a simple command, note what it does, and return what it prints."""
        self.budget.statement()
        if simple.redirects or simple.stdin is not None or "0" in scope.defined.descriptors:
            frame = self.fed(simple, scope, frame)
        if not simple.argv:
            for name, value in simple.assignments:
                scope.assign(name, value, maybe=frame.maybe)
                self.note_assignment(name, value, simple.text, scope, frame)
            fed = frame.stdin.text is not None and not frame.piped
            printed = frame.stdin if fed else NOTHING
        else:
            inner = scope
            if simple.assignments and not simple.declares:
                inner = scope.copy()
                for name, value in simple.assignments:
                    inner.assign(name, value)
                    self.follow_variable(name, value, inner, frame)
            if simple.redirects and simple.takes_output:
                frame = frame.unseen()
            printed = self.resolve(simple.argv, simple, inner, frame)
            if inner is not scope and simple.argv[0].text in _READERS:
                # What is read stays, what was set for reading does not: `IFS=, read -r a b`.
                inner.own_names |= {name for name, _ in simple.assignments}
                scope.take_over(inner, maybe=frame.maybe)
        return self._written(simple, printed, scope, frame) if simple.redirects else printed

    def note_assignment(
        self, name: str, value: Word, text: str, scope: Scope, frame: Frame
    ) -> None:
        """Note one of Interlock's own variables, as if it were exported: it may be already."""
        if name.startswith(OWN_VARIABLES):
            command = self.bare("export", text, scope, frame)
            self.note("export", [f"{name}={value.text}"], command)
        self.follow_variable(name, value, scope, frame)

    def follow_variable(self, name: str, value: Word, scope: Scope, frame: Frame) -> None:
        """Follow what programs run, expand or load because a variable says so."""
        text = value.text
        for program, told in noted_as(name, text, scope.files):
            self.note(program, [told], self.bare("export", f"{name}={text}", scope, frame))
        if is_expanded(name):
            self.looked_into(text, scope.copy(), frame)
        line = line_in(name, text)
        if line:
            inner = frame.fed(UNSEEN).unseen()
            self.run_nested(line, scope.outside(), inner, via=name)

    def resolve(
        self, argv: list[Word], simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> Stream:
        """Find out what the words run, and follow it."""
        defined = None
        if scope.defined.functions or scope.defined.aliases:
            defined = self._follow_definition(argv, simple, scope, frame)
        printed = self._follow_program(argv, simple, scope, frame)
        return printed if defined is None else defined

    def _follow_program(
        self, argv: list[Word], simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> Stream:
        while len(frame.via) <= self._nesting:
            if not argv:
                return NOTHING
            self.budget.statement()
            program = bare_name(argv[0], self.programs.versioned)
            if argv[0].text.startswith("./") and self._is_local(program, argv[0].text, scope):
                program = argv[0].text
            bound = scope.defined.programs.get(argv[0].text) or own_program(argv)
            if bound is not None:
                # Whether the binding still holds is not certain, so both are followed.
                self._execute(bound, argv, simple, scope, frame)
            known = self.programs.of(program)
            inner = None if known.wraps is None else unwrapped(program, argv, self.programs)
            if inner is None and known.wraps is not None and known.wraps.after:
                # Most take their command without a `--` too.
                at = next(self._acting(argv, 1), len(argv))
                inner = Inner(known.wraps.remote, argv[at:]) if at < len(argv) else None
            if inner is None:
                if known is UNKNOWN_PROGRAM:
                    self._follow_guesses(program, argv, simple, scope, frame)
                return self._execute(program, argv, simple, scope, frame)
            self._note(program, argv, simple, scope, frame, wraps=True)
            if inner.line is not None:
                return self._follow_line(inner, program, scope, frame)
            scope, frame = surroundings(inner, program, scope, frame)
            for name, value in inner.assignments:
                self.follow_variable(name, value, scope, frame)
            argv = inner.argv
        self._too_deep(simple.text)
        return UNSEEN

    def _is_local(self, program: str, path: str, scope: Scope) -> bool:
        """`./rm` is a file that lies here, and not the system's `rm`, unless one is in its folder.

        What goes by the name of an interpreter or a vendor's tool is a copy of that.
        """
        known = self.programs.of(program)
        copied = known.reaches_out or known.code or known.shell or known.wraps or known.verbs
        if not known.files or copied or "/" in path[2:]:
            return False
        return not self.places.at(".", scope) & (SYSTEM | SYSTEM_ROOT | ROOT)

    def _follow_guesses(
        self, program: str, argv: list[Word], simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> None:
        """Follow what a program may run of which nothing is known; few guesses build on others."""
        start = guessed_start(program, argv)
        if self._guessed >= _MAX_GUESSES:
            if any(self._acting(argv, start)):
                self.give_up("it may run programs in programs in programs", simple.text, asks=True)
            return
        inner = frame.fed(UNSEEN).unseen().deeper().behind(program)
        self._guessed += 1
        for line in guessed_lines(argv, start):
            self.budget.read(len(line))
            self.run_part(line, scope.outside(), inner)
        # Behind a word that says so clearly, any program may stand.
        first = [start] if argv[min(start, len(argv)) - 1].text in _LEADS_TO else []
        found = dict.fromkeys([*first, *self._acting(argv, start)])
        for at in islice(found, _MAX_GUESSES):
            again = SimpleCommand(argv[at:], simple.text)
            self._follow_program(argv[at:], again, scope.outside(), inner)
        self._guessed -= 1

    def _follow_candidates(
        self, argv: list[Word], simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> Stream:
        """Follow what a program may be that only the run decides; return its output's origin."""
        inner = frame.deeper().behind(RUN_TIME)
        labels = 0
        for words in candidates(argv, self.programs, is_fed=frame.stdin.text is not None):
            again = SimpleCommand(words, simple.text)
            labels |= self._follow_program(words, again, scope.outside(), inner).labels
        return Stream(labels)

    def _acting(self, argv: list[Word], start: int) -> Iterator[int]:
        """Yield where a word names a program that does or runs something, and is no builtin."""
        for at in range(start, len(argv)):
            name = bare_name(argv[at], self.programs.versioned)
            known = self.programs.of(name)
            acts = known.files or known.shell or known.code or known.wraps or name == OWN_PROGRAM
            if acts and not known.changes_what_follows:
                yield at

    def _follow_definition(
        self, argv: list[Word], simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> Stream | None:
        """Follow a function or an alias of that name, if there is one.

        The program of that name is followed all the same: a definition may not be in effect,
        and hiding a program behind one is no reason to stop looking.
        """
        name = argv[0].text if argv and argv[0].known else ""
        if name in scope.defined.aliases:
            inner = scope.copy()
            line = inner.own().aliases.pop(name)
            words = [literal(part) for part in line.split()]
            if not _WORDS_ONLY.fullmatch(line):
                # An alias is text: it may hold anything that a line may.
                self.run_text(line, inner, frame.deeper())
            return self.resolve(words + argv[1:], simple, inner, frame)
        if name in scope.defined.functions and name not in self._calling:
            return self._call(name, argv, scope, frame)
        return None

    def _follow_line(self, inner: Inner, program: str, scope: Scope, frame: Frame) -> Stream:
        line = inner.line or literal("")
        self.note_execution(
            literal(line.text), line.labels, self.bare("sh", line.text, scope, frame)
        )
        shared = program == "eval"
        inside, frame = surroundings(inner, program, scope if shared else scope.outside(), frame)
        printed = self.run_text(line.text, inside, frame.deeper())
        return Stream(printed.labels | REMOTE) if inner.remote else printed

    def _call(self, name: str, argv: list[Word], scope: Scope, frame: Frame) -> Stream:
        """Follow a function's body with its arguments in place."""
        function = scope.defined.functions[name]
        inner = scope.copy()
        inner.set_arguments(argv[1:])
        self._calling.append(name)
        printed = self.run_body(function, inner, frame)
        self._calling.pop()
        scope.take_over(inner, maybe=frame.maybe)
        return printed

    def _execute(
        self, program: str, argv: list[Word], simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> Stream:
        run = self._note(program, argv, simple, scope, frame)
        command, known = run.command, self.programs.of(program)
        if frame.printed and frame.stdin.labels & ENVIRON and shows(command, known):
            self.note_effect(EffectKind.SHOW, STANDARD_INPUT, frame.stdin.labels, command)
        typed = frame.stdin.labels & TYPED and waits_for_lines(command)
        if typed or opens_shell(command, self.programs):
            self.note_execution(STANDARD_INPUT, TYPED, command)
        if not program and RUN_TIME in frame.via:
            return UNSEEN
        if not program:
            # What the line itself puts together, and does not show, is hidden.
            hidden = argv[0].text.startswith("${") or bool(argv[0].labels & (DECODED | REMOTE))
            hidden = hidden or (not argv[0].glob and may_decide(argv))
            self.give_up("its program is known only at run time", simple.text, asks=hidden)
            return self._follow_candidates(argv, simple, scope, frame)
        printed = self._follow(self, command, known, scope)
        if printed is not None:
            return printed
        if frame.printed and not (simple.redirects or frame.piped_on):
            return UNSEEN
        return output_of(run, known)

    def _note(
        self,
        program: str,
        argv: list[Word],
        simple: SimpleCommand,
        scope: Scope,
        frame: Frame,
        *,
        wraps: bool = False,
    ) -> Execution:
        invocation = invocation_of(program, argv[1:], self.programs)
        command = Command(
            program=program,
            argv=tuple(argv),
            assignments=tuple(simple.assignments),
            redirects=tuple(simple.redirects),
            invocation=invocation,
            frame=frame,
            cwd=scope.cwd,
            text=simple.text,
            wraps=wraps,
            fetched=fetched_files(argv, scope) if scope.files else frozenset(),
        )
        self.commands.append(command)
        for name, value in simple.assignments:
            if name.startswith(OWN_VARIABLES):
                self.note("export", [f"{name}={value.text}"], command)
        for name in self.programs.of(program).finds_by:
            if name in scope.variables:
                self.note("export", [f"{program}:{name}={scope.variables[name].text}"], command)
        run = Execution(command, invocation, scope, self.places)
        if frame.piped and frame.stdin.labels & SECRET:
            self.effects = without_handed_on(self.effects, self.commands, self.programs)
        elif loads_variables(program, argv):
            self.effects = loaded(self.effects, self.commands)
        if program:
            known = self.programs.of(program)
            self.effects += effects_of(run, known)
            if known.files:
                target = invocation.operands[-1].text if invocation.operands else ""
                self._note_settings(frame.stdin, target, command)
            if invocation.values and (known.lends_its_values or carries_lines(invocation)):
                self._follow_values(command, known, scope)
        return run

    def _follow_values(self, command: Command, known: Program, scope: Scope) -> None:
        """Follow the options whose values are command lines, or name code to load."""
        invocation = command.invocation
        lines = [word.text for word in invocation.all_values(*known.runs_values)]
        lines += values_behind(invocation, known.runs_behind)
        lines += carried_lines(invocation, known)
        frame = command.frame.behind_pipe(UNSEEN).unseen()
        for line in lines:
            self.run_nested(line, scope.outside(), frame, via=command.program)
        loaded = [word.text for word in invocation.all_values(*known.loads_values)]
        for code in (*loaded, *values_behind(invocation, known.loads_behind)):
            self.give_up(f"it loads code from `{code}`", command.text, asks=True)

    def _note_settings(self, stored: Stream, path: str, command: Command) -> None:
        """Note what a text sets that comes to stand in a file."""
        for program, told in settings_in(stored.text, path) if stored.text else ():
            self.note(program, [told], command)

    def follow_unread(self, code: str, command: Command, scope: Scope) -> None:
        """Ask about code in a language that is not understood, where it seems to do something."""
        self.budget.read(len(code))
        word = acts_in(code)
        names = re.findall(_NAMED_IN_CODE, code)
        if not word:
            secret = (name for name in names if self.places.is_credential(scope.path(name)))
            word = next(secret, "")
        if word:
            reason = f"`{word}` stands in its code, whose language is not understood"
            self.give_up(reason, command.text, asks=True)

    def follow_script(self, ran: Iterable[Ran], command: Command, scope: Scope) -> None:
        """Follow what a script of sed or awk runs, and note what it writes."""
        for each in ran:
            if each.line:
                frame = command.frame
                if each.fed is not None:
                    frame = frame.fed(Stream(frame.stdin.labels, each.fed))
                self.run_nested(each.line, scope.outside(), frame, via=command.program)
            if each.computed:
                reason = "its script runs a command that only the run decides"
                self.give_up(reason, command.text, asks=True)
            if each.written and each.written not in _STREAMS:
                kind = EffectKind.APPEND if each.appends else EffectKind.OVERWRITE
                place = self.places.at(each.written, scope)
                self.effects.append(Effect(kind, literal(each.written), command, place))
                read = joined([command.frame.stdin, *scope.held_in(command.invocation.operands)])
                if read.text or read.labels:
                    # It holds something of what flows in, though not what.
                    scope.files[scope.path(each.written)] = part_of(read)

    def note(self, program: str, words: list[str], command: Command) -> None:
        """Note a command that another one would run, without following it further."""
        argv = [literal(word) for word in (program, *words)]
        self.commands.append(
            Command(
                program=program,
                argv=tuple(argv),
                invocation=invocation_of(program, argv[1:], self.programs),
                frame=command.frame,
                cwd=command.cwd,
                text=command.text,
            )
        )

    def note_effect(self, kind: EffectKind, target: Word, labels: int, command: Command) -> None:
        """Add an effect that following the command brought to light."""
        self.effects.append(Effect(kind, target, command, labels=labels))

    def note_execution(self, source: Word, labels: int, command: Command) -> None:
        """Add that bytes are run, where something is known of their origin."""
        if labels:
            self.note_effect(EffectKind.EXECUTE, source, labels, command)

    def doubt(self, code: Word, command: Command) -> None:
        """Note that code, or the file it lies in, is nothing but what a variable holds."""
        if not code.known and is_only_variables(code.text):
            self.give_up("what it runs is known only at run time", command.text)

    def doubt_input(self, command: Command) -> None:
        """Note that what flows in is run, where nothing is known of it."""
        if is_fed_unseen(command):
            # A shell makes nothing of names: a command was made of each.
            made = command.frame.stdin.labels & MANY and self.programs.of(command.program).shell
            self.give_up("it runs what another command prints", command.text, asks=bool(made))
        for source in doubtful_sources(command):
            self.doubt(source, command)

    def script(self, source: Word, command: Command, scope: Scope) -> Stream:
        """Return what a script holds that is named: a file, standard input, or a descriptor."""
        name = source.text
        self.doubt(source, command)
        if name in {"-", "/dev/stdin"}:
            return command.frame.stdin
        number = name.rpartition("/")[2] if name.startswith(("/dev/fd/", "/proc/")) else ""
        return scope.defined.descriptors.get(number) or self.places.stream(source, scope)

    def bare(self, program: str, text: str, scope: Scope, frame: Frame) -> Command:
        """Return a command that stands for a part of the line without words of its own."""
        return Command(
            program=program,
            argv=(literal(program),),
            invocation=Invocation(program),
            frame=frame,
            cwd=scope.cwd,
            text=text,
        )

    def fed(self, simple: SimpleCommand, scope: Scope, frame: Frame) -> Frame:
        """Return the frame with what the redirections let flow in."""
        stdin = simple.stdin
        if stdin is None and not frame.piped:
            # `exec 0< file`: from then on everybody reads that.
            stdin = scope.defined.descriptors.get("0")
        for redirect in simple.redirects:
            if redirect.flows_in:
                stdin = self._read(redirect, simple, scope, frame)
        return frame if stdin is None else frame.fed(stdin)

    def _read(
        self, redirect: Redirect, simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> Stream:
        target = redirect.target
        opened = scope.defined.descriptors.get(target.text.removesuffix("-"))
        if opened is not None:
            return opened
        if redirect.operator == "<" and simple.argv:
            command = self.bare("<", simple.text, scope, frame)
            place = self.places.at(target.text, scope)
            if not (place & CREDENTIAL and self._withholds(simple.argv, target)):
                self.effects.append(Effect(EffectKind.READ, target, command, place))
        return self.places.stream(target, scope)

    def _withholds(self, argv: Sequence[Word], target: Word) -> bool:
        program = bare_name(argv[0], self.programs.versioned)
        given = invocation_of(program, argv[1:], self.programs)
        return withholds_values(given, self.programs.of(program), target.text)

    def _written(
        self, simple: SimpleCommand, printed: Stream, scope: Scope, frame: Frame
    ) -> Stream:
        """Put what was printed where the redirections say; return what is left to flow on."""
        left = printed
        for redirect in simple.redirects:
            if redirect.target.text in scope.defined.outputs and redirect.descriptor in {"", "1"}:
                self.store(scope.defined.outputs[redirect.target.text], printed, scope, frame)
                continue
            if not redirect.writes:
                continue
            self._note_write(redirect, printed, simple, scope, frame)
            if redirect.descriptor in {"", "1"}:
                self.store(redirect.target, printed, scope, frame)
                left = NOTHING
        return left

    def store(self, target: Word, printed: Stream, scope: Scope, frame: Frame) -> None:
        """Remember what lies in a file from now on; feed a `>(...)` that waits for it."""
        path = scope.path(target.text)
        self._note_settings(printed, path, self.bare("export", path, scope, frame))
        sink = scope.sinks.get(target.text)
        if sink is not None:
            inner = frame.fed(printed).deeper()
            self.run(sink.tree, sink.node, scope.copy(), inner)
        if path.startswith(("/dev/tcp/", "/dev/udp/")):
            command = self.bare(path, path, scope, frame)
            self.note_effect(EffectKind.SEND, target, printed.labels, command)
        scope.files[path] = printed

    def _note_write(
        self, redirect: Redirect, printed: Stream, simple: SimpleCommand, scope: Scope, frame: Frame
    ) -> None:
        target = redirect.target
        # What `exec` opens is written to later.
        opened = [word.text for word in simple.argv] == ["exec"]
        labels = printed.labels if opened else written(printed, target.text)
        if only_knocks(redirect, simple.argv, labels):
            # Whether somebody listens there is asked without saying anything.
            return
        kind = EffectKind.OVERWRITE if redirect.truncates else EffectKind.APPEND
        if labels & EMPTY and redirect.truncates and counted(target).labels & MANY:
            # What is emptied is as much as gone.
            kind, labels = EffectKind.DELETE, labels | MANY
        self.effects.append(
            Effect(
                kind,
                target,
                self.bare(redirect.operator, simple.text, scope, frame),
                self.places.at(target.text, scope),
                labels if target.known else labels | UNKNOWN_FILE,
            )
        )


Follow = Callable[[Simulation, Command, Program, Scope], Stream | None]
