"""Services by their grammar: the same verbs in sub-commands, addresses and bodies."""

import pytest

from interlock import Decision, evaluate_command


def _rules(line: str) -> list[str]:
    verdict = evaluate_command(line, cwd="/home/dev/app")
    return [each.rule for each in verdict.findings if verdict.decision > Decision.WARN]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        pytest.param("stripe subscriptions cancel s1", "vendor.disable", id="verb-behind-noun"),
        pytest.param("atlas backups restores start x", "vendor.disable", id="made-restore"),
        pytest.param("velero restore create --from-backup x", "vendor.disable", id="noun-and-verb"),
        pytest.param("gcloud run services delete x", "vendor.delete", id="group-named-like-a-verb"),
        pytest.param("linode-cli databases mysql-delete 1", "vendor.delete", id="last-of-a-word"),
        pytest.param("netlify api deleteSite", "vendor.delete", id="camel-case"),
        pytest.param("dagster run terminate x", "vendor.delete", id="run-as-a-noun"),
        pytest.param("shipit bucket-delete x", "vendor.delete", id="any-program-last-of-a-word"),
        pytest.param("shipit builds cancel 3", "vendor.disable", id="any-program-behind-a-noun"),
        pytest.param("shipit build:cancel 3", "vendor.disable", id="any-program-colon"),
        pytest.param("shipit rollback", "vendor.disable", id="any-program"),
        pytest.param("Remove-ADUser bob", "vendor.delete", id="cmdlet"),
        pytest.param("Disable-ADAccount bob", "vendor.disable", id="cmdlet-off"),
        pytest.param("pwsh -c 'remove-vm web'", "vendor.delete", id="cmdlet-in-lower-case"),
        pytest.param(
            "gh api -X PATCH repos/o/r -F private=false", "vendor.http-delete", id="laid-open"
        ),
        pytest.param("shipit uninstall --all", "vendor.delete", id="all-of-it"),
        pytest.param("stripe post /v1/subscriptions/s/cancel", "vendor.http-delete", id="own-api"),
        pytest.param("gh api -X POST runs/1/cancel", "vendor.http-delete", id="forge-api"),
        pytest.param(
            "gh api graphql -f query='mutation{deleteRef(input:{refId:1}){x}}'",
            "vendor.http-delete",
            id="graphql-of-a-service",
        ),
        pytest.param(
            'curl -d \'{"query":"mutation { revokeKey(id: 1) { ok } }"}\' https://a.example/graphql',
            "vendor.http-delete",
            id="graphql-body",
        ),
        pytest.param(
            "curl https://a.example/v1/refunds -d charge=c1", "vendor.http-delete", id="made-refund"
        ),
        pytest.param(
            'curl -d \'{"action":"delete"}\' a.example/v1/x', "vendor.http-delete", id="ordered"
        ),
        pytest.param(
            "curl -d '{\"purge_everything\":true}' a.example/x", "vendor.http-delete", id="switched"
        ),
        pytest.param(
            'curl -X PATCH -d \'{"state":"archived"}\' a.example/x',
            "vendor.http-delete",
            id="state",
        ),
        pytest.param("curl --url a.example/x -X PURGE", "vendor.http-delete", id="method"),
        pytest.param("wget --method=POST a.example/j/1/cancel", "vendor.http-delete", id="wget"),
        pytest.param("wget --post-data=a a.example/j/1/cancel", "vendor.http-delete", id="posted"),
        pytest.param("http a.example/j/1/cancel a=b", "vendor.http-delete", id="httpie-items"),
        pytest.param(
            "Invoke-WebRequest -Uri https://a.example/1 -Method DELETE",
            "vendor.http-delete",
            id="powershell",
        ),
        pytest.param("curl -X POST localhost:9200/x/_close", "vendor.http-delete", id="local-mark"),
        pytest.param("bucketpurge b1", "vendor.delete", id="a-program-called-so"),
        pytest.param("shipit build delete b1", "vendor.delete", id="a-workshop-word-as-noun"),
        pytest.param("shipit users --yes delete-user u1", "vendor.delete", id="behind-a-switch"),
        pytest.param("shipit --name x delete-user u1", "vendor.delete", id="behind-a-value"),
        pytest.param("shipit -n delete-user u1", "vendor.delete", id="the-first-word"),
        pytest.param("fastly list-item delete --id 1", "vendor.delete", id="a-looking-noun"),
        pytest.param("Search-Mailbox -Query x -DeleteContent", "vendor.delete", id="a-switch"),
        pytest.param("bq query 'DELETE FROM a.b WHERE TRUE'", "sql.delete-all", id="a-query"),
    ],
)
def test_what_a_service_is_asked_to_destroy_waits_for_a_person(line: str, rule: str):
    assert rule in _rules(line)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("shipit test DeleteUser", id="a-test-by-its-name"),
        pytest.param("git init -q /tmp/x && cd /tmp/x && git branch -D a", id="nobodys-work"),
        pytest.param("shipit test delete", id="the-last-word-of-a-test"),
        pytest.param("shipit '\u4000' stop", id="a-word-without-letters"),
        pytest.param("aws ec2 terminate-instances help", id="asks-how-it-is-used"),
        pytest.param("bq query --dry_run 'DELETE FROM a.b WHERE TRUE'", id="a-query-tried-out"),
        pytest.param("shipit make component delete-dialog", id="what-is-made"),
        pytest.param("shipit checks --only delete-user", id="the-value-of-an-option"),
        pytest.param("aws sfn describe-execution --arn arn:purge:1", id="looks-at-a-name"),
        pytest.param("velero restore describe x", id="noun-that-is-looked-at"),
        pytest.param("wp cache flush", id="made-anew"),
        pytest.param("dokku cache:clear", id="made-anew-colon"),
        pytest.param("unleash features disable x", id="switched-back"),
        pytest.param("liquibase rollbackSQL v1", id="tells-the-sql"),
        pytest.param("railway run seed", id="run-as-a-verb"),
        pytest.param("heroku releases:info v3", id="colon-and-reading"),
        pytest.param("restic stats --mode restore-size", id="harmless-here"),
        pytest.param("restic restore latest --target /tmp/x", id="harmless-verb"),
        pytest.param("kopia cache restore-all", id="harmless-in-a-word"),
        pytest.param("shipit my-thing go", id="word-of-two"),
        pytest.param("shipit cancel", id="no-noun"),
        pytest.param("shipit services remove x", id="verb-of-services-only"),
        pytest.param("stripe post", id="no-address"),
        pytest.param("stripe charges create", id="made-harmlessly"),
        pytest.param("gh api graphql -f query='query{viewer{login}}'", id="query"),
        pytest.param("gh api repos/o/r/issues -f title='delete x'", id="field"),
        pytest.param("gh api", id="api-alone"),
        pytest.param("http", id="no-words"),
        pytest.param("http a.example/j/1/cancel a==b", id="asked-by-get"),
        pytest.param("curl -G -d a=b https://a.example/orders/1/cancel", id="data-in-the-address"),
        pytest.param("curl -X POST http://localhost:3000/orders/1/cancel", id="tried-out-here"),
        pytest.param("curl -X DELETE 127.0.0.1:8000/items/1", id="tried-out-deletion"),
        pytest.param("curl -X POST http://localhost:9999/orders/1/cancel", id="this-machine"),
        pytest.param("curl https://a.example/graphql -d mutation", id="mutation-of-nothing"),
        pytest.param("curl -X POST", id="no-url"),
        pytest.param('curl -X PATCH a.example/x -d \'{"state":"open"}\'', id="other-state"),
        pytest.param('curl a.example/q -d \'{"text":"a mutation deleteX("}\'', id="word-in-text"),
        pytest.param("Invoke-RestMethod https://a.example/1", id="powershell-get"),
        pytest.param("wget https://a.example/cancel", id="wget-get"),
    ],
)
def test_what_only_looks_or_makes_goes_on(line: str):
    assert _rules(line) == []


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Remove-ADUser bob -WhatIf", id="only-told"),
        pytest.param("Remove-Variable x", id="of-the-session"),
        pytest.param("Get-ADUser bob", id="another-verb"),
        pytest.param("remove-vm web", id="a-program-of-that-name"),
        pytest.param("gh api -X PATCH repos/o/r -f description=public", id="a-word-in-a-text"),
    ],
)
def test_names_of_cmdlets_and_fields_that_take_nothing_away(line: str):
    assert _rules(line) == []
