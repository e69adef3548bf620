"""Edits that leave nothing of a file, and files that are moved away before they are deleted."""

import pytest

from commands.lines import effects_in

_CWD = "/home/dev/app"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("sed -i d a.py", id="delete-lines"),
        pytest.param("sed -i '' '1,$d' a.py", id="empty-suffix"),
        pytest.param("sed -i -e 's|^.*$||g' a.py", id="replaced"),
        pytest.param("sed -ni s/a/b/ a.py", id="never-printed"),
        pytest.param("perl -pi -e '$_ = \"\";' a.py", id="perl"),
        pytest.param("ruby -i -ne '' a.py", id="ruby"),
        pytest.param("gawk --include=inplace 0 a.py", id="awk"),
    ],
)
def test_an_edit_leaves_nothing(line: str):
    assert effects_in(line) == ["overwrite a.py in project, from empty"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("sed -i 1d a.py", id="one-line"),
        pytest.param("sed -i.bak d a.py", id="copy-kept"),
        pytest.param("sed -ni /x/p a.py", id="printed"),
        pytest.param("perl -Mopen -pi -e s/x/y/ a.py", id="module"),
        pytest.param("sed -i -f x.sed a.py", id="script-file"),
        pytest.param("gawk -i inplace '{print}' a.py", id="awk"),
    ],
)
def test_an_edit_leaves_something(line: str):
    assert effects_in(line) == ["overwrite a.py in project"]


def test_many_files_that_are_emptied_are_gone():
    assert effects_in("sed -i d src/*.py") == ["delete src/*.py in project, from empty+many"]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("mv src /tmp/x && rm -rf /tmp/x", id="as"),
        pytest.param("mv src /tmp/ && rm -rf /tmp/src", id="into"),
        pytest.param("mv src /tmp/a; mv /tmp/a /tmp/b; rm -rf /tmp/b", id="again"),
        pytest.param("mv src /tmp/x && cd /tmp/x && rm -rf ./*", id="from-there"),
    ],
)
def test_what_was_moved_away_is_lost_from_where_it_lay(line: str):
    assert "delete /home/dev/app/src in project, recursive, forced" in effects_in(line, _CWD)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("mv src /tmp/x && mv /tmp/x src && rm -rf /tmp/x", id="back"),
        pytest.param("mv src /tmp/x && rm -rf /tmp/y", id="elsewhere"),
        pytest.param("cp -r src /tmp/x && rm -rf /tmp/x", id="copied"),
        pytest.param("mv src && rm -rf /tmp/x", id="nowhere"),
    ],
)
def test_nothing_else_is(line: str):
    lost = [each for each in effects_in(line, _CWD) if each.startswith("delete")]
    assert lost == [each for each in lost if "temp" in each]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("cp /dev/null src/*", id="copied"),
        pytest.param("true | tee src/*", id="tee"),
        pytest.param("dd if=/dev/null of=src/*", id="dd"),
    ],
)
def test_nothing_over_many_files_deletes_them(line: str):
    assert any(each.startswith("delete src/* in project") for each in effects_in(line))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("find . -path ./a -prune -o -delete", "./*"),
        ("find . \\( -name a -prune \\) -o -delete", "./*"),
        ("find . -name a -prune -o -name b -delete", "./b"),
        ("find . -name a -prune -delete", "./a"),
        ("find . -name a -prune", ""),
        ("find . -name a -o -name b -delete", "./a"),
    ],
)
def test_what_find_leaves_out_is_not_what_it_finds(line: str, found: str):
    deleted = [each.split()[1] for each in effects_in(line)]
    assert deleted[:1] == [found][: bool(found)]


def test_what_is_moved_among_built_files_is_lost_with_them():
    line = "mv src build/x && rm -rf build"
    assert "delete /home/dev/app/src in project, recursive, forced" in effects_in(line, _CWD)
