"""What two attacks on audits broke: each thing once, with what is said of it now."""

import gzip
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from audit_counts import read, read_tally
from conftest import STUDIES, environment, seed_of_today, study_of, two_lines

import fairbench_cli as fb
from fairbench_cli.audit.config import AuditConfig
from fairbench_cli.audit.scan.source import LONGEST
from fairbench_cli.base.errors import UserError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="devices, signals and pipes of POSIX")
GOOD = "score,label_value,race\n" + "1,0,a\n0,1,b\n1,1,a\n0,0,b\n" * 10


def with_column(name, cells, text=GOOD):
    head, *rows = text.splitlines()
    lines = [f"{row},{cells[i % len(cells)]}" for i, row in enumerate(rows)]
    return "\n".join([f"{head},{name}", *lines, ""])


def notes(text, **keys):
    return " ".join(read(text, **keys).notes)


def scored(scores):
    return "score,race\n" + "".join(f"{score},{'ab'[i % 2]}\n" for i, score in enumerate(scores))


# -- scales of scores and thresholds

RNG = random.Random(1)  # noqa: S311
PERCENTS = [RNG.randrange(1, 101) for _row in range(400)]
SHARES = [round(RNG.random(), 3) for _row in range(400)]


@pytest.mark.parametrize(
    ("scores", "threshold", "said"),
    [
        ([0, *PERCENTS], 0.5, "selects nearly everybody\n  fix: did you mean --threshold 50"),
        ([*range(1, 101)], 0.5, "selects everybody"),
        ([0, *(1 + i % 9 for i in range(40))], 0.5, "name a threshold between these"),
        ([73, *SHARES], 50.0, "selects nearly nobody\n  fix: write all scores on one scale"),
        (SHARES, 50.0, "selects nobody\n  fix: did you mean --threshold 0.5"),
    ],
)
def test_a_threshold_of_another_scale_than_nearly_all_scores_is_refused(scores, threshold, said):
    with pytest.raises(UserError, match="--threshold: error: score goes from") as caught:
        read(scored(scores), threshold=(threshold,))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("scores", "threshold"),
    [
        ([RNG.gauss(0, 2) for _row in range(400)], 0.5),  # logits
        ([RNG.gauss(0, 2) for _row in range(400)], 2.0),
        ([min(1.08, RNG.gauss(0.8, 0.1)) for _row in range(400)], 0.5),  # shares, some of them over 1
        ([0.9 + i / 1000 for i in range(150)], 0.5),  # all are selected, and rightly so
        ([*[0] * 40, *PERCENTS], 0.5),  # counts: whoever has any
        ([RNG.expovariate(3) for _row in range(400)], 2.0),  # few are above 1, and some between 1 and 2
        ([RNG.uniform(0, 100) for _ in range(60)], 50.0),
    ],
)
def test_other_thresholds_are_taken_as_they_are(scores, threshold):
    assert "one scale" not in notes(scored(scores), threshold=(threshold,))


def test_scores_of_two_scales_are_named():
    mixed = [*SHARES, *(score for score in PERCENTS if score > 1)]
    assert f"none between 1 and 2, and others up to {max(PERCENTS)}; if some" in notes(
        scored(mixed), threshold=(0.5,)
    )
    assert "write all on one scale" in notes(scored([73, *SHARES]), top_k=(5,))
    assert 'such as "73%"; others as they are, such as "73"' in notes(
        scored(["73", "73%", "0.73"] * 5), threshold=(0.74,)
    )


# -- columns and groups that nobody spoke of


@pytest.mark.parametrize("name", ["weight", "Sample_Weight", "fnlwgt"])
def test_columns_that_look_like_weights_are_named(name):
    text = with_column(name, ["0.5", "2", "7.5"])
    tally = read(text)
    assert [part.attribute for part in tally.slices] == ["race"]
    assert (
        f"as it looks like weights: {name} (unless named: --weight {name}, or --attribute {name})."
        in " ".join(tally.notes)
    )
    assert f"{name} looks like weights and is not used: each row counts once (--weight {name})." in notes(
        text, attributes=("race",)
    )
    assert "looks like" not in notes(text, weight=name)
    assert [part.attribute for part in read(with_column(name, ["light", "heavy"])).slices] == ["race", name]


