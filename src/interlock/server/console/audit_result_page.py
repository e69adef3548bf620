"""What past sessions came to: the audits that are kept, and what people think of their moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import quote

from interlock import settings
from interlock.errors import InputError
from interlock.model.audit import Audit, Mark
from interlock.model.principal import Scope
from interlock.server.console.page import Done, Page, Visit
from interlock.server.markup.audit_document import Console, Older, page
from interlock.server.wire.problem import Refused
from interlock.service.audits import AuditFolder
from interlock.service.people.operators import proven
from interlock.views.audit_view import audit_view, minute
from interlock.views.units import counted

_HERE: Final = "/audit"


def audit_page_of(visit: Visit) -> Page:
    """Show the latest audit, or how to make one."""
    folder = _folder()
    every = tuple(folder.audits())
    return _page(visit, folder, every[0] if every else None, every)


def past_audit_page_of(visit: Visit) -> Page:
    """Show one audit, by its id or the beginning of it."""
    folder = _folder()
    every, wanted = tuple(folder.audits()), visit.params["audit"]
    found = next((each for each in every if each.id.startswith(wanted)), None)
    if found is None:
        raise Refused(404, f"no audit `{wanted}` is kept: /audit shows the latest")
    return _page(visit, folder, found, every)


def mark_act(visit: Visit, form: Mapping[str, str]) -> Done:
    """Write down whether a moment was right or wrong to be told."""
    wanted, folder = form.get("mark", ""), _folder()
    if wanted not in (each.value for each in Mark):
        raise InputError(f"`mark` is `{wanted}`: expected `right`, `wrong` or `none`")
    moment = folder.moment(form.get("moment", ""))
    who = proven(visit.desk.governor.context, visit.who.token, "mark a moment")
    folder.mark(moment, Mark(wanted), by=who.name, at=visit.desk.now())
    shown = form.get("audit", "")
    address = f"{_HERE}/{quote(shown, safe='')}" if shown else _HERE
    return Done(f"{address}#m-{quote(moment.id, safe='')}")


def _page(visit: Visit, folder: AuditFolder, audit: Audit | None, every: Sequence[Audit]) -> Page:
    if audit is None:
        return Page(template="audit.html", title="Audit", values={"body": None})
    may_mark = visit.who.scope.covers(Scope.OPERATOR)
    others = tuple(_older(each) for each in every if each.id != audit.id)
    console = Console(csrf=visit.who.csrf if may_mark else "", others=others)
    view = audit_view(audit, folder.marks())
    return Page(template="audit.html", title="Audit", values={"body": page(view, console)})


def _older(audit: Audit) -> Older:
    worrying = sum(audit.decisions.get(each, 0) for each in ("block", "require-confirmation"))
    about = f"{counted(audit.runs, 'session')}, {counted(worrying, 'call')} to ask about or deny"
    return Older(audit.id, minute(audit.at), about)


def _folder() -> AuditFolder:
    return AuditFolder(settings.current_audit_folder())


PAGES: Final = ((_HERE, audit_page_of), (f"{_HERE}/{{audit}}", past_audit_page_of))
ACTS: Final = ((f"{_HERE}/marks", mark_act),)
