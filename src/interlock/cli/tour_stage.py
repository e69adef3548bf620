"""How the guided tour looks: chapters, answers with their times, and the visitor's own questions."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Final, assert_never

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from interlock.cli.legible import json_text, legible
from interlock.cli.showing import BADGES, explanation_lines, finding_lines, rich_text
from interlock.cli.tour_chapters import POLICY_EXAMPLE, Chapter, Question
from interlock.errors import PolicyError
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.verdict import Decision, Verdict
from interlock.policy.actions.decide import Gates, judge
from interlock.policy.actions.redactor import Redactor
from interlock.service.catalogue import SECRETS, catalogue
from interlock.service.explaining import explain
from interlock.service.wiring import default_gates, load_gates

_WIDTH: Final = 80
_RUNS: Final = 15
_BADGE_NAMES: Final = {
    Decision.ALLOW: "ALLOW",
    Decision.WARN: "WARN",
    Decision.REQUIRE_CONFIRMATION: "ASK",
    Decision.BLOCK: "BLOCK",
}


class Stage:
    """The terminal during a tour; without a person at it, nothing waits."""

    def __init__(self, *, interactive: bool) -> None:
        self._interactive = interactive
        self._console = Console(highlight=False, width=_WIDTH)
        self._gates = default_gates()
        self._number = 0
        self._asked = 0

    def open(self) -> None:
        """Say what this is and how to move."""
        entries = catalogue(self._gates)
        kinds = sum(entry.pack == SECRETS for entry in entries)
        rules = len(entries) - kinds
        packs = len({entry.pack for entry in entries}) - 1
        welcome = Text.assemble(
            ("Interlock", "bold"),
            " answers one question about an AI agent that works on its own:\n",
            ("may it do this?", "bold italic"),
            "\n\n"
            f"{rules} rules in {packs} packs and {kinds} kinds of credentials are loaded. The questions\n"
            "below are put to the real gateway now. Nothing is run, nothing leaves this\n"
            "machine; the times are medians of warm calls in this process.",
        )
        self._console.print(
            Panel(welcome, title="a guided tour", border_style="cyan", padding=(1, 2))
        )

    def show_chapter(self, chapter: Chapter, gates: Gates | None = None) -> None:
        """Show a chapter: what it is about, then each question with its answer."""
        self._number += 1
        self._console.print()
        self._console.rule(f"[bold]{self._number}  {chapter.title}[/]", align="left", style="cyan")
        self._console.print(Padding(Text(chapter.about, style="dim"), (0, 2)))
        for question in chapter.questions:
            self._console.print()
            self._ask(question.action, gates or self._gates, question.note)

    def show_policy(self, chapter: Chapter) -> None:
        """Show a chapter under a policy with a rule of its own."""
        try:
            gates = _gates_of(POLICY_EXAMPLE)
        except PolicyError as error:
            self._console.print(
                Padding(Text(f"(this chapter cannot be shown: {error})", style="dim"), (1, 2))
            )
            return
        example = Syntax(
            POLICY_EXAMPLE.rstrip(),
            "toml",
            theme="ansi_dark",
            word_wrap=True,
            background_color="default",
        )
        self._console.print()
        self._console.print(Panel(example, title="policy.toml", border_style="dim"))
        self.show_chapter(chapter, gates)

    def show_explanation(self, action: Action) -> None:
        """Show the way to an answer."""
        self._number += 1
        self._console.print()
        self._console.rule(
            f"[bold]{self._number}  Every answer can be explained[/]", align="left", style="cyan"
        )
        self._console.print(
            Padding(
                Text(
                    "`--explain` shows how a line was read, who spoke, and who was silenced.",
                    style="dim",
                ),
                (0, 2),
            )
        )
        self._console.print()
        self._console.print(Padding(_question_text(action, self._gates), (0, 2)))
        self._console.print()
        for line in explanation_lines(explain(action, self._gates)):
            self._console.print(Padding(rich_text(line), (0, 0, 0, 2)))

    def goes_on(self) -> bool:
        """Wait for Enter; `q` leaves."""
        if not self._interactive:
            return True
        answer = self._console.input("\n[dim]  Enter: go on   q: leave [/]")
        return answer.strip().lower() not in {"q", "quit", "exit"}

    def take_questions(self) -> None:
        """Let the visitor ask until an empty line."""
        if not self._interactive:
            return
        self._console.print()
        self._console.rule("[bold]Your turn[/]", align="left", style="cyan")
        self._console.print(
            Padding(
                Text(
                    "Type any command line: it is judged, never run. An empty line ends.",
                    style="dim",
                ),
                (0, 2),
            )
        )
        while line := self._console.input("\n  [bold cyan]$[/] ").strip():
            self._show_answer(CommandAction(command=line), self._gates, Text(""))

    def close(self) -> None:
        """Say where to go on."""
        steps = Table.grid(padding=(0, 2))
        for command, purpose in (
            ("interlock check command 'LINE'", "ask about one line; --explain shows the way"),
            ("interlock check --jsonl", "ask in bulk: one JSON object per line"),
            ("interlock init", "write a policy to make your own"),
            ("interlock rules", "read every rule"),
            ("make docs", "the documentation, into build/docs"),
        ):
            steps.add_row(Text(command, style="bold"), Text(purpose, style="dim"))
        self._console.print()
        self._console.print(
            Panel(steps, title="where to go on", border_style="cyan", padding=(1, 2))
        )

    def leave(self) -> None:
        """End early without a fuss."""
        self._console.print()

    def _ask(self, action: Action, gates: Gates, note: str) -> None:
        self._show_answer(action, gates, _question_text(action, gates), note)

    def _show_answer(self, action: Action, gates: Gates, shown: Text, note: str = "") -> None:
        verdict = judge(action, gates)
        row = Table.grid(expand=True, padding=(0, 1))
        row.add_column(ratio=1)
        row.add_column(justify="right", width=7)
        row.add_column(justify="right", width=9)
        row.add_row(
            shown,
            _badge(verdict.decision),
            Text(f"{_median_us(action, gates):,.0f} µs", style="dim"),
        )
        self._console.print(Padding(row, (0, 0, 0, 2)))
        self._console.print(Padding(_reasons(verdict, note), (0, 10, 0, 4)))


def _reasons(verdict: Verdict, note: str) -> RenderableType:
    lines = [Text(note, style="dim italic")] if note else []
    for finding in verdict.findings:
        lines.append(Text(f"{legible(finding.message)}"))
        lines.append(Text(f"→ {legible(finding.remediation)}", style="dim"))
    return Text("\n").join(lines)


def _badge(decision: Decision) -> Text:
    return Text(f"{_BADGE_NAMES[decision]:^7}", style=BADGES[decision][0].value)


def _question_text(action: Action, gates: Gates) -> Text:
    match action:
        case CommandAction(command=command):
            mark, text = "$ ", command
        case ToolAction(name=name, params=params):
            mark, text = (
                "call ",
                f"{name} {params if isinstance(params, str) else json_text(params)}",
            )
        case EditAction(path=path, content=content):
            count = len(content.splitlines())
            mark, text = "write ", f"{path} ({count} line{'' if count == 1 else 's'})"
        case _:
            assert_never(action)
    return Text.assemble(
        (mark, "bold cyan"), (legible(Redactor(gates.scanner, []).text(text)), "bold")
    )


def _median_us(action: Action, gates: Gates) -> float:
    """Return what an answer costs once everything is warm, in microseconds."""
    times: list[float] = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        judge(action, gates)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def _gates_of(policy: str) -> Gates:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "policy.toml"
        file.write_text(policy)
        return load_gates(user=file)
