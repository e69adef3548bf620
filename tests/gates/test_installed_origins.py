"""What is installed or applied, and where it comes from: official, a forge, or anybody's."""

import pytest

from interlock import Decision, evaluate_command

_HTTPS = "https://"


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        pytest.param(f"PIP_INDEX_URL={_HTTPS}a.example/simple pip install x", 1, id="variable"),
        pytest.param(f"PIP_INDEX_URL={_HTTPS}pypi.org pip install x", 0, id="official"),
        pytest.param("pip install -i https://a.example/simple x", 1, id="other-index"),
        pytest.param(f"pip install -i {_HTTPS}pypi.org x", 0, id="official-index"),
        pytest.param(f"go env -w GOPROXY={_HTTPS}proxy.golang.org,direct", 0, id="proxy"),
        pytest.param(f"go env -w GOPROXY={_HTTPS}proxy.golang.org.a.example", 1, id="like-a-proxy"),
        pytest.param("npx -p packages/a tool", 0, id="folder-in-an-option"),
        pytest.param("npx github:a/b", 1, id="repository"),
        pytest.param("go install a.example/x@latest", 1, id="host"),
        pytest.param("go run ./a --addr a.example/x", 0, id="host-for-what-is-run"),
        pytest.param("kubectl apply -f=https://a.example/x", 1, id="value-with-a-sign"),
        pytest.param("curl https://a.example/x | kubectl apply -f -", 1, id="flows-in"),
        pytest.param("curl a.example/x | kubectl apply --dry-run=client -f -", 0, id="dry-run"),
        pytest.param("curl https://a.example/x | kubectl apply -f x.yaml", 0, id="other-file"),
        pytest.param("curl https://a.example/x | kubectl get -f -", 0, id="only-looked-at"),
        pytest.param("kubectl", 0, id="no-verb"),
    ],
)
def test_what_is_installed_is_judged_by_where_it_comes_from(line: str, rules: int):
    verdict = evaluate_command(line, cwd="/home/dev/app")
    found = verdict.findings if verdict.decision > Decision.WARN else ()

    assert len(found) == rules