def test_columns_called_like_the_score_or_the_label_are_named():
    said = notes(with_column("label", "01", with_column("Score", ["0.1", "0.7"])))
    assert "called like a score: Score (" in said
    assert "called like a label: label (" in said


def test_rows_that_repeat_a_person_are_named():
    people = [str(i) for i in range(30)]
    said = notes(with_column("person_id", people))
    assert (
        "Rows whose person_id an earlier row has: 10; all are counted; if they are of one person, give "
        "--cluster person_id" in said
    )
    assert "earlier row" not in notes(with_column("person_id", [str(i) for i in range(40)]))
    assert "earlier row" not in notes(with_column("case_id", ["", ""]))
    assert "earlier row" not in notes(with_column("store_id", "123"))  # a code


def test_labels_and_weights_that_say_nothing(say, tmp_path):
    same = fb.audit(pd_frame(score=[0, 1] * 20, label=[0] * 40, sex=["f", "m"] * 20))
    assert "Everybody has the label 0: rates of those with 1 have no rows." in same.report.notes
    (tmp_path / "p.csv").write_text(with_column("w", "0"))
    two_lines(say("audit", "p.csv", "--weight", "w"), '"w" is 0 in every row', "weights above 0")


def pd_frame(**columns):
    import pandas as pd

    return pd.DataFrame(columns)


@pytest.mark.parametrize("given", [["a"], ["race=a"], ["a", "b"]])
def test_excluding_every_group_is_refused(say, tmp_path, given):
    (tmp_path / "p.csv").write_text(GOOD if len(given) > 1 else GOOD.replace(",b", ",a"))
    flags = [word for one in given for word in ("--exclude", one)]
    two_lines(say("audit", "p.csv", *flags), 'all groups of "race" are left out')


# -- what is read


def test_a_key_without_a_name_is_left_out(tmp_path):
    lines = '{"score":1,"label_value":0,"race":"a","":"x"}\n{"score":0,"label_value":1,"race":"b","":"y"}\n'
    (tmp_path / "e.ndjson").write_text(lines)
    tally = read_tally(str(tmp_path / "e.ndjson"), AuditConfig())
    assert tally.rows == 2
    assert "A key without a name is left out." in tally.notes


@pytest.mark.parametrize("size", [LONGEST + 100, 9_000_000])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_a_row_of_megabytes_is_named_and_never_passed_over(tmp_path, size, ending):
    """DuckDB leaves out a last row that is longer than its buffer, without a word."""
    content = f"{with_column('text', ['x'])}1,1,a,{'x' * size}\n".encode()
    path = tmp_path / f"p{ending}"
    path.write_bytes(gzip.compress(content, 1) if ending.endswith("gz") else content)
    with pytest.raises(UserError, match=r"error: the row is longer than 2000000 bytes\n  fix: leave out"):
        read_tally(str(path), AuditConfig(attribute=("race",)))
    path.write_bytes(content[:-8_000_000] if size > 8_000_000 else content.replace(b"x" * 1000, b""))
    assert read_tally(str(path), AuditConfig(attribute=("race",))).rows == 41


@POSIX
def test_devices_and_broken_disks(say, tmp_path):
    two_lines(say("audit", "/dev/zero"), "/dev/zero: error: it is a device", "through a pipe")
    two_lines(say("audit", "/dev/null"), "the file is empty")
    if Path("/proc/self/mem").exists():
        two_lines(say("audit", "/proc/self/mem"), "cannot be read: Input/output error")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(GOOD.encode())
        process.stdin.close()
        assert read_tally(f"/dev/fd/{process.stdout.fileno()}", AuditConfig()).rows == 40


