"""The page of an audit, as the console shows it and as a file that needs nothing else.

Both are made of the same parts. In the console an operator marks moments as right or wrong; in
the file each moment leads into its transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from interlock.model.audit import Audit, Mark, Marked, MomentKind
from interlock.server.markup.safe_html import Html, badge, element, joined, said, thin_bar
from interlock.views import units
from interlock.views.audit_view import (
    AuditedMoment,
    AuditView,
    Figure,
    Listed,
    RuleShare,
    audit_view,
)

STYLE: Final = Path(__file__).parent.parent / "static" / "console.css"
_LONG: Final = 240
"""What is longer is folded: its beginning tells what it is."""
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
OWN_REPORT: Final = element("meta", name="generator", content="Interlock audit report")
"""What tells a report of ours from any other page."""
"""Every report says so of itself: by that it is known again."""
_MARKS: Final = ((Mark.RIGHT, "Right"), (Mark.WRONG, "Wrong"))


_WHAT_IT_IS: Final = (
    "Interlock decides what AI agents may do before they do it: “deny” and “ask” are what it would"
    " have answered, had it been there."
)
_Row = Callable[[AuditedMoment], Html]


class Older(NamedTuple):
    """Another audit, to be looked at."""

    id: str
    when: str
    about: str


class Console(NamedTuple):
    """What the page has in the console that it has not as a file."""

    csrf: str = ""
    """Proves that a form is of this session; empty where its reader may not mark anything."""
    others: Sequence[Older] = ()


def html_report(audit: Audit, marks: Mapping[str, Marked]) -> str:
    """Return an audit as one file: it asks for nothing, runs no script, and prints."""
    view = audit_view(audit, marks)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        OWN_REPORT,
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"Audit of {view.when} · Interlock"),
        element("style", Html(STYLE.read_text(encoding="utf-8"))),
    )
    body = element(
        "body",
        element("a", "Skip to content", class_="skip", href="#main"),
        element("header", element("span", _emblem(), "Interlock", class_="brand"), class_="top"),
        element("main", page(view), class_="page", id="main", tabindex="-1"),
        _foot(view),
        data_page="audit",
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def page(view: AuditView, console: Console | None = None) -> Html:
    """Return what stands in the middle of the page, in the console or in a file."""
    return _Document(view, console).page()


class _Document:
    """Lays an audit out."""

    def __init__(self, view: AuditView, console: Console | None) -> None:
        self._view = view
        self._console = console

    def page(self) -> Html:
        view = self._view
        figures = element("dl", *map(_figure, view.figures), class_="figures band")
        left = (self._worst(), self._secrets(), self._loops(), self._false_done())
        right = (self._asked(), self._early(), self._measured(), self._unread(), self._others())
        columns = (element("div", *filter(None, each), class_="stack") for each in (left, right))
        split = element("div", *columns, class_="split")
        return joined([self._head(), element("div", figures, split, class_="stack")])

    def _head(self) -> Html:
        view = self._view
        crumbs = element("p", f"Audit / {view.when}", class_="crumbs")
        said_ = [element("h1", view.heading), element("p", view.summary, class_="muted")]
        if self._console is None:
            said_.append(element("p", _WHAT_IT_IS, class_="muted"))
        return joined(
            [crumbs, element("div", element("div", *said_), *self._acts(), class_="head")]
        )

    def _acts(self) -> Iterator[Html]:
        if self._console is not None:
            again = element("a", "Run again", class_="btn", href="#again")
            # Only a script can print: it shows the button.
            paper = element("button", "Print", type="button", data_print=True, hidden=True)
            yield element("div", again, paper, class_="row end")

    # What ran.

    def _worst(self) -> Html:
        listed = self._view.worst
        if not listed.count:
            none = "No call that ran would have been asked about or denied."
            told = none if self._view.asked else "No call could be judged."
            return _card("The most worrying moments", "", _note(told))
        count = len(listed.first)
        ten = "The ten most worrying moments" if count == 10 else "The most worrying moments"
        rows = _rows("ol", "rank", map(self._ranked, listed.first))
        return _card(
            ten, "what really ran, worst first", rows, *self._rest(listed, "call", self._line)
        )

    def _lines(self, listed: Listed, noun: str, row: _Row) -> Iterator[Html]:
        """Yield a list: what is shown at once, then the rest of it."""
        yield _rows("ul", "lines", map(row, listed.first))
        yield from self._rest(listed, noun, row)

    def _rest(self, listed: Listed, noun: str, row: _Row) -> Iterator[Html]:
        """Yield the others of a list, folded, and how many were only counted."""
        if listed.more:
            summary = element("summary", units.counted(len(listed.more), f"more {noun}"))
            rows = _rows("ul", "lines", map(row, listed.more))
            yield element("details", summary, rows, class_="rest")
        if listed.unlisted:
            others = units.counted(listed.unlisted, f"other {noun}")
            yield element("footer", f"and {others}, counted but not kept")

    def _ranked(self, each: AuditedMoment) -> Html:
        moment = each.moment
        traces = element("div", *self._traces(each), class_="traces")
        middle = element("div", _text(moment.text), self._why(each), traces)
        when = (element("br"), each.when) if each.when else ()
        session = element("span", f"session {each.session}", class_="whole")
        about = element("div", f"{each.project} · ", session, *when, title=moment.run)
        right = element("div", about, self._form(each), class_="meta")
        # Secrets have a list of their own, and one place is enough to lead to.
        anchor = None if moment.kind is MomentKind.SECRET else _anchor(each)
        return element("li", element("span", badge(moment.decision)), middle, right, id=anchor)

    def _why(self, each: AuditedMoment) -> Html:
        why = element("div", said(each.why, capital=False), class_="muted")
        instead = each.moment.instead
        if not instead:
            return why
        advice = element("div", "Instead: ", said(instead, capital=False), class_="meta")
        return joined([why, advice])

    def _line(self, each: AuditedMoment) -> Html:
        """Return a moment in a narrow list."""
        top = element("div", badge(each.moment.decision), " ", _text(each.moment.text))
        about = element("span", each.about, class_="meta", title=each.moment.run)
        return element("li", top, self._why(each), about, self._traced(each), id=_anchor(each))

    def _traced(self, each: AuditedMoment) -> Html:
        """Return where a moment stands, and what a person thinks or may say of it."""
        return element("div", *self._traces(each), self._form(each), class_="traces")

    def _traces(self, each: AuditedMoment) -> Iterator[Html]:
        folder, slash, name = each.place.rpartition("/")
        place = element("code", element("span", f"{folder}{slash}", class_="folder"), name)
        is_file = self._console is None
        if is_file and each.moment.path.startswith("/"):
            address = f"file://{quote(each.moment.path, errors='surrogatepass')}"
            place = element("a", place, href=address, title=each.place)
        yield element("span", place, class_="meta")
        given = each.marked
        if given is not None:
            yield element("span", f"marked {given.mark.value} by {given.by}", class_="meta")
        if is_file:
            yield element("span", "moment ", element("code", each.short), class_="meta")

    def _form(self, each: AuditedMoment) -> Html:
        """Return the two buttons, for whoever may use them."""
        if self._console is None or not self._console.csrf:
            return Html()
        hidden = {"csrf": self._console.csrf, "audit": self._view.id, "moment": each.moment.id}
        fields = [
            element("input", type="hidden", name=name, value=text) for name, text in hidden.items()
        ]
        buttons = [
            element(
                "button",
                label,
                element("span", f": {each.moment.text[:80]}", class_="sr"),
                class_="small",
                name="mark",
                # What is pressed already is taken back.
                value=(Mark.NONE if each.marked and each.marked.mark is mark else mark).value,
                aria_pressed="true" if each.marked and each.marked.mark is mark else "false",
            )
            for mark, label in _MARKS
        ]
        return element(
            "form", *fields, *buttons, method="post", action="/audit/marks", class_="marks"
        )

    def _secrets(self) -> Html | None:
        listed = self._view.secrets
        if not listed.count:
            return None
        about = f"{listed.count:,}, replaced here by what kind they are"
        rows = self._lines(listed, "secret", self._line)
        return _card("Secrets that went into commands", about, *rows)

    def _false_done(self) -> Html | None:
        listed = self._view.false_done
        if not listed.count:
            return None
        title = "Ended with failing tests and did not say so"
        rows = self._lines(listed, "turn", self._quote)
        return _card(title, self._view.false_done_in, *rows)

    def _loops(self) -> Html:
        listed = self._view.loops
        if not listed.count:
            return _card("Loops", "", _note("No session would have been paused or stopped."))
        about = "tokens after the point where the run would have been paused"
        parts = [self._loop_table(listed.first, "Loops")] if listed.first else []
        if listed.more:
            table = self._loop_table(listed.more, "More loops")
            shown = f"{len(listed.more):,}; the others are only counted"
            shown = shown if listed.unlisted else f"all {listed.count:,}"
            summary = element("summary", f"{self._view.other_loops}. Show {shown}")
            parts.append(element("details", summary, table, class_="rest"))
        elif self._view.other_loops:
            parts.append(element("footer", f"{self._view.other_loops}, counted but not kept."))
        return _card("Loops", about, *parts)

    def _loop_table(self, loops: Sequence[AuditedMoment], label: str) -> Html:
        heads = (
            ("what went round", ""),
            ("rounds", "num"),
            ("session", ""),
            ("paused at step", "num"),
            ("went on to", "num"),
            ("tokens burnt", "num"),
            ("share of the session", ""),
        )
        head = element("tr", *[element("th", name, class_=kind or None) for name, kind in heads])
        rows = element("tbody", *map(self._loop, loops))
        table = element("table", element("thead", head), rows, class_="fold loops")
        return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)

    def _loop(self, each: AuditedMoment) -> Html:
        moment = each.moment
        burnt = units.tokens(moment.tokens) if moment.tokens else "unknown"
        numbers = (
            ("rounds", f"{moment.rounds:,}" if moment.rounds else "-"),
            ("paused at step", f"{moment.step:,}"),
            ("went on to", f"{moment.steps:,}" if moment.steps else "unknown"),
            ("burnt", burnt),
        )
        cells = [element("td", text, class_="num", data_l=label) for label, text in numbers]
        share = element("span", f"{100 * moment.share:.0f} %", class_="meta")
        bar = (thin_bar(moment.share), share) if moment.tokens else ()
        names = (each.project, element("br"), each.session)
        session = element("td", *names, class_="muted", title=moment.run)
        why = element("div", said(each.why, capital=False), class_="muted")
        what = element("td", _text(moment.text), why, self._traced(each))
        return element(
            "tr", what, cells[0], session, *cells[1:], element("td", *bar), id=_anchor(each)
        )

    # How often, and what was left undone.

    def _asked(self) -> Html:
        view = self._view
        if not view.asked:
            return _card("How often you would be asked", "", _note("No call could be judged."))
        rate = element("span", view.asked, class_="strong")
        daily = f", {view.asked_daily}." if view.asked_daily else "."
        told = element("p", rate, daily, f" {view.asked_by}" if view.asked_by else "")
        rules = element("div", *map(_rule, view.rules), class_="budget") if view.rules else Html()
        parts: list[Html] = [element("div", told, rules, class_="body stack")]
        more = f"{view.other_rules}. " if view.other_rules else ""
        if view.rules:
            parts.append(element("footer", more, "Too many? ", *self._softer()))
        return _card("How often you would be asked", "", *parts)

    def _softer(self) -> tuple[str, ...]:
        if self._console is None:
            return "Switch a rule to “warn” in your policy and run the audit again.", ""
        policy = element("a", "policy", href="/policy")
        return "Switch a rule to “warn” and run the audit again: ", policy

    def _early(self) -> Html:
        listed = self._view.early
        if not listed.count:
            return _card("Stopped half-way", "", _note("No turn ended with announced work undone."))
        rows = self._lines(listed, "turn", self._quote)
        return _card("Stopped half-way", self._view.early_in, *rows)

    def _quote(self, each: AuditedMoment) -> Html:
        moment = each.moment
        came = each.then if moment.kind is MomentKind.EARLY_STOP else moment.why
        words = element("div", "“", element("bdi", moment.text), "”")
        about = joined([f"{each.about} · ", said(came, capital=False)])
        meta = element("span", about, class_="meta", title=moment.run)
        return element("li", words, meta, self._traced(each), id=_anchor(each))

    # How it was measured.

    def _measured(self) -> Html:
        view = self._view
        rows = [*view.facts, ("false alarms", view.marks)]
        facts = [
            part
            for label, told in groupby(rows, key=lambda row: row[0])
            for part in (element("dt", label), *[_fact(text) for _, text in told])
        ]
        body = element("div", element("dl", *facts, class_="facts"), class_="body")
        return _card("How this was measured", "", body, self._again())

    def _again(self) -> Html:
        run = element("code", "interlock audit")
        if self._console is not None:
            why = " in a terminal: this server reads no histories."
            return element("footer", "To run it again: ", run, why, id="again")
        mark = element("code", "interlock audit mark MOMENT right")
        words = " or wrong, or none to take it back."
        return element("footer", "To run it again: ", run, ". To mark a moment: ", mark, words)

    def _unread(self) -> Html | None:
        view = self._view
        if not view.unread_count:
            return None
        rows = [element("li", element("span", said(each, capital=False))) for each in view.unread]
        parts = [_rows("ul", "lines", rows)]
        others = view.unread_count - len(rows)
        if others:
            parts.append(element("footer", f"and {others:,} more"))
        return _card("Could not be read", f"{view.unread_count:,}, the rest was", *parts)

    def _others(self) -> Html | None:
        others = () if self._console is None else self._console.others
        if not others:
            return None
        rows = [
            element(
                "li",
                element("a", each.when, href=f"/audit/{quote(each.id, safe='')}"),
                element("span", each.about, class_="meta"),
            )
            for each in others
        ]
        return _card("Other audits", "", element("ul", *rows, class_="lines"))


def _card(title: str, about: str, *parts: str) -> Html:
    meta = (element("span", about, class_="meta"),) if about else ()
    return element("section", element("header", element("h2", title), *meta), *parts, class_="card")


def _rows(tag: str, kind: str, rows: Iterable[Html]) -> Html:
    within = tuple(rows)
    return element(tag, *within, class_=kind) if within else Html()


def _note(text: str) -> Html:
    return element("div", element("p", text, class_="muted"), class_="body")


def _figure(figure: Figure) -> Html:
    value = element("span", figure.value, title=figure.exact) if figure.exact else figure.value
    amount = element(
        "dd",
        value,
        element("small", figure.note),
        class_=f"c-{figure.tone}" if figure.tone else None,
    )
    return element("div", element("dt", figure.label), amount)


def _rule(each: RuleShare) -> Html:
    name, calls = element("code", each.rule), element("span", f"{each.calls:,}")
    return element("div", name, calls, thin_bar(each.share))


def _fact(text: str) -> Html:
    return element("dd", said(text, capital=False))


def _text(text: str) -> Html:
    """Return a command or a call; of a long one the beginning, and all of it where it is opened."""
    if len(text) <= _LONG:
        return element("code", text, class_="ran")
    begin = element("code", f"{text[:_LONG]}…", class_="ran")
    return element("details", element("summary", begin), element("pre", text, class_="exact"))


def _anchor(each: AuditedMoment) -> str:
    return f"m-{each.moment.id}"


def _foot(view: AuditView) -> Html:
    spans = (
        f"made by Interlock {view.version}",
        joined(["policy ", element("code", view.policy_hash[:16], title=view.policy_hash)]),
        "all times UTC",
    )
    return element("footer", *[element("span", each) for each in spans], class_="foot")


def _emblem() -> Html:
    drawn = element("path", d="M3 4h6v5h2V4h6v12h-6v-5H9v5H3z", fill="currentColor")
    return element("svg", drawn, width="20", height="20", viewBox="0 0 20 20", aria_hidden="true")
