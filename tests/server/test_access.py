"""Who may ask what: held over the whole table of routes, those of the console included."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from interlock.model.principal import Scope
from interlock.server.api.endpoints import ENDPOINTS
from interlock.server.console.console import ACTS, PAGES
from interlock.server.desk.endpoint import Endpoint
from server.served import Reply, Served
from service.ledgers import PASSPHRASE

FORM = {"content-type": "application/x-www-form-urlencoded"}
LOOKING = {
    ("POST", "/v1/policy/try"),
    ("POST", "/v1/ledger/verify"),
    ("POST", "/v1/runs/{run}/replay"),
}
"""What is sent and changes nothing."""
OWN_PAGES = [
    ("GET", "/events"),
    ("POST", "/logout"),
    ("POST", "/theme"),
    *(("GET", path) for path, _ in PAGES),
    *(("POST", path) for path, _ in ACTS),
]
"""What only somebody who signed in may ask for, in a browser."""


@pytest.fixture(scope="module")
def house(shared: Served) -> Served:
    """One server for all of these: nobody gets far enough to change anything."""
    shared.run()
    run = shared.run()
    shared.post(f"/v1/runs/{run}/actions", {"action": {"command": "git push --force origin main"}})
    return shared


def named(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"


def every(*, of: Scope | None = None) -> list[Endpoint]:
    return [each for each in ENDPOINTS if of is None or each.scope is of]


def asked(house: Served, endpoint: Endpoint, token: str | None) -> Reply:
    """Ask for what an endpoint is for, by what there is in the ledger."""
    run = house.get("/v1/runs?agent=agent&limit=1").value["runs"][0]["id"]
    approval = house.get("/v1/approvals").value["approvals"][0]["id"]
    values = {"run": run, "approval": approval, "scope": "agent/agent", "seq": "1"}
    path = re.sub(r"\{(\w+)(?::path)?\}", lambda at: values.get(at[1], "nothing"), endpoint.path)
    query = {name: run if name == "run" else "1" for name in endpoint.needs}
    if path.endswith("/wait"):
        query["seconds"] = "0"
    path += f"?{urlencode(query)}" if query else ""
    body: dict[str, object] | None = None if endpoint.method in ("GET", "DELETE") else {}
    return house.ask(endpoint.method, path, body, token=token)


@pytest.mark.parametrize("endpoint", every(), ids=named)
def test_without_a_token_nothing_is_told_but_that_it_is_there(
    house: Served, endpoint: Endpoint
) -> None:
    answer = asked(house, endpoint, None)

    if endpoint.scope is None:
        assert answer.status == 200
        assert endpoint.path in ("/healthz", "/readyz", "/metrics", "/v1/openapi.json")
    else:
        assert answer.status == 401
        assert "www-authenticate" in answer.headers
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "endpoint",
    [each for each in ENDPOINTS if each.scope not in (None, Scope.AGENT) and not each.agents],
    ids=named,
)
def test_an_agent_is_refused_where_people_decide_and_look(
    house: Served, endpoint: Endpoint
) -> None:
    assert asked(house, endpoint, house.tokens["agent"]).status == 403


@pytest.mark.parametrize(
    "endpoint",
    [each for each in ENDPOINTS if "{run}" in each.path or "{approval}" in each.path or each.needs],
    ids=named,
)
def test_an_agent_is_refused_in_the_runs_of_others(house: Served, endpoint: Endpoint) -> None:
    answer = asked(house, endpoint, house.tokens["other"])

    assert answer.status == 403, answer.body


def test_lists_show_an_agent_its_own_only(house: Served) -> None:
    assert house.get("/v1/runs", as_="other").value["runs"] == []
    assert house.get("/v1/approvals", as_="other").value["approvals"] == []
    assert len(house.get("/v1/runs", as_="agent").value["runs"]) == 2
    assert len(house.get("/v1/approvals", as_="agent").value["approvals"]) == 1


def test_an_agent_starts_no_run_for_another_or_below_anothers(house: Served) -> None:
    run = house.get("/v1/runs", as_="agent").value["runs"][0]["id"]

    assert house.post("/v1/runs", {"task": "x", "agent": "agent"}, as_="other").status == 403
    assert house.post("/v1/runs", {"task": "x", "parent": run}, as_="other").status == 403


@pytest.mark.parametrize(
    "endpoint", [each for each in every() if each.path != "/v1/stream"], ids=named
)
def test_a_viewer_changes_nothing(house: Served, endpoint: Endpoint) -> None:
    before = house.desk.ledger.rows.head()

    answer = asked(house, endpoint, house.tokens["viewer"])

    may = endpoint.method == "GET" or (endpoint.method, endpoint.path) in LOOKING
    assert (answer.status == 403) is (not may or endpoint.scope not in (None, Scope.VIEWER))
    assert house.desk.ledger.rows.head() == before


@pytest.mark.parametrize("endpoint", every(of=Scope.ADMIN), ids=named)
def test_an_operator_is_refused_what_admins_do(house: Served, endpoint: Endpoint) -> None:
    assert asked(house, endpoint, house.tokens["operator"]).status == 403


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=named)
def test_whatever_decides_is_for_people(endpoint: Endpoint) -> None:
    """Whoever is asked for proof is nobody who descends from a governed run."""
    if "token" in endpoint.given or endpoint.scope in (Scope.OPERATOR, Scope.ADMIN):
        assert endpoint.decides or endpoint.agents or endpoint.method == "GET"


@pytest.mark.parametrize(("method", "path"), OWN_PAGES)
def test_pages_are_for_those_who_signed_in(house: Served, method: str, path: str) -> None:
    path = re.sub(r"\{\w+(?::path)?\}", "nothing", path)
    stranger = house.ask(method, path, b"" if method == "POST" else None, headers=FORM)
    agent = house.ask(method, path, b"" if method == "POST" else None, token=house.tokens["agent"])

    assert stranger.status == (303 if method == "GET" else 401)
    assert stranger.headers.get("location", "/login").startswith("/login")
    assert agent.status == 403


@pytest.mark.parametrize("path", [path for path, _ in ACTS])
def test_no_form_is_a_viewers(house: Served, path: str) -> None:
    path = re.sub(r"\{\w+(?::path)?\}", "nothing", path)

    assert house.post(path, b"", as_="viewer", headers=FORM).status == 403


@pytest.mark.parametrize("shown", ["Bearer nonsense", "Basic dXNlcg==", "Bearer ", "x"])
def test_a_credential_that_is_none_is_refused(house: Served, shown: str) -> None:
    answer = house.ask("GET", "/v1/runs", headers={"authorization": shown})

    assert answer.status == 401
    assert "nonsense" not in answer.body.decode()


def test_a_token_that_was_revoked_opens_nothing(house: Served) -> None:
    made = house.post("/v1/tokens", {"name": "ci", "scope": "viewer"}, as_="admin").value["token"]
    assert house.ask("GET", "/v1/ledger", token=made).status == 200
    listed = house.get("/v1/tokens", as_="admin").value
    own = next(each["credential"] for each in listed if each["name"] == "ci")

    assert house.ask("DELETE", f"/v1/tokens/{own}", token=house.tokens["admin"]).status == 204

    assert house.ask("GET", "/v1/ledger", token=made).status == 401


def test_no_answer_repeats_a_token(house: Served) -> None:
    token = house.tokens["agent"]
    told = house.post("/v1/runs", {"task": 5, token: token})

    assert told.status == 422
    assert token[:40] not in told.body.decode()


# Browsers.


@pytest.fixture
def session(house: Served) -> str:
    """The cookie of somebody who signed in."""
    house.desk.attempts._at.clear()
    fields = urlencode({"name": "ada", "passphrase": PASSPHRASE}).encode()
    answer = house.ask("POST", "/login", fields, headers=FORM)
    assert answer.status == 303
    return answer.headers["set-cookie"].partition(";")[0]


def test_the_cookie_of_a_session_is_for_this_server_alone(house: Served) -> None:
    house.desk.attempts._at.clear()
    fields = urlencode({"token": house.tokens["viewer"]}).encode()
    answer = house.ask("POST", "/login", fields, headers=FORM)

    flags = {each.strip() for each in answer.headers["set-cookie"].split(";")[1:]}
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= flags
    assert house.tokens["viewer"] not in answer.headers["set-cookie"]


def test_a_session_that_was_chosen_by_somebody_else_is_not_taken_over(house: Served) -> None:
    house.desk.attempts._at.clear()
    fixed = "interlock=chosen-by-somebody-else"
    fields = urlencode({"name": "ada", "passphrase": PASSPHRASE}).encode()
    answer = house.ask("POST", "/login", fields, headers={**FORM, "cookie": fixed})

    given = answer.headers["set-cookie"].partition(";")[0]
    assert given != fixed
    assert house.ask("GET", "/v1/runs", headers={"cookie": fixed}).status == 401
    assert house.ask("GET", "/v1/runs", headers={"cookie": given}).status == 200


def test_two_cookies_of_one_name_are_none(house: Served, session: str) -> None:
    answer = house.ask("GET", "/v1/runs", headers={"cookie": f"{session}; interlock=other"})

    assert answer.status == 401


def test_a_browser_changes_nothing_through_the_api(house: Served, session: str) -> None:
    before = house.desk.ledger.rows.head()
    answer = house.ask("POST", "/v1/loop/freeze", {"reason": "x"}, headers={"cookie": session})

    assert answer.status == 403
    assert house.desk.ledger.rows.head() == before


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"csrf": ""},
        {"csrf": "0" * 64},
    ],
)
def test_a_form_without_the_word_of_its_session_is_refused(
    house: Served, session: str, sent: dict[str, str]
) -> None:
    body = urlencode(sent).encode()

    assert house.ask("POST", "/logout", body, headers={**FORM, "cookie": session}).status == 403
    assert house.ask("GET", "/v1/runs", headers={"cookie": session}).status == 200


@pytest.mark.parametrize(
    "from_elsewhere",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_form_of_another_site_is_refused(
    house: Served, session: str, from_elsewhere: dict[str, str]
) -> None:
    who = house.desk.doorkeeper.shown(session.partition("=")[2])
    assert who.principal.name == "ada"
    for path, fields in (
        ("/logout", {"csrf": "x"}),
        ("/login", {"token": house.tokens["viewer"]}),
        ("/setup", {"code": "x"}),
    ):
        headers = {**FORM, **from_elsewhere, "cookie": session}
        answer = house.ask("POST", path, urlencode(fields).encode(), headers=headers)

        assert answer.status == 403, path
        assert "set-cookie" not in answer.headers


def test_signing_out_ends_the_session(house: Served, session: str) -> None:
    shown = session.partition("=")[2]
    scope: dict[str, object] = {
        "type": "http",
        "scheme": "http",
        "state": {},
        "headers": [(b"cookie", session.encode())],
    }
    csrf = house.desk.doorkeeper.identity(scope).csrf
    body = urlencode({"csrf": csrf}).encode()

    assert house.ask("POST", "/logout", body, headers={**FORM, "cookie": session}).status == 303
    assert house.ask("GET", "/v1/runs", headers={"cookie": session}).status == 401
    assert shown not in str(house.ask("GET", "/login").body)


@pytest.mark.parametrize("path", ["/login", "/nothing", "/enter?code=x"])
def test_no_page_stands_in_a_frame_or_runs_what_is_not_ours(house: Served, path: str) -> None:
    headers = house.ask("GET", path).headers

    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
@pytest.mark.parametrize("path", ["/v1/runs", "/login", "/healthz"])
def test_a_name_that_only_points_here_is_refused(house: Served, host: str, path: str) -> None:
    answer = house.ask("GET", path, token=house.tokens["viewer"], headers={"host": host})

    assert answer.status == 421


def test_whoever_guesses_has_to_wait(house: Served) -> None:
    house.desk.attempts._at.clear()
    fields = urlencode({"name": "ada", "passphrase": "guessed"}).encode()
    statuses = [house.ask("POST", "/login", fields, headers=FORM).status for _ in range(12)]
    house.desk.attempts._at.clear()

    assert statuses == [403] * 10 + [429] * 2


def test_a_link_opens_once(house: Served) -> None:
    url = house.post("/v1/links", as_="operator").value["url"]
    path = url.removeprefix(house.listening.url or "")

    first, second = house.ask("GET", path), house.ask("GET", path)

    assert first.status == 303
    assert first.headers["set-cookie"].startswith("interlock=")
    assert "code=" not in first.headers["location"]
    assert second.status == 403
    assert "set-cookie" not in second.headers
