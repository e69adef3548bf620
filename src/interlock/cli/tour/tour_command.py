"""`interlock tour`: real questions, put to the real gateway, for whoever is new here."""

from __future__ import annotations

import sys

import click

from interlock.cli.tour import tour_chapters
from interlock.cli.tour.tour_stage import TourStage


@click.command("tour")
def tour_command() -> None:
    """Take the guided tour: real questions, real answers; nothing of yours is run."""
    stage = TourStage(interactive=sys.stdin.isatty() and sys.stdout.isatty())
    try:
        _play(stage)
    except (EOFError, KeyboardInterrupt):
        stage.leave()


def _play(stage: TourStage) -> None:
    stage.open()
    for chapter in tour_chapters.chapters():
        stage.show_chapter(chapter)
        if not stage.goes_on():
            return
    stage.show_policy(tour_chapters.tightened())
    if not stage.goes_on():
        return
    stage.show_explanation(tour_chapters.explained())
    if not stage.goes_on():
        return
    stage.show_run()
    if not stage.goes_on():
        return
    stage.show_steps()
    if stage.goes_on():
        stage.show_reviews()
        stage.take_questions()
        stage.close()
