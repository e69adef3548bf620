"""Asked from elsewhere: only with TLS, only with a token, only by its own names."""

from __future__ import annotations

import http.client
import ssl
from pathlib import Path

import pytest

from interlock.errors import InputError
from interlock.server.server_process import ServerOptions, ServerProcess
from patience import LONG_ENOUGH_S
from server.certificates import make_certificate
from server.served import Reply, Served, places_in, serving
from service.ledgers import in_memory


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that nobody but this test trusts, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = folder / "certificate.pem", folder / "key.pem"
    make_certificate(made, key)
    return made, key


def asked(served: Served, path: str, trusted: Path, **headers: str) -> Reply:
    port = int((served.listening.url or "").rpartition(":")[2])
    context = ssl.create_default_context(cafile=str(trusted))
    connection = http.client.HTTPSConnection(
        "127.0.0.1", port, context=context, timeout=LONG_ENOUGH_S
    )
    try:
        connection.request("GET", path, headers={"connection": "close", **headers})
        answer = connection.getresponse()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, told, answer.read())
    finally:
        connection.close()


def test_whoever_listens_wider_needs_tls(tmp_path: Path) -> None:
    from interlock.server.desk.desk import Desk  # noqa: PLC0415 - beside what it is refused to

    options = ServerOptions(places=places_in(tmp_path), host="0.0.0.0", port=0)

    with in_memory() as interlock, pytest.raises(InputError, match="`--tls-certificate`"):
        ServerProcess(Desk(interlock.governor), options)


def test_tls_is_spoken_with_those_who_show_a_token(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    made, key = certificate
    (tmp_path / "s").mkdir(mode=0o700)
    with serving(tmp_path, host="127.0.0.1", certificate=made, key=key) as served:
        assert (served.listening.url or "").startswith("https://")
        assert asked(served, "/healthz", made).status == 200
        assert asked(served, "/v1/runs", made).status == 401
        bearer = f"Bearer {served.tokens['viewer']}"
        assert asked(served, "/v1/runs", made, authorization=bearer).status == 200
        assert (
            asked(served, "/v1/runs", made, host="evil.example", authorization=bearer).status == 421
        )


def test_a_session_under_tls_is_bound_to_its_host(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    made, key = certificate
    (tmp_path / "s").mkdir(mode=0o700)
    with serving(tmp_path, host="127.0.0.1", certificate=made, key=key) as served:
        code = served.desk.links.new(served.tokens["ada"])
        entered = asked(served, f"/enter?code={code}", made)

        cookie = entered.headers["set-cookie"]
        assert entered.status == 303
        assert cookie.startswith("__Host-interlock=")
        assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=Strict", "Path=/"))
        # A link opens once.
        assert asked(served, f"/enter?code={code}", made).status == 403
