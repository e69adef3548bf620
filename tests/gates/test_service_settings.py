"""What a service is told by settings: open to all, unprotected, scaled to nothing, switched off."""

import pytest

from interlock import Decision, evaluate_command


def _rules(line: str) -> list[str]:
    verdict = evaluate_command(line, cwd="/home/dev/app")
    return [each.rule for each in verdict.findings if verdict.decision > Decision.WARN]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        pytest.param("upctl fw set f --source '*'", "vendor.lay-open", id="anybody"),
        pytest.param("upctl fw create f --source=::/0", "vendor.lay-open", id="made-open"),
        pytest.param("upctl disk update db1 --public-access on", "vendor.lay-open", id="public"),
        pytest.param("upctl disk update db1 --visibility public", "vendor.lay-open", id="visible"),
        pytest.param("upctl disk update db1 --private false", "vendor.lay-open", id="not-private"),
        pytest.param("upctl fw set f ip_filter=::/0", "vendor.lay-open", id="anywhere"),
        pytest.param("upctl disk setacl db1 public-read", "vendor.lay-open", id="by-its-name"),
        pytest.param("upctl pool resize p --size 0", "vendor.scale-down", id="no-size"),
        pytest.param(
            "auth0 api patch x/1 --data '{\"enabled\": false}'", "vendor.http-delete", id="own-api"
        ),
        pytest.param("upctl db update db1 --no-backup", "vendor.unprotect", id="taken-back"),
        pytest.param("upctl db edit db1 --backup off", "vendor.unprotect", id="off"),
        pytest.param("upctl db put --versioning Status=Suspended", "vendor.unprotect", id="key"),
        pytest.param(
            "upctl db update db1 --settings '{\"audit\": false}'", "vendor.unprotect", id="json"
        ),
        pytest.param("upctl job update j --no-enabled", "vendor.disable", id="not-enabled"),
        pytest.param("upctl job update j --active false", "vendor.disable", id="not-active"),
        pytest.param("upctl pool update p --replicas 0", "vendor.scale-down", id="no-copies"),
        pytest.param("upctl pool update p --node-count=0", "vendor.scale-down", id="no-nodes"),
        pytest.param("gcloud run services update s --nodes 0", "vendor.scale-down", id="group"),
        pytest.param("upctl server stop web", "vendor.disable", id="machine"),
        pytest.param("shipit vm-halt web", "vendor.disable", id="machine-in-the-verb"),
        pytest.param("bmctool chassis power off", "vendor.disable", id="power"),
        pytest.param("shardctl peer remove p1", "vendor.delete", id="administers"),
        pytest.param(
            "curl -X PATCH a.example/x -d '{\"enabled\":false}'", "vendor.http-delete", id="body"
        ),
        pytest.param(
            "curl -X PATCH a.example/x -d '{\"archived\":true}'", "vendor.http-delete", id="state"
        ),
        pytest.param(
            "curl -X PUT a.example/x -d permission=admin", "vendor.http-delete", id="given"
        ),
        pytest.param(
            'curl a.example/vms/1/actions -d \'{"type":"power_off"}\'',
            "vendor.http-delete",
            id="action",
        ),
        pytest.param(
            "curl a.example/x -d '<delete><id>1</id></delete>'", "vendor.http-delete", id="tag"
        ),
        pytest.param(
            "aws --endpoint-url https://a.example sqs delete-queue --queue-url q",
            "vendor.delete",
            id="endpoint-elsewhere",
        ),
    ],
)
def test_settings_that_take_something_down_wait_for_a_person(line: str, rule: str):
    assert rule in _rules(line)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("upctl fw set f --source 10.0.0.0/8", id="one-range"),
        pytest.param("upctl fw set f --allow-destination '*'", id="way-out"),
        pytest.param("upctl disk update db1 --no-public-access", id="not-public"),
        pytest.param("upctl disk update db1 --public-key k", id="public-by-nature"),
        pytest.param("upctl disk update db1 --public-access off", id="public-off"),
        pytest.param("upctl disk create db1 --public-access on", id="just-made"),
        pytest.param("upctl db update db1 --backup daily", id="backup-on"),
        pytest.param("upctl db list --no-backup", id="looks"),
        pytest.param("upctl job update j --enabled", id="enabled"),
        pytest.param("upctl job update j --title a -- -", id="dashes"),
        pytest.param("upctl pool update p --min-replicas 0", id="rests"),
        pytest.param("upctl pool update p --title 0 --count 0", id="another-zero"),
        pytest.param("upctl job update j --note 'backup: off for now'", id="sentence"),
        pytest.param("upctl db update db1 --tags a=b,c=d --title x", id="labels"),
        pytest.param("shipit power", id="power-of-what"),
        pytest.param("shipit stop", id="stop-of-what"),
        pytest.param("shipit song stop", id="no-machine"),
        pytest.param("shipit server stop", id="a-server-of-its-own"),
        pytest.param("upctl app deploy a --public", id="deployed"),
        pytest.param("upctl server delete -h", id="help"),
        pytest.param("docker volume rm -h", id="help-of-a-verb"),
        pytest.param(
            "aws --endpoint-url http://localhost:4566 sqs delete-queue --queue-url q", id="emulator"
        ),
        pytest.param("aws --endpoint-url http://localhost:4566 s3 rb s3://t --force", id="rule"),
        pytest.param("upctl fw set f --advertise-routes ::/0", id="route"),
        pytest.param("curl -X PATCH a.example/x -d '{\"enabled\":true}'", id="body"),
    ],
)
def test_settings_of_everyday_work_go_on(line: str):
    assert _rules(line) == []
