"""Every key of the policy file, said once.

Reading, layering, the JSON Schema, the printed policy and the reference all follow this table.
"""

from __future__ import annotations

from interlock.policy.config.action_keys import ACTION_KEYS
from interlock.policy.config.entry_fields import RULE_FIELDS
from interlock.policy.config.key import Key, Tighter
from interlock.policy.config.review_keys import EDIT_KEYS, REVIEW_KEYS, UNDO_KEYS
from interlock.policy.config.run_keys import APPROVAL_KEYS, BUDGET_KEYS, EVALUATOR_KEYS
from interlock.policy.config.shapes import Number, Tables, TextKind, Texts
from interlock.policy.config.step_keys import LOOP_KEYS, STEP_KEYS
from interlock.policy.config.stop_keys import STOP_KEYS

KEYS: tuple[Key, ...] = (
    Key(
        path="version",
        shape=Number(minimum=1, maximum=1),
        meaning="The version of this format.",
        tighter=Tighter.FIXED,
    ),
    Key(
        path="layers.project-may-loosen",
        shape=Texts(kind=TextKind.KEY_PATH),
        meaning="The keys that a project's file may set more loosely than the layers below it.",
        tighter=Tighter.USER_ONLY,
    ),
    *ACTION_KEYS,
    *BUDGET_KEYS,
    *APPROVAL_KEYS,
    *STEP_KEYS,
    *LOOP_KEYS,
    *STOP_KEYS,
    *REVIEW_KEYS,
    *EDIT_KEYS,
    *UNDO_KEYS,
    *EVALUATOR_KEYS,
    Key(
        path="rules",
        shape=Tables(identity="id", fields=RULE_FIELDS),
        meaning="Your own rules, each with its own tests.",
        tighter=Tighter.KEPT,
    ),
)

KEY_BY_PATH = {key.path: key for key in KEYS}

SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(key.section for key in KEYS if key.section))
"""The tables of the file, in the order of the keys."""
