"""What is done through a link of this line is done to what it leads to."""

from __future__ import annotations

import pytest

from commands.lines import effects_in


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("ln -s ~/work /tmp/w; rm -rf /tmp/w/*", "delete /tmp/w/* in outside"),
        ("ln -s ~/work /tmp/w; rm -rf /tmp/w/", "delete /tmp/w/ in outside"),
        ("ln -s ~/work /tmp/w; cd /tmp/w; rm -rf src", "delete src in outside"),
        ("ln -s /etc /tmp/; echo x > /tmp/etc/hosts", "overwrite /tmp/etc/hosts in system"),
        ("ln -s -t /tmp /etc; echo x > /tmp/etc/hosts", "overwrite /tmp/etc/hosts in system"),
        ("cd /tmp/x; ln -s /etc; rm -rf etc/", "delete etc/ in system-root"),
        ("ln -s /etc /tmp/e; ln -s e/a /tmp/f; rm /tmp/f/b", "delete /tmp/f/b in system"),
        ("ln -s /tmp/a /tmp/b; ln -s /tmp/b /tmp/a; rm -r /tmp/a/c", "delete /tmp/a/c in temp"),
    ],
)
def test_the_place_is_the_one_behind_the_link(line: str, effect: str):
    assert any(each.startswith(effect) for each in effects_in(line, "/home/dev/app"))


@pytest.mark.parametrize("line", ["ln -s ~/work w; rm w", "ln -s ~/work w; rm -rf w"])
def test_a_link_of_this_line_goes_by_itself(line: str):
    deleted = [each for each in effects_in(line) if each.startswith("delete")]

    assert [each.partition(",")[0] for each in deleted] == ["delete w in temp"]
