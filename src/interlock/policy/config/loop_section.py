"""What the policy file says about the system loop: each field is a key."""

from collections.abc import Mapping

from interlock.policy.config.key import (
    Budget,
    Choice,
    Money,
    Number,
    Section,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    key,
)
from interlock.policy.config.run_sections import BUDGET_KEYS

_PER_HOUR = Number(0, 1000, tighter=Tighter.SMALLER)
_MAY = Choice(("allow", "require-confirmation", "off"))
"""What becomes of an action, from free to never."""


class Job(Section, omit_defaults=True):
    """Something that the loop may start: a command line of yours, as a governed run."""

    name: str = key("What decisions call it; no other job may have it.", Text(TextKind.GATE_ID))
    command: tuple[str, ...] = key(
        "A program and its arguments, run without a shell.", Texts(TextKind.WORD, is_ordered=True)
    )
    workspace: str | None = key(
        "The folder that it runs in; by default the one in which the loop was started.",
        Text(TextKind.PLAIN),
        default=None,
    )
    on: tuple[str, ...] = key(
        (
            "The events after which the rules start it, exact names or globs where a `*` is"
            " written; `heartbeat` is one."
        ),
        Texts(TextKind.GLOB),
        default=(),
    )
    timeout_seconds: int = key(
        "How many seconds it may run; 3600 by default.", Number(1, 604_800), default=3600
    )


class EventSink(Section, omit_defaults=True):
    """Somebody outside who gets every event."""

    name: str = key("What deliveries call it.", Text(TextKind.GATE_ID))
    kind: str = key(
        "The protocol: a signed webhook, or the event API of Inngest.",
        Choice(("webhook", "inngest")),
    )
    url: str = key(
        "Its address; plain `http` is allowed for this computer only.", Text(TextKind.PLAIN)
    )
    secret_variable: str = key(
        "The environment variable that holds the signing secret or the event key.",
        Text(TextKind.PLAIN),
    )
    timeout_seconds: int = key(
        "How many seconds one delivery may take; 10 by default.", Number(1, 300), default=10
    )


