"""What goes wrong below is told with the options of the command line."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from elsewhere import cli
from elsewhere.model.errors import InputError


@pytest.mark.parametrize(
    ("sentence", "arguments", "shown"),
    [
        ("choose one with location_column", ("location_column",), "choose one with --location-column"),
        ("spared and as_json are no good", ("spared", "as_json"), "--spare and --json are no good"),
        # Only what the sentence means by it: neither what is quoted, nor a path, nor a part of a word.
        (
            "/home/user/o'brien.csv: users' rows; choose one with user, such as 'user', \"the user's\"",
            ("user",),
            "/home/user/o'brien.csv: users' rows; choose one with --user, such as 'user', \"the user's\"",
        ),
        ("the user_column", ("user",), "the user_column"),
        ("choose one with user", (), "choose one with user"),
    ],
)
def test_arguments_become_options(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    sentence: str,
    arguments: tuple[str, ...],
    shown: str,
) -> None:
    def fail(_: object) -> None:
        # As it comes out of a worker's process.
        raise pickle.loads(pickle.dumps(InputError(sentence, arguments)))

    monkeypatch.setattr(cli.commands, "invoke", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main(["hide"])
    assert (ended.value.code, capsys.readouterr().err) == (2, f"elsewhere: {shown}\n")


def test_a_file_without_a_known_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("where,count\ncafe,7\n", encoding="utf-8")
    with pytest.raises(SystemExit):
        cli.main(["hide", str(path), "--sensitive", "cafe"])
    told = "no location column is known; choose one of 'where', 'count' with --location-column"
    assert capsys.readouterr().err == f"elsewhere: {path}: {told}\n"
