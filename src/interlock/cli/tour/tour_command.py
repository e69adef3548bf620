"""`interlock tour`: real questions, put to the real gateway, for whoever is new here."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, assert_never

import click
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from interlock.cli.text.render import Line, Span, escape, rich_text, text_width
from interlock.cli.text.verdict_page import BADGES, explanation_lines, verdict_lines
from interlock.cli.tour.tour_chapters import (
    CHAPTERS,
    EXPLAINED,
    GO_ON,
    POLICY_EXAMPLE,
    TIGHTENED,
    WELCOME,
    Chapter,
    Question,
)
from interlock.cli.tour.tour_stories import RUN_ABOUT, STORIES, Story, beat_lines, run_story
from interlock.errors import PolicyError
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Decision, Verdict
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.recordable import Redactor
from interlock.policy.gates.judgement import judge
from interlock.service.policies.catalogue import SECRETS, catalogue
from interlock.service.policies.policy_files import default_policy, load_policy
from interlock.views.action_explanation import explain
from interlock.views.timeline import ANSWERS
from interlock.views.units import counted, json_text

_WIDEST: Final = 80
_MOST_ROWS: Final = 21
"""A terminal has 24 rows: what is shown, an empty one, and the question whether to go on."""
_RUNS: Final = 15


class _LeftError(Exception):
    """The visitor leaves."""


@click.command("tour")
def tour_command() -> None:
    """Take the guided tour; nothing of yours is touched.

    Real questions are put to the real gates, and answered.

    Examples:
      interlock tour
    """
    _Tour(interactive=sys.stdin.isatty() and sys.stdout.isatty()).play()


class _Tour:
    """The tour on a terminal; where no person sits at it, nothing waits."""

    def __init__(self, *, interactive: bool) -> None:
        self._interactive = interactive
        self._console = Console(highlight=False, width=min(_WIDEST, text_width()))
        self._width = self._console.width - 2
        self._policy = default_policy()
        self._chapter = 0
        self._rows = 0
        """How many rows of the screen are used."""

    def play(self) -> None:
        """Show one chapter after the other; whoever hangs up is let go without a fuss."""
        try:
            self._show(self._welcome())
            for show in self._chapters():
                self._turn_page()
                show()
            self._turn_page()
            self._take_questions()
        except _LeftError:
            return
        except (EOFError, KeyboardInterrupt):
            self._console.print()
        else:
            self._rows = 0
            self._show(_where_to_go_on())

    def _welcome(self) -> Panel:
        rules = len(self._policy.rulebook.rules)
        kinds = sum(entry.pack == SECRETS for entry in catalogue(self._policy))
        loaded = f"{rules} rules and {kinds} kinds of credentials are loaded. {WELCOME}"
        welcome = Text.assemble(
            "Interlock answers one question about an AI agent that works on its own:\n",
            ("may it do this?", "bold"),
            f"\n\n{loaded}",
        )
        return _panel(welcome, "a guided tour")

    def _chapters(self) -> Iterator[Callable[[], None]]:
        """Yield what shows each chapter."""
        yield from (partial(self._show_chapter, each) for each in CHAPTERS)
        yield self._show_policy
        yield self._show_explanation
        yield self._show_run
        yield from (partial(self._show_story, each) for each in STORIES)

    def _turn_page(self) -> None:
        """Wait for Enter; `q` leaves."""
        self._rows = 0
        if not self._interactive:
            return
        answer = self._console.input("\n[dim]  Enter goes on, q leaves [/]")
        if answer.strip().lower() in {"q", "quit", "exit"}:
            raise _LeftError

    def _take_questions(self) -> None:
        """Let the visitor ask until an empty line."""
        if not self._interactive:
            return
        self._show(
            Rule("[bold]Your turn[/]", align="left", style="cyan"),
            _said("Type any command line: it is judged, never run. An empty line ends."),
        )
        while line := self._console.input("\n  [bold cyan]$[/] ").strip():
            self._rows = 0
            verdict = judge(CommandAction(command=line), self._policy)
            self._show(*_texts(verdict_lines(verdict, width=self._width)))

    def _show_chapter(self, chapter: Chapter) -> None:
        self._show_heading(chapter.title, chapter.about)
        self._show_questions(chapter.questions, self._policy)

    def _show_policy(self) -> None:
        """Show a chapter that is judged by a policy with a rule of its own."""
        self._show_heading(TIGHTENED.title, TIGHTENED.about)
        try:
            policy = _policy_of(POLICY_EXAMPLE)
        except PolicyError as error:
            self._console.print(_said(f"This chapter cannot be shown: {error}"))
            return
        rule = Syntax(
            POLICY_EXAMPLE.rstrip(), "toml", theme="ansi_dark", background_color="default"
        )
        self._show(Panel(rule, title="policy.toml", border_style="dim"))
        self._show_questions(TIGHTENED.questions, policy)

    def _show_explanation(self) -> None:
        self._show_heading(
            "Every answer can be explained",
            "`--explain` shows how a line was read, what it would do, which rules "
            "matched, which were suppressed and by what, and what each gate decided.",
        )
        self._show(_indented(_shown_question(EXPLAINED, self._policy)))
        explanation = explain(EXPLAINED, self._policy)
        self._show(*_texts(explanation_lines(explanation, width=self._width)))

    def _show_run(self) -> None:
        self._show_heading("Answers go on the record", RUN_ABOUT)
        self._show(*_texts(run_story(width=self._width)))

    def _show_story(self, story: Story) -> None:
        self._show_heading(story.title, story.about)
        for beat in story.play():
            note = _indented(Text(beat.note, style="italic"))
            self._show(note, *_texts(beat_lines(beat, width=self._width)))

    def _show_heading(self, title: str, about: str) -> None:
        self._chapter += 1
        heading = f"[bold]{self._chapter}  {title}[/]"
        self._show(Rule(heading, align="left", style="cyan"), _said(about))

    def _show_questions(self, questions: Iterable[Question], policy: CompiledPolicy) -> None:
        for action, note in questions:
            verdict = judge(action, policy)
            row = Table.grid(expand=True, padding=(0, 1))
            row.add_column(ratio=1)
            row.add_column(justify="right", width=7)
            row.add_column(justify="right", width=9)
            took = Text(f"{_median_us(action, policy):,.0f} µs", style="dim")
            row.add_row(_shown_question(action, policy), _badge(verdict.decision), took)
            reasons = [_indented(_reasons(verdict), by=4)] if verdict.findings else []
            noted = _indented(Text(note, style="italic"))
            self._show(noted, Padding(row, (0, 0, 0, 2)), *reasons)

    def _show(self, *parts: RenderableType) -> None:
        """Print these below an empty line, on one screen where they fit on one."""
        heights = [len(self._console.render_lines(part, pad=False)) for part in parts]
        if self._rows + 1 + sum(heights) > _MOST_ROWS >= 1 + sum(heights):
            self._turn_page()
        self._print(Text(), 1)
        for part, height in zip(parts, heights, strict=True):
            self._print(part, height)

    def _print(self, part: RenderableType, height: int) -> None:
        if self._rows + height > _MOST_ROWS:
            self._turn_page()
        self._console.print(part)
        self._rows += height


def _where_to_go_on() -> Panel:
    commands = Table.grid(padding=(0, 2))
    for command, purpose in GO_ON:
        commands.add_row(Text(command, style="bold"), Text(purpose, style="dim"))
    return _panel(commands, "where to go on")


def _texts(lines: Iterable[Line]) -> Iterator[Text]:
    return (rich_text((Span("  "), *line)) for line in lines)


def _said(text: str) -> Padding:
    return _indented(Text(text, style="dim"))


def _panel(content: RenderableType, title: str) -> Panel:
    return Panel(content, title=title, border_style="cyan", padding=(1, 2))


def _indented(content: RenderableType, by: int = 2) -> Padding:
    return Padding(content, (0, 0, 0, by), expand=False)


def _reasons(verdict: Verdict) -> Table:
    """Return the findings; what to do instead hangs below its arrow."""
    reasons = Table.grid(padding=(0, 1, 0, 0))
    for finding in verdict.findings:
        reasons.add_row(Text("·"), Text(escape(finding.message)))
        reasons.add_row(Text("→", style="dim"), Text(escape(finding.remediation), style="dim"))
    return reasons


def _badge(decision: Decision) -> Text:
    word, _ = ANSWERS[decision]
    return Text(f"{word.upper():^7}", style=BADGES[decision][0].value)


def _shown_question(action: Action, policy: CompiledPolicy) -> Text:
    match action:
        case CommandAction(command=command):
            mark, text = "$ ", command
        case ToolAction(name=name, params=params):
            arguments = params if isinstance(params, str) else json_text(params)
            mark, text = "call ", f"{name} {arguments}"
        case EditAction(path=path, content=content):
            mark, text = "write ", f"{path} ({counted(len(content.splitlines()), 'line')})"
        case _:
            assert_never(action)
    shown = escape(Redactor(policy.scanner.scan, []).text(text))
    return Text.assemble((mark, "bold cyan"), (shown, "bold"))


def _median_us(action: Action, policy: CompiledPolicy) -> float:
    """Return what an answer costs once everything is warm, in microseconds."""
    times: list[float] = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        judge(action, policy)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _policy_of(policy: str) -> CompiledPolicy:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.toml"
        file.write_text(policy)
        return load_policy(user=file)
