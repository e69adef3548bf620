"""`interlock init`: a policy file to start from."""

from __future__ import annotations

from pathlib import Path

import click

_OWNER_ONLY = 0o600


@click.command("init")
@click.option(
    "--user/--project",
    "for_user",
    default=True,
    help="Write your own policy (the default), or that of the project you stand in.",
)
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
def init_command(*, for_user: bool, force: bool) -> None:
    """Write a policy file that shows every key with its default, as comments."""
    file, text = _user_policy() if for_user else _project_policy()
    if file.exists() and not force:
        raise click.ClickException(f"`{file}` exists; pass --force to replace it")
    file.parent.mkdir(parents=True, exist_ok=True)
    if for_user:
        # The file holds the fingerprint key, which nobody else may read, not even briefly.
        file.touch(mode=_OWNER_ONLY)
        file.chmod(_OWNER_ONLY)
    file.write_text(text, encoding="utf-8")
    click.echo(f"wrote {file}")


def _user_policy() -> tuple[Path, str]:
    import secrets  # noqa: PLC0415 - commands import late, so that the others start fast

    from interlock import settings  # noqa: PLC0415 - the same
    from interlock.policy.config.starter import user_starter  # noqa: PLC0415 - the same

    text = user_starter(settings.default_policy_text(), fingerprint_key=secrets.token_hex(32))
    return settings.current_places().user_file, text


def _project_policy() -> tuple[Path, str]:
    from interlock import settings  # noqa: PLC0415 - commands import late, so that the others start fast
    from interlock.policy.config.starter import project_starter  # noqa: PLC0415 - the same

    text = project_starter(settings.default_policy_text())
    return settings.current_places().project_file, text