class SystemLoop(Section, title="What the system does next"):
    """When the loop looks around, who decides, and what it may do by itself."""

    mode: str = key(
        "Whether the loop acts (`enforce`), only records what it would do (`shadow`), or is `off`.",
        Choice(("enforce", "shadow", "off"), tighter=Tighter.USER_ONLY),
        default="enforce",
        more=('"off" still records what triggered it. In the user\'s file only.'),
    )
    decider: str = key(
        "Who chooses the next action.",
        Choice(("model", "rules"), tighter=Tighter.USER_ONLY),
        default="rules",
        more='"rules" needs no model. In the user\'s file only.',
    )
    heartbeat_minutes: int = key(
        "How often the loop starts a cycle by itself.",
        Number(1, 60, tighter=Tighter.LARGER),
        default=15,
        more="In minutes; events start a cycle at once.",
    )
    debounce_seconds: int = key(
        "Events within this time after another are handled in one cycle.",
        Number(0, 3600, tighter=Tighter.LARGER),
        default=2,
        more="In seconds.",
    )
    max_depth: int = key(
        "How many decisions of the loop may cause one another in a row.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=3,
        more="One more is refused.",
    )
    source_timeout_seconds: int = key(
        "How long one source of the snapshot may take.",
        Number(1, 300, tighter=Tighter.SMALLER),
        default=5,
        more="In seconds; a slower one counts as unknown.",
    )
    stale_minutes: int = key(
        "Work without a person's answer or without progress for this long counts as stale.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=60,
        more="In minutes.",
    )
    events: tuple[str, ...] = key(
        "Names of your own events that start a cycle.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        default=(),
        more=(
            "Exact names, or globs where a `*` is written. The end of a run, a note, and"
            " events that end in `/failed` or `.failed` always do."
        ),
    )
    start_loop: str = key("Whether the loop may start a job.", _MAY, default="require-confirmation")
    process_notes: str = key(
        "Whether the loop may take notes from the queue.", _MAY, default="allow"
    )
    apply_retro_recommendation: str = key(
        "Whether the loop may change the policy as a recommendation says.",
        _MAY,
        default="require-confirmation",
    )
    emit_alert: str = key(
        "Whether the loop may send alerts to people.",
        Choice(("allow", "require-confirmation", "off"), tighter=Tighter.USER_ONLY),
        default="allow",
        more="In the user's file only: an agent must not be able to switch alerts off.",
    )
    start_loop_per_hour: int = key(
        "How many jobs the loop may start within an hour.", _PER_HOUR, default=4
    )
    process_notes_per_hour: int = key(
        "How often it may take notes from the queue within an hour.", _PER_HOUR, default=12
    )
    apply_retro_recommendation_per_hour: int = key(
        "How many recommendations it may apply within an hour.", _PER_HOUR, default=2
    )
    emit_alert_per_hour: int = key(
        "How many alerts it may send within an hour.",
        Number(0, 1000, tighter=Tighter.USER_ONLY),
        default=6,
        more="In the user's file only.",
    )
    day_cost_micro_usd: int = key(
        "The most that the loop's model may cost on one day (UTC).",
        Money(1_000_000, tighter=Tighter.SMALLER),
        default=1_000_000,
        name="day-cost-usd",
        more="In US dollars; after that the rules decide without a model.",
    )
    cycle_cost_micro_usd: int = key(
        "The most that the loop's model may cost in one cycle.",
        Money(1_000_000, tighter=Tighter.SMALLER),
        default=50_000,
        name="cycle-cost-usd",
        more="In US dollars.",
    )
    model: str | None = key(
        "The model that decides, as `provider:name`.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="no model",
        example='model = "openai:gpt-5-mini"',
        more='For `decider = "model"`, in the user\'s file only.',
    )
    base_url: str | None = key(
        "The address of an OpenAI-compatible server, instead of the provider's own.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="the provider's",
        example='base-url = "http://127.0.0.1:8080/v1"',
    )
    api_key_variable: str | None = key(
        "The environment variable that holds the API key of the model.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="the provider's usual one",
        example='api-key-variable = "OPENAI_API_KEY"',
    )
    model_timeout_seconds: int = key(
        "How long a model may take to answer.",
        Number(1, 600, tighter=Tighter.SMALLER),
        default=30,
        more="In seconds.",
    )
    max_output_tokens: int = key(
        "How many tokens a model may answer with.",
        Number(50, 100_000, tighter=Tighter.SMALLER),
        default=500,
    )
    jobs: tuple[Job, ...] = key(
        "The jobs that the loop may start.",
        Tables(Job, identity="name", tighter=Tighter.USER_ONLY, most=64),
        default=(),
        more="In the user's file only; nothing else is ever started.",
        example="""\
[[loop.jobs]]
name = "fix-the-build"
command = ["make", "agent"]
workspace = "/srv/project"
on = ["ci/build.failed"]
timeout-seconds = 1800
""",
    )
    job_budget: Mapping[str, int] = key(
        "The most that one job may use, with all its child runs.",
        Budget(BUDGET_KEYS),
        default={},
        more="Written like [budgets.run]; it counts for the loop as well.",
    )
    sinks: tuple[EventSink, ...] = key(
        "Services that also get the events of the loop.",
        Tables(EventSink, identity="name", tighter=Tighter.USER_ONLY, most=16),
        default=(),
        more="In the user's file only. Interlock itself acts on the events in any case.",
        example="""\
[[loop.sinks]]
name = "ops"
kind = "webhook"
url = "https://hooks.example.com/interlock"
secret-variable = "INTERLOCK_WEBHOOK_SECRET"
""",
    )

    # The words of the loop are not loaded for whoever only asks about an action of an agent.

    def may(self, action: str) -> str:
        """Return what becomes of an action: `allow`, `require-confirmation` or `off`."""
        return getattr(self, action, "allow")

    def per_hour(self, action: str) -> int:
        """Return how many of an action may be emitted within an hour."""
        return getattr(self, f"{action}_per_hour")

    @property
    def job_names(self) -> tuple[str, ...]:
        """The jobs that may be started, by name."""
        return tuple(job.name for job in self.jobs)
