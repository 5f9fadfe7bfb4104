"""`elsewhere batch`: what it says when all is well, and one sentence with the option when it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import elsewhere as ew
from elsewhere import cli
from elsewhere.engines import kernel


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("user,location,count,age\nann,gym,2,40\nann,Gym,1,40\nann,café,3,40\n", encoding="utf-8")
    Path("policy.toml").write_text('goal = "hide"\nsensitive = ["gym"]\n', encoding="utf-8")
    Path("typo.toml").write_text('goal = "hide"\nsensitive = ["gmy"]\n', encoding="utf-8")
    Path("none.toml").write_text('goal = "hide"\n', encoding="utf-8")
    Path("broken.parquet").write_bytes(b"PAR1")
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        cli.main(["batch", *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


FAILURES: list[tuple[str, int, str]] = [
    ("policy.toml in.csv -o .", 2, "--output is '.'; name a new folder"),
    ("policy.toml in.csv -o /", 2, "--output is '/'; name a new folder"),
    ("policy.toml in.csv -o in.csv", 2, "--output is 'in.csv', which is a file; name a new folder"),
    ("policy.toml in.csv -o in.csv/x", 2, "--output is 'in.csv/x'; it cannot be made (Not a directory)"),
    ("policy.toml in.csv -o out --report in.csv", 2, "--report is 'in.csv', which is a file; name a new folder"),
    ("policy.toml in.csv -o out --report in.csv/x", 2, "--report is 'in.csv/x'; it cannot be made (Not a directory)"),
    ("policy.toml in.csv -o out --report out/x", 2, "--report is 'out/x', in the folder of the releases"),
    ("policy.toml in.csv -o out --personal nowhere.csv", 2, "--personal: there is no file at 'nowhere.csv'"),
    ("policy.toml in.csv -o out --personal broken.parquet", 2, "--personal: the table cannot be read"),
    ("policy.toml nowhere.csv -o out", 2, "there is no file at 'nowhere.csv'"),
    ("policy.toml broken.parquet -o out", 2, "the table cannot be read"),
    ("nowhere.toml in.csv -o out", 2, "the policy 'nowhere.toml' cannot be read"),
    ("none.toml in.csv -o out", 2, "the policy hides nothing"),
    ("policy.toml s4://lake/in -o out", 2, "INPUT is 's4://lake/in'; give a path of this machine or one of s3://"),
    ("policy.toml in.csv -o hdfs://lake/x", 2, "--output is 'hdfs://lake/x'; give a path of this machine or one of"),
    ("policy.toml in.csv -o out --min-released most", 2, "--min-released is 'most'; give a share such as 99%"),
    ("policy.toml in.csv -o out --min-released 101%", 2, "--min-released is 1.01; it must be a share from 0 to 1"),
    ("policy.toml in.csv -o out --key month", 2, "no column is called 'month'"),
    ("policy.toml in.csv -o out --partition-by age", 2, "--partition-by has 'age', which is not one of --key"),
    ("policy.toml in.csv -o out --rows-are-visits --count-column age", 2, "--count-column is 'age', but --rows-are"),
    ("policy.toml in.csv -o out --engine local --master yarn", 2, "--master is 'yarn', but the engine is 'local'"),
    ("typo.toml in.csv -o out", 3, "called 'gmy'; did you mean 'gym'? (add --allow-unchanged"),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("command", "status", "sentence"), FAILURES, ids=[command for command, *_ in FAILURES])
def test_a_failure_is_one_sentence(
    capsys: pytest.CaptureFixture[str], folder: Path, command: str, status: int, sentence: str
) -> None:
    before = sorted(folder.iterdir())
    assert run(*command.split()) == status
    said = capsys.readouterr().err
    assert said.startswith("elsewhere: ")
    assert said.count("\n") == 1
    assert sentence in said
    assert sorted(folder.iterdir()) == before


@pytest.mark.usefixtures("folder")
def test_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("policy.toml", "in.csv", "-o", "out") == 0
    assert capsys.readouterr().err.splitlines() == [
        "Ignored the numeric column 'age': the counts are in 'count'.",
        "1 of 1 users have a release in out.",
        "'gym' hid 3 visits of 1 user.",
        "Counted 1 spelling together with another spelling of the same place.",
    ]
    assert run("typo.toml", "in.csv", "-o", "insisted", "--allow-unchanged") == 0
    assert "'gmy' hid nothing." in capsys.readouterr().err
    assert run("policy.toml", "in.csv", "-o", "quiet", "--quiet") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("folder")
def test_a_failed_check_is_said_even_if_quiet(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_failed_plain", lambda *_: {0: "a count is outside its bounds"})
    Path("two.csv").write_text("user,location\nann,gym\nann,bar\nbob,gym\nbob,bar\n", encoding="utf-8")
    assert run("policy.toml", "two.csv", "-o", "out", "--quiet") == 0
    assert "1 release not written, because of a failed check" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_the_summary_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("policy.toml", "in.csv", "-o", "out", "--json", "--quiet") == 0
    said = capsys.readouterr()
    summary = json.loads(said.out)
    assert (summary["users"], summary["released"]) == (1, 1)
    assert summary == json.loads(Path("out.private", "summary.json").read_text("utf-8"))
    assert summary["lineage"]["version"] == ew.__version__
    assert summary["lineage"]["input"] == [
        {"file": str(Path("in.csv").absolute()), "bytes": Path("in.csv").stat().st_size}
    ]
    assert set(summary["lineage"]) == {"version", "policy", "input", "seconds", "users_per_second"}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("more", "said"), [((), "0 of 1 user"), (("--min-released", "60%"), "1 of 2 users")])
def test_too_few_releases_are_exit_status_3(
    capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    others = "bob,bar\nbob,gym\n" if more else ""
    Path("only.csv").write_text(f"user,location\nann,gym\n{others}", encoding="utf-8")
    assert run("policy.toml", "only.csv", "-o", "out", *more) == 3
    *_, last = capsys.readouterr().err.splitlines()
    assert last.startswith(f"elsewhere: {said} can have a release")
    assert "every visit is sensitive" in last
    assert not Path("out", "_SUCCESS").exists()


@pytest.mark.usefixtures("folder")
def test_keys_and_folders() -> None:
    Path("months.csv").write_text("uid,month,place\nann,1,gym\nann,1,bar\nann,2,bar\n", encoding="utf-8")
    given = ("policy.toml", "months.csv", "-o", "out", "--user-column", "uid", "--key", "month")
    assert run(*given, "--partition-by", "month", "--part-rows", "1000") == 0
    assert sorted(str(path) for path in Path("out").rglob("*.parquet")) == [
        "out/month=1/part-00000.parquet",
        "out/month=2/part-00000.parquet",
    ]


def test_shared_releases_are_counted_and_not_for_one_person(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE_KEY", "5e" * 32)
    Path("shared.toml").write_text(
        'goal = "hide"\nsensitive = ["gym"]\nmax_quality_loss = 0.3\nmechanism = "shared"\n', encoding="utf-8"
    )
    Path("users.csv").write_text(
        "user,location,count\nann,gym,1\nann,café,3\nbob,café,4\neve,pier,2\n", encoding="utf-8"
    )
    assert run("shared.toml", "users.csv", "-o", "out") == 0
    assert capfd.readouterr().err.splitlines() == [
        "2 of 3 users have a release in out.",
        "2 users share a release with a user of the opposite kind: "
        "1 of 1 with the secret and 1 of 2 without the secret; proven: no pairing serves more.",
        "'gym' hid 1 visit of 1 user.",
        "1 without a release: no other user of the opposite kind can share a release within max_quality_loss",
    ]
    with pytest.raises(SystemExit) as ended:
        cli.main(["hide", "in.csv", "--policy", "shared.toml"])
    assert ended.value.code == 2
    told = "the policy has mechanism = 'shared', which takes many users; use it for a batch"
    assert capfd.readouterr().err == f"elsewhere: {told}\n"
