"""Words that are gone, and say what to use instead."""

from __future__ import annotations

from typing import Never

from interlock.errors import InputError


def edit_is_gone(_self: object, *_args: object, **_fields: object) -> Never:
    """Refuse: the name did not say whether it asks or writes."""
    raise InputError("`edit` is gone: `may_edit` asks whether, `apply_edits` writes")


def apply_is_gone(_self: object, *_args: object, **_fields: object) -> Never:
    """Refuse: the name did not say what it applies."""
    raise InputError("`apply` is gone: `apply_edits` writes, `may_edit` only asks")
