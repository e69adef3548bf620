"""What whoever asks for edits is told."""

from __future__ import annotations

import msgspec

from interlock.model.answer import Answer
from interlock.model.edit import Applied, EditPlan


class EditAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a set of edits: judged, and applied where that was allowed."""

    answer: Answer | None = None
    """What was answered; None where it was only to be looked at."""
    plan: EditPlan | None = None
    """What would become of each file, or has; None where that was told before."""
    diff: str = ""
    """The same, to be read, without credentials."""
    applied: Applied | None = None
    """What was done; None where nothing was."""
    repeated: bool = False
    """The same request had been answered before: nothing was changed or charged again."""

    @property
    def allowed(self) -> bool:
        """Whether the edits may be made, and so are made unless they were only looked at."""
        return self.answer is not None and self.answer.allowed

    @property
    def approval_id(self) -> str | None:
        """The question to a person that the edits wait for, or were allowed by."""
        return None if self.answer is None else self.answer.approval_id

    @property
    def undo_id(self) -> str | None:
        """What puts the files back."""
        return None if self.applied is None else self.applied.id
