"""Whether a call deletes something that a remote service holds.

Container classes have methods of the same names (`cache.delete`, `set.remove`), so a verb alone
says nothing: the receiver must look like a client, or the verb must name a remote thing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from interlock.commands.code.calls import Call

_CLIENT_WORDS: Final = frozenset(
    "client gateway api sdk boto3 stripe braintree algolia algoliasearch twilio sendgrid mailgun"
    " firebase firestore supabase prisma octokit shopify cloudflare heroku pinecone qdrant weaviate"
    " elasticsearch opensearch meilisearch typesense dynamodb s3 ec2 rds iam sqs sns route53"
    " cloudformation k8s kubernetes paypal square adyen mollie chargebee recurly auth0 okta"
    " launchdarkly datadog pagerduty sentry zendesk intercom hubspot salesforce mailchimp"
    " contentful sanity airtable notion linear jira digitalocean linode vultr hcloud azure gcp"
    " bigquery pubsub kafka rabbitmq consul vault fastly netlify vercel plaid".split()
)
_LOCAL_CLIENTS: Final = frozenset({"test_client", "testclient", "queryclient", "apolloclient"})
_REMOTE_THINGS: Final = frozenset(
    "dropdatabase dropcollection deleteindex clearobjects clearindex deletebucket deletetable"
    " terminateinstances deletedbinstance deletecluster deletestack deletehostedzone"
    " deleterepository deleteproject deleteorganization deletenamespace destroyall deleteall"
    " flushall flushdb deleteobjects deletequeue deletetopic deletevolume deletesnapshot"
    " deletesecret deletekeyspace purgequeue purgeeverything deletedatabase dropall".split()
)
_WITHOUT_FILTER: Final = frozenset({"deletemany", "removemany"})
_WHOLE_TABLES: Final = (".objects.all.delete", ".query.delete")
_LOCAL_ROOTS: Final = frozenset(
    "self this window document localstorage sessionstorage indexeddb caches cookies headers params"
    " searchparams formdata map set list dict cache store registry array tree node el element"
    " df pd np json console math object".split()
)


def deletes_remotely(call: Call) -> bool:
    """Whether the call asks a service to delete, destroy, purge or drop something it holds."""
    *receiver, verb = call.callee.split(".")
    if not receiver or receiver[0].lower() in _LOCAL_ROOTS:
        return False
    spelt = verb.replace("_", "").lower()
    if spelt in _REMOTE_THINGS or (spelt in _WITHOUT_FILTER and _has_no_filter(call)):
        return True
    if call.callee.endswith(_WHOLE_TABLES):
        return True
    if not _destructive().match(verb) or not _looks_like_client(receiver):
        return False
    return len(receiver) > 1 or _names_a_thing(verb)


def _has_no_filter(call: Call) -> bool:
    own = call.arguments[1:] if call.method else call.arguments
    return not own or own[0].text.replace(" ", "") in {"{}", "{where:{}}"}


def _looks_like_client(receiver: list[str]) -> bool:
    for part in receiver:
        if part.replace("_", "").lower() in _LOCAL_CLIENTS or part in _LOCAL_CLIENTS:
            return False
    return any(_last_word(part) in _CLIENT_WORDS for part in receiver)


def _last_word(name: str) -> str:
    """Return the last word of a name, in lower case: `client` of `s3_client` and `S3Client`."""
    words = _words().findall(name)
    return words[-1].lower() if words else ""


def _names_a_thing(verb: str) -> bool:
    """Whether the verb says what it deletes: `deleteUser`, `delete_user`, not `delete`."""
    return len(_words().findall(verb)) > 1


@cache
def _words() -> re.Pattern[str]:
    return re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@cache
def _destructive() -> re.Pattern[str]:
    return re.compile(r"(?:delete|del|destroy|purge|drop|remove|terminate|wipe|truncate)(?![a-z])")