def test_a_pipe_without_end_takes_half_of_the_free_space(monkeypatch):
    from fairbench_cli.base import stored_files

    monkeypatch.setattr(stored_files.shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    with pytest.raises(UserError, match="half of the free space"):
        read(GOOD)


@POSIX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_was_copied_of_the_rows_goes_when_an_audit_is_ended(tmp_path, number):
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "fairbench_cli", "audit", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TMPDIR=str(tmp_path / "temporary")),
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # ignored under nohup
    )
    process.stdin.write(GOOD.encode() * 100)
    process.stdin.flush()
    while not list(tmp_path.glob("temporary/*/input")):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    assert process.stderr.read() == b"interrupted\n"
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    assert not list((tmp_path / "temporary").iterdir())


# -- what is said and written


@pytest.mark.gate
def test_addresses_of_databases_are_shown_without_what_is_secret(say, tmp_path):
    pytest.importorskip("sqlalchemy")
    (tmp_path / "p.csv").write_text(GOOD)
    for address, words in (
        ("postgresql+psycopg://u:p@127.0.0.1:1/d?password=SECRET", ("u:***@127.0.0.1:1/d: ",)),
        ("postgresql+psycopg://u:SEC@RET@127.0.0.1:1/d", ("the address has two @", "%40")),
        ("postgresql//u:SECRET@127.0.0.1/d", ("cannot write to the database: ",)),
        ("sqlite:///x.db?mode=ro", ("sqlite:///x.db: ", "uri=true")),
    ):
        done = say("audit", "p.csv", "--to-db", address)
        two_lines(done, *words)
        assert not {"SECRET", "RET@"} & set(done.err.split())
        assert "SECRET" not in done.err
        assert "RET@" not in done.err
    assert not (tmp_path / "x.db").exists()


def test_large_and_small_sums_of_weights_are_short(say, tmp_path):
    for weight, sums in (("1e99", "2e100/2e100"), ("0.001", "0.02/0.02")):
        (tmp_path / "p.csv").write_text(with_column("w", [weight]))
        said = say("audit", "p.csv", "--weight", "w", "-f", "markdown").out
        assert sums in said
        assert "0000000" not in said


@pytest.mark.nightly
def test_python_without_docstrings(tmp_path):
    (tmp_path / "p.csv").write_text(GOOD)
    both = 'from fairbench_cli.cli.app import run; exit(run(["audit", "p.csv"]) or run(["list"]))'
    env = environment(PYTHONOPTIMIZE="2", PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, "-c", both]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


# -- the same table written differently


def test_the_same_table_written_differently_gives_the_same(monkeypatch):
    monkeypatch.syspath_prepend(STUDIES)
    study, seed = study_of("metamorphic"), seed_of_today()
    found = list(study.outcomes(seed, range(12)))
    assert len(found) == 12
    differing = [number for number, _, expected, said in found if said != expected]
    assert differing == [], f"FAIRBENCH_SEED={seed}"


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_quotes_around_every_cell_of_any_separator(separator):
    quoted = "\n".join(separator.join(f'"{cell}"' for cell in row.split(",")) for row in GOOD.splitlines())
    assert read(quoted).slices[0].counts.n.tolist() == read(GOOD).slices[0].counts.n.tolist()


def test_ndjson_with_a_byte_order_mark(tmp_path):
    rows = '\ufeff{"score":1,"race":"a"}\n{"score":0,"race":"b"}\n'.encode()
    for name, content in (("p.ndjson", rows), ("p.ndjson.gz", gzip.compress(rows))):
        (tmp_path / name).write_bytes(content)
        assert read_tally(str(tmp_path / name), AuditConfig()).rows == 2
    assert read(rows).rows == 2


def test_the_order_of_rows_changes_no_digit_of_what_scores_are_worth():
    rng = random.Random(2)  # noqa: S311
    rows = [f"{rng.random():.2f},{rng.randrange(2)},{rng.choice('abc')}" for _row in range(600)]
    results = []
    for _ in range(2):
        rng.shuffle(rows)
        frame = pd_frame(
            **dict(
                zip(
                    ("score", "label", "race"),
                    zip(*(row.split(",") for row in rows), strict=True),
                    strict=True,
                )
            )
        )
        results.append(fb.audit(frame, threshold=[0.5], curves=True, draws=0).to_json())
    assert results[0] == results[1]
