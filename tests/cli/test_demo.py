"""The agents of the demo: they ask people, and nothing else stops them while somebody looks."""

from __future__ import annotations

from collections.abc import Generator
from itertools import islice
from pathlib import Path

import pytest

from interlock import Interlock, Run
from interlock.cli.demo.demo_player import DemoClock, play, play_past, what_is_left
from interlock.cli.demo.demo_stories import POLICY, STORIES, Story
from interlock.model.approval import ApprovalState
from interlock.model.run import RunStatus
from interlock.service.ledgers import open_governor
from interlock.service.policies.policy_files import load_policy
from service.ledgers import operator_of

SECOND = 1_000_000
LOOKED_AT = 60
"""So many steps, five seconds each: five minutes."""


class Played:
    def __init__(self, folder: Path) -> None:
        file = folder / "policy.toml"
        file.write_text(POLICY)
        self.clock = DemoClock()
        self.governor = open_governor(
            str(folder / "ledger.db"),
            policy=load_policy(user=file, project=None),
            clock=self.clock,
            keys=folder / "keys",
            undo_store=folder / "undo",
        )
        self.interlock = Interlock(self.governor)
        self.runs = play_past(self.interlock, self.clock, operator_of(self.interlock))
        self.clock.at = self.clock.now()

    def resumed(self, story: Story) -> Run:
        return self.interlock.resume(self.runs[story.task].id)

    def goes_on_for(self, story: Story, steps: int) -> int:
        run, done = self.resumed(story), 0
        for deed in islice(what_is_left(story), steps):
            assert self.clock.at is not None
            self.clock.at += 5 * SECOND
            if not play(run, deed):
                break
            done += 1
        return done


@pytest.fixture
def played(tmp_path: Path) -> Generator[Played]:
    found = Played(tmp_path)
    yield found
    found.governor.ledger.close()


def waiting(played: Played) -> set[str]:
    return {each.run_id for each in played.interlock.approvals()}


def test_who_waits_for_nobody_works_as_long_as_somebody_looks(played: Played):
    asked = waiting(played)
    going_on = [each for each in STORIES if not each.is_over]
    at_work = [each for each in going_on if played.runs[each.task].id not in asked]

    assert {each.agent for each in at_work} == {"tester", "coder", "triage"}
    for story in at_work:
        assert played.goes_on_for(story, LOOKED_AT) == LOOKED_AT, story.task


def test_four_agents_wait_for_a_person(played: Played):
    assert len(waiting(played)) == 4


def test_what_was_done_before_has_its_answers(played: Played):
    over = [each for each in STORIES if each.is_over]
    answered = {each.run_id: each for each in played.interlock.approvals(None) if each.note}

    assert {played.runs[each.task].state.status for each in over} == {RunStatus.FINISHED}
    for story in over:
        approval = answered[played.runs[story.task].id]
        assert (approval.note, approval.state is ApprovalState.GRANTED) == (
            story.answer,
            story.is_granted,
        )


def test_no_turn_is_like_another():
    for story in STORIES:
        turns = [deed.again(turn) for turn in range(5) for deed in story.after]
        assert len({(each.command, each.path, str(each.params)) for each in turns}) == len(turns)
