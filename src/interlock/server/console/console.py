"""The console: pages for people, forms that change something, what they are told of failures."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final
from urllib.parse import parse_qsl, quote

from starlette.routing import BaseRoute, Route

from interlock.model.principal import Scope as Rights
from interlock.model.run import LEDGER_RUN
from interlock.server.access.identity import EVERYBODY, Identity, cookie, is_agent, require_scope
from interlock.server.access.sign_in import session_cookie
from interlock.server.console import (
    audit_result_page,
    decision_page,
    inbox_page,
    loop_status_page,
    overview_page,
    policy_page,
    run_detail_page,
    runs_page,
    search_page,
    sign_in_page,
)
from interlock.server.console.page import ActFunction, Done, Page, PageFunction, Visit
from interlock.server.console.templates import STATIC, Checked, Frame, rendered, static_path
from interlock.server.desk.desk import Desk
from interlock.server.desk.live import stream
from interlock.server.wire.http_message import (
    Headers,
    Receiver,
    Scope,
    Sender,
    header,
    send_answer,
    whole_body,
)
from interlock.server.wire.problem import Problem, Refused
from interlock.views.loop_view import loop_state
from interlock.views.run_view import all_halted

Asgi = Callable[[Scope, Receiver, Sender], Awaitable[None]]

_HTML: Final = "text/html; charset=utf-8"
_LARGEST_FORM: Final = 256 * 1024
_MOST_FIELDS: Final = 100
_FOR_EVER: Final = (("cache-control", "public, max-age=31536000, immutable"),)
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_YEAR_S: Final = 31_536_000
_HOME: Final = "/"
_ERROR: Final = "error.html"

PAGES: Final[Sequence[tuple[str, PageFunction]]] = (
    *overview_page.PAGES,
    *inbox_page.PAGES,
    *runs_page.PAGES,
    *run_detail_page.PAGES,
    *decision_page.PAGES,
    *policy_page.PAGES,
    *loop_status_page.PAGES,
    *audit_result_page.PAGES,
    *search_page.PAGES,
)
ACTS: Final[Sequence[tuple[str, ActFunction]]] = (
    *inbox_page.ACTS,
    *run_detail_page.ACTS,
    *decision_page.ACTS,
    *policy_page.ACTS,
    *loop_status_page.ACTS,
    *audit_result_page.ACTS,
)


class Console:
    """Answers browsers."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """Every address that a browser may ask for."""
        shown = [_route(path, partial(self._show, page), "GET") for path, page in PAGES]
        acts = [_route(path, partial(self._act, act), "POST") for path, act in ACTS]
        return [
            *shown,
            *acts,
            _route("/login", self._login_page, "GET"),
            _route("/login", self._log_in, "POST"),
            _route("/enter", self._enter, "GET"),
            _route("/setup", self._set_up, "POST"),
            _route("/logout", self._log_out, "POST"),
            _route("/theme", self._theme, "POST"),
            _route("/keys", self._keys, "POST"),
            _route("/events", self._events, "GET"),
            _route("/static/{digest}/{name}", self._static, "GET"),
        ]

    async def tell(
        self,
        scope: Scope,
        send: Sender,
        told: Problem,
        headers: Headers = (),
    ) -> None:
        """Say what went wrong, as a page; whoever has to sign in is led there."""
        if told.status == 401 and scope["method"] == "GET":
            await _redirect(send, _login_address(scope))
            return
        values = {"problem": told, "path": scope["path"]}
        page = Page(template=_ERROR, title=told.title, values=values, status=told.status)
        try:
            who = await self._desk.driver.outside(lambda: self._desk.doorkeeper.identity(scope))
        except Refused:
            who = EVERYBODY
        # What stands around a page is for those who may see pages.
        await self._send(scope, send, page, EVERYBODY if is_agent(who) else who, headers)

    # Pages and forms.

    async def _show(
        self, page: PageFunction, scope: Scope, _receive: Receiver, send: Sender
    ) -> None:
        who = await self._who(scope, Rights.VIEWER)
        visit = self._visit(scope, who)
        made = await self._desk.driver.outside(lambda: page(visit))
        await self._send(scope, send, made, who)

    async def _act(self, act: ActFunction, scope: Scope, receive: Receiver, send: Sender) -> None:
        form, who = await self._form(scope, receive, Rights.OPERATOR)
        desk, visit = self._desk, self._visit(scope, who)

        def perform() -> Done | Page:
            desk.doorkeeper.refuse_governed(who, scope)
            return act(visit, form)

        done = await desk.driver.outside(perform)
        if isinstance(done, Done):
            await _redirect(send, done.to)
        else:
            await self._send(scope, send, done, who)

    async def _send(
        self,
        scope: Scope,
        send: Sender,
        page: Page,
        who: Identity,
        headers: Headers = (),
    ) -> None:
        has_parts = scope["method"] == "GET" and page.template != _ERROR
        part = _query(scope).get("part") if has_parts else None

        def render() -> bytes:
            frame = self._frame(scope, who)
            return rendered(page.template, page.title, page.values, frame, part).encode()

        body = await self._desk.driver.outside(render)
        await send_answer(send, page.status, body, _HTML, headers)

    def _frame(self, scope: Scope, who: Identity) -> Frame:
        desk = self._desk
        is_known = who is not EVERYBODY
        loop = loop_state(desk.ledger)
        head = desk.ledger.rows.head()
        own = desk.ledger.state(LEDGER_RUN)
        return Frame(
            now=desk.now(),
            position=head.records,
            waiting=sum(1 for _ in desk.governor.approvals("pending")) if is_known else 0,
            who=who.name if is_known else "",
            scope=who.scope.value,
            csrf=who.csrf if is_known else "",
            theme=_theme_of(scope),
            keys=cookie(scope, "keys") != "off",
            ledger=desk.ledger.store.name if is_known else "",
            records=head.records,
            checked=_checked(desk),
            policy="" if own is None else own.policy_hash,
            frozen=None if loop.frozen is None or not is_known else loop.frozen.reason,
            halted=all_halted(desk.ledger) if is_known else None,
        )

    def _visit(self, scope: Scope, who: Identity) -> Visit:
        return Visit(self._desk, who, scope["path_params"], _query(scope), _theme_of(scope))

    async def _who(self, scope: Scope, needed: Rights) -> Identity:
        who = await self._desk.driver.outside(lambda: self._desk.doorkeeper.identity(scope))
        require_scope(who, needed)
        return who

    async def _form(
        self,
        scope: Scope,
        receive: Receiver,
        needed: Rights,
    ) -> tuple[Mapping[str, str], Identity]:
        """Return what a form says, and whose it is: only a page of ours can have sent it."""
        who = await self._who(scope, needed)
        form = await _fields(scope, receive)
        if not hmac.compare_digest(form.get("csrf", "").encode(), who.csrf.encode()):
            raise Refused(403, "the form is not of this session: load the page again and send it")
        return form, who

    # Coming in and leaving.

    async def _refuse_governed(self, scope: Scope) -> None:
        """Let no process in that descends from a governed run's, whatever it has found."""
        keeper = self._desk.doorkeeper
        who = EVERYBODY._replace(peer=scope["state"].get("peer"))
        await self._desk.driver.outside(lambda: keeper.refuse_governed(who, scope))

    async def _login_page(self, scope: Scope, _receive: Receiver, send: Sender) -> None:
        desk, to = self._desk, _query(scope).get("to", _HOME)
        page = await desk.driver.outside(lambda: sign_in_page.login_page(desk, to))
        await self._send(scope, send, page, EVERYBODY)

    async def _log_in(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        desk, form = self._desk, await _fields(scope, receive)
        await self._refuse_governed(scope)
        session = await desk.driver.outside(lambda: sign_in_page.signed_in(desk, form))
        if isinstance(session, Page):
            await self._send(scope, send, session, EVERYBODY)
        else:
            await _redirect(send, _safe(form.get("to", _HOME)), session_cookie(scope, session))

    async def _enter(self, scope: Scope, _receive: Receiver, send: Sender) -> None:
        # Whoever only looks whether the link is there does not use it up.
        code = _query(scope).get("code", "") if scope["method"] == "GET" else ""
        desk = self._desk
        await self._refuse_governed(scope)
        session = await desk.driver.outside(lambda: sign_in_page.entered(desk, code))
        if isinstance(session, Page):
            await self._send(scope, send, session, EVERYBODY)
        else:
            await _redirect(send, _HOME, session_cookie(scope, session))

    async def _set_up(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        desk, form = self._desk, await _fields(scope, receive)
        await self._refuse_governed(scope)
        made = await desk.driver.outside(lambda: sign_in_page.set_up(desk, form))
        headers = [session_cookie(scope, made.session)] if made.session else []
        await self._send(scope, send, made.page, EVERYBODY, headers)

    async def _log_out(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        _, who = await self._form(scope, receive, Rights.VIEWER)
        desk = self._desk
        await desk.driver.outside(lambda: desk.operations.sign_out(who.token))
        await _redirect(send, "/login", session_cookie(scope, ""))

    async def _theme(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        form, _ = await self._form(scope, receive, Rights.VIEWER)
        chosen = form.get("theme", "")
        age = _YEAR_S if chosen in ("light", "dark") else 0
        value = f"theme={chosen if age else ''}; Path=/; Max-Age={age}; SameSite=Strict"
        back = _safe(form.get("to", "") or _HOME)
        await _redirect(send, back, ("set-cookie", value))

    async def _keys(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        form, _ = await self._form(scope, receive, Rights.VIEWER)
        chosen = "on" if form.get("keys") else "off"
        value = f"keys={chosen}; Path=/; Max-Age={_YEAR_S}; SameSite=Strict"
        await _redirect(send, "/keys", ("set-cookie", value))

    # Everything else.

    async def _events(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        await self._who(scope, Rights.VIEWER)
        given = header(scope, b"last-event-id") or _query(scope).get("after", "")
        news = self._desk.news
        is_place = given.isascii() and given.isdecimal() and len(given) < 16
        after = int(given) if is_place else news.position
        await stream(news, after, receive, send)

    async def _static(self, scope: Scope, _receive: Receiver, send: Sender) -> None:
        name = scope["path_params"]["name"]
        found = next((each for each in STATIC.iterdir() if each.name == name), None)
        if found is None or scope["path"] != static_path(name):
            raise Refused(404, "there is nothing at this address")
        kind = _TYPES[found.suffix]
        await send_answer(send, 200, found.read_bytes(), kind, _FOR_EVER)


def _route(path: str, handler: Asgi, method: str) -> Route:
    return Route(path, _Asgi(handler), methods=[method])


class _Asgi:
    """A handler that takes scope, receive and send: the router tells those by their class."""

    def __init__(self, handler: Asgi) -> None:
        self._handler = handler

    async def __call__(self, scope: Scope, receive: Receiver, send: Sender) -> None:
        await self._handler(scope, receive, send)


async def _fields(scope: Scope, receive: Receiver) -> Mapping[str, str]:
    """Return the fields of a form; raise Refused where it was sent by another site's page."""
    origin, site = header(scope, b"origin"), header(scope, b"sec-fetch-site")
    own = f"{scope['scheme']}://{header(scope, b'host')}"
    # Without a referrer browsers tell no origin of a page of ours either, only that it is ours.
    untold = ("", "null") if site == "same-origin" else ("",)
    if site not in ("", "same-origin", "none") or origin not in (*untold, own):
        raise Refused(403, f"the form comes from `{(origin or site)[:100]}`, not from this server")
    body = await whole_body(receive, _LARGEST_FORM)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError as error:
        raise Refused(400, f"the form cannot be read: {error}") from None


async def _redirect(send: Sender, to: str, *headers: tuple[str, str]) -> None:
    await send_answer(send, 303, b"", _HTML, (("location", to), *headers))


def _login_address(scope: Scope) -> str:
    query = scope["query_string"].decode("latin-1")
    asked = scope["path"] + (f"?{query}" if query else "")
    return "/login" if asked == _HOME else f"/login?to={quote(asked, safe='')}"


def _safe(address: str) -> str:
    """Return an address of this server; whatever leads elsewhere leads home."""
    is_own = address.startswith("/") and not address.startswith(("//", "/\\"))
    return quote(address, safe="/?&=%:+,;@-._~") if is_own and address.isprintable() else _HOME


def _query(scope: Scope) -> Mapping[str, str]:
    try:
        return dict(parse_qsl(scope["query_string"].decode("latin-1"), max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise Refused(400, f"more than {_MOST_FIELDS} values stand behind the path") from None


def _checked(desk: Desk) -> Checked | None:
    verified = desk.checks.verified
    return None if verified is None else Checked(at=verified.at, whole=verified.whole)


def _theme_of(scope: Scope) -> str | None:
    chosen = cookie(scope, "theme")
    return chosen if chosen in ("light", "dark") else None
