"""tour"""
import click
@click.command("tour")
def tour_command() -> None:
    """Take the guided tour."""
