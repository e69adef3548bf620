"""Which policy counts for this call: the files that are found, or those that the call names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

if TYPE_CHECKING:
    from interlock.policy.config.compiled import CompiledPolicy

_USER_FILE: Final = "interlock.policy"
_NO_PROJECT: Final = "interlock.no-project"
_Decorated = TypeVar("_Decorated", bound=Callable[..., object])


def policy_options(command: _Decorated) -> _Decorated:
    """Add `--policy` and `--no-project`; `chosen_gates` obeys them."""
    policy = click.option(
        "--policy",
        metavar="FILE",
        type=click.Path(path_type=Path),
        expose_value=False,
        callback=_remembered(_USER_FILE),
        help="Use this file as the user's policy.",
    )
    no_project = click.option(
        "--no-project",
        is_flag=True,
        expose_value=False,
        callback=_remembered(_NO_PROJECT),
        help="Leave the project's policy aside.",
    )
    return policy(no_project(command))


def chosen_gates() -> CompiledPolicy:
    """Load the policy that counts for the running command."""
    from interlock import settings  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.service import wiring  # noqa: PLC0415 - the same

    chosen = click.get_current_context().meta
    places = settings.current_places()
    return wiring.load_gates(
        user=chosen.get(_USER_FILE) or places.user,
        project=None if chosen.get(_NO_PROJECT) else places.project,
    )


def _remembered(key: str) -> Callable[[click.Context, click.Parameter, object], None]:
    """Note an option for the whole call, so that it may stand before or behind a subcommand."""

    def remember(ctx: click.Context, _: click.Parameter, value: object) -> None:
        if value:
            ctx.meta[key] = value

    return remember
