"""rules"""
import click
@click.command("rules")
def rules_group() -> None:
    """List rules."""
