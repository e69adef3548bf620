"""The same options in every spelling that the programs' own manuals allow."""

from __future__ import annotations

from collections.abc import Iterator

from generated.cases import Case, asked, free


def cases() -> Iterator[Case]:
    """Yield deletions and resets with options bundled, shortened, before and behind operands."""
    yield from asked(
        "rm <options> <place>",
        options=(
            "-rf",
            "-fr",
            "-r -f",
            "--recursive --force",
            "--recurs --forc",
            "-Rfv",
            "-vrf --",
        ),
        place=("/", "~", "/etc", "$HOME", "/usr/*", ".."),
    )
    yield from asked(
        "git <before> reset <options>",
        before=("", "-C .", "--no-pager", "-c core.pager=cat", "--git-dir=.git --work-tree=."),
        options=("--hard", "--hard HEAD~3", "HEAD~1 --hard", "-q --hard origin/main"),
    )
    yield from free(
        "rm <options> <place>",
        options=("-rf", "-fr", "-r -f", "--recursive --force", "--recurs --forc"),
        place=("node_modules", "./build", "/tmp/scratch-1", "dist .cache"),
    )
