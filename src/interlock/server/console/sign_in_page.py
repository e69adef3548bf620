"""Coming in: with a passphrase, with a token, by a link that opens once; or as the first of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from interlock.errors import InputError, NotPermittedError
from interlock.server.console.page import Page
from interlock.server.desk.desk import Desk
from interlock.service.people.credentials import has_operator
from interlock.service.people.operators import check_setup

_CROWDED: Final = "too many tries within a minute: wait a minute, then try again"
_USED: Final = (
    "this link was used already or is older than ten minutes: `interlock login` prints a new one"
)


class Made(NamedTuple):
    """The first operator, or why there is none yet."""

    page: Page
    session: str = ""


def login_page(desk: Desk, to: str, refused: str = "", status: int = 200) -> Page:
    """Return the page to sign in at."""
    values = {
        "to": to,
        "refused": refused,
        "names": [each.name for each in desk.operations.operators()],
    }
    return Page(template="login.html", title="Sign in", values=values, status=status)


def signed_in(desk: Desk, form: Mapping[str, str]) -> str | Page:
    """Return a new session for a name and its passphrase, or a token; a page where not."""
    to = form.get("to", "/")
    # A token cannot be guessed: whoever shows one is not kept out by others who try passphrases.
    if not form.get("token") and desk.attempts.is_crowded():
        return login_page(desk, to, _CROWDED, 429)
    try:
        token = form.get("token") or desk.operations.unlock(
            form.get("name", ""), form.get("passphrase", "")
        )
        return desk.operations.sign_in(token)
    except (NotPermittedError, InputError) as error:
        return login_page(desk, to, str(error), 403)


def entered(desk: Desk, code: str) -> str | Page:
    """Return a new session for a link that opens once, or the page that it leads to."""
    token = desk.links.opened(code)
    if token is None:
        return login_page(desk, "/", _USED, 403)
    if token:
        return desk.operations.sign_in(token)
    # The link proves who started the server; a new one takes its place until the form is sent.
    check_setup(desk.governor.context)
    return _setup_page(desk.links.new(""))


def set_up(desk: Desk, form: Mapping[str, str]) -> Made:
    """Make the first operator, for whoever came by the link of the first start."""
    if desk.links.opened(form.get("code", "")) != "" or has_operator(desk.ledger):
        return Made(login_page(desk, "/", _USED, 403))
    name, passphrase = form.get("name", ""), form.get("passphrase", "")
    if passphrase != form.get("again", ""):
        return Made(_setup_page(desk.links.new(""), "the two passphrases are not the same", name))
    try:
        made = desk.operations.set_up(name, passphrase)
    except (InputError, NotPermittedError) as error:
        return Made(_setup_page(desk.links.new(""), str(error), name))
    session = desk.operations.sign_in(desk.operations.unlock(name, passphrase))
    values = {"name": made.name, "recovery_code": made.recovery_code}
    return Made(Page(template="setup_done.html", title="Welcome", values=values), session)


def _setup_page(code: str, refused: str = "", name: str = "") -> Page:
    values = {"code": code, "refused": refused, "name": name}
    status = 422 if refused else 200
    return Page(template="setup.html", title="Set up", values=values, status=status)
