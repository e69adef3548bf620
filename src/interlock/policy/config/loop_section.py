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
        "A program and its arguments, given to no shell.", Texts(TextKind.WORD, is_ordered=True)
    )
    workspace: str | None = key(
        "The folder that it runs in; without one, that of whoever runs the loop.",
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
        "How long it may run; an hour where it is absent.", Number(1, 604_800), default=3600
    )


class EventSink(Section, omit_defaults=True):
    """Somebody outside who gets every event."""

    name: str = key("What deliveries call it.", Text(TextKind.GATE_ID))
    kind: str = key(
        "How it is spoken to: a signed webhook, or the event API of Inngest.",
        Choice(("webhook", "inngest")),
    )
    url: str = key("Where it is; plain `http` reaches this computer only.", Text(TextKind.PLAIN))
    secret_variable: str = key(
        "The variable of the environment that holds the signing secret, or the event key.",
        Text(TextKind.PLAIN),
    )
    timeout_seconds: int = key(
        "How long one delivery may take; 10 where it is absent.", Number(1, 300), default=10
    )


class SystemLoop(Section, title="What the system does next"):
    """When the loop looks around, who decides, and what it may do by itself."""

    mode: str = key(
        "How far the loop may go.",
        Choice(("enforce", "shadow", "off"), tighter=Tighter.USER_ONLY),
        default="enforce",
        more=(
            '"shadow" decides and records what it would have done, and emits nothing; "off"'
            " records that it was asked. In the user's file only."
        ),
    )
    decider: str = key(
        "Who chooses the next action.",
        Choice(("model", "rules"), tighter=Tighter.USER_ONLY),
        default="rules",
        more='"rules" needs no model. In the user\'s file only.',
    )
    heartbeat_minutes: int = key(
        "How often the loop looks around by itself.",
        Number(1, 60, tighter=Tighter.LARGER),
        default=15,
        more="In minutes; events start a cycle at once.",
    )
    debounce_seconds: int = key(
        "For how long after an event others are answered together with it.",
        Number(0, 3600, tighter=Tighter.LARGER),
        default=2,
        more="In seconds.",
    )
    max_depth: int = key(
        "How many decisions of the loop may lead to one another.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=3,
        more="What the loop itself caused once more often is refused.",
    )
    source_timeout_seconds: int = key(
        "How long one source may take to say how things are.",
        Number(1, 300, tighter=Tighter.SMALLER),
        default=5,
        more="In seconds; the others count without it.",
    )
    stale_minutes: int = key(
        "After how long without a person, or without progress, work counts as left lying.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=60,
        more="In minutes.",
    )
    events: tuple[str, ...] = key(
        "The names of events of your own that start a cycle.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        default=(),
        more=(
            "Exact names, or globs where a `*` is written. What ends a run, a note, and"
            " whatever ends in `/failed` or `.failed` always does."
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
        "Whether the loop may tell people something.",
        Choice(("allow", "require-confirmation", "off"), tighter=Tighter.USER_ONLY),
        default="allow",
        more="In the user's file only: whoever works here must not silence it.",
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
        "What deciding may cost on one day (UTC).",
        Money(1_000_000, tighter=Tighter.SMALLER),
        default=1_000_000,
        name="day-cost-usd",
        more="In US dollars; once it is spent, no model is asked.",
    )
    cycle_cost_micro_usd: int = key(
        "What deciding may cost in one cycle.",
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
        "The address of a server that speaks as OpenAI's does, in place of the provider's own.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="the provider's",
        example='base-url = "http://127.0.0.1:8080/v1"',
    )
    api_key_variable: str | None = key(
        "The variable of the environment that holds the key for the model.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="the provider's usual one",
        example='api-key-variable = "OPENAI_API_KEY"',
    )
    model_timeout_seconds: int = key(
        "How long a model may think.",
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
        "What the loop may start.",
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
        "What one job may spend, with everything below it.",
        Budget(BUDGET_KEYS),
        default={},
        more="Written like [budgets.run]; it counts for the loop as well.",
    )
    sinks: tuple[EventSink, ...] = key(
        "Who else gets the events of the loop.",
        Tables(EventSink, identity="name", tighter=Tighter.USER_ONLY, most=16),
        default=(),
        more="In the user's file only. Interlock itself always does what an event asks for.",
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
