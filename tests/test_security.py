"""What SECURITY.md promises: whose code is run, what is written where, and what is shown of secrets."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from conftest import environment, fairbench, two_lines, write_config

from fairbench_cli.audit.api import audit
from fairbench_cli.audit.scan.source import start_database
from fairbench_cli.base.checksums import FIELD, add_checksum

MARKED = "from pathlib import Path\nPath(__file__).with_suffix('.ran').touch()\n"
METRIC = MARKED + "def gap(counts):\n    return counts.group_total[..., 1] - counts.group_total[..., 0]\n"


# As the installed `fairbench`, which does not look for modules in the folder.
COMMANDS = """
import sys
sys.path.remove("")
from fairbench_cli.cli.app import run
path = [*sys.path]
for line in sys.argv[1:]:
    if run(line.split()) or sys.path != path:
        sys.exit(line)
"""


EVIL = """
argparse base64 collections csv ctypes dataclasses enum fairbench_cli functools hashlib inspect joblib json
logging multiprocessing numba numpy os pandas pathlib pickle pydantic random re scipy secrets shutil signal
sitecustomize sklearn socket string struct subprocess tempfile threading threadpoolctl traceback types yaml
"""


@pytest.fixture(scope="module")
def infested(own, tmp_path_factory) -> Path:
    """A folder full of modules that nobody has named, next to some results."""
    folder = tmp_path_factory.mktemp("infested")
    shutil.copytree(own / "out", folder / "out")
    write_config(folder / "small.yaml", repeats=1, interventions=["none"])
    for name in EVIL.split():
        (folder / f"{name}.py").write_text(MARKED)
    return folder


def test_no_process_that_is_started_imports_what_lies_about(infested):
    """Neither that of the commands, one for all, nor those that each of them starts."""
    lines = (
        "check none",
        "run small.yaml -o new --jobs 1",
        "verify out --cells 1 --jobs 1",
        "report out",
    )
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *lines],
        cwd=infested,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert list(infested.glob("*.ran")) == []


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """A folder with a config, the code that it names, and `out`, the results of both."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text(METRIC)
    metrics = ["accuracy", "./mine.py:gap"]
    more = {"repeats": 1, "interventions": ["none"], "metrics": metrics, "figures": ["network"]}
    config = write_config(folder / "small.yaml", **more)
    done = fairbench("run", config, "-o", folder / "out", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    (folder / "mine.ran").unlink()
    return folder


def test_a_config_runs_the_code_that_it_names_and_its_results_run_none(own, say):
    ran = own / "mine.ran"
    for known in ("list", "interventions"), ("list", "configs"):
        assert say(*known).code == 0
    assert say("report", own / "out").code == 0
    assert say("verify", own / "out", "--cells", "1", "--jobs", "1").code == 0
    assert not ran.exists()
    assert say("plan", own / "small.yaml").code == 0
    assert ran.exists()


def test_an_audit_runs_no_code(own, say):
    (own / "mine.ran").unlink(missing_ok=True)
    Path("preds.csv").write_text("score,sex\n1,f\n0,m\n")
    assert say("audit", "preds.csv", "--metric", f"{own / 'mine.py'}:gap").code == 2
    Path("audit.yaml").write_text(f"metric: ['{own / 'mine.py'}:gap']\n")
    assert say("audit", "preds.csv", "-c", "audit.yaml").code == 2
    assert not (own / "mine.ran").exists()


@pytest.mark.parametrize("text", ["!!python/object/apply:os.system ['touch ran']", "!!python/name:os.system"])
@pytest.mark.parametrize("command", [("plan",), ("data", "check"), ("audit", "preds.csv", "-c")])
def test_yaml_makes_no_objects(say, text, command):
    Path("evil.yaml").write_text(f"name: {text}\n")
    Path("preds.csv").write_text("score,sex\n1,f\n0,m\n")
    assert say(*command, "evil.yaml").code == 2
    assert not Path("ran").exists()


def test_names_in_results_are_no_paths_to_write_to(own, say, tmp_path):
    out = tmp_path / "deep" / "er" / "out"
    shutil.copytree(own / "out", out)
    plan = json.loads((out / "plan.json").read_text())
    for one in (*plan["datasets"], *plan["cells"]):
        one["dataset"] = "../../../escaped"
    plan.pop(FIELD)
    (out / "plan.json").write_text(json.dumps(add_checksum(plan)))
    before = {path for path in tmp_path.rglob("*") if out not in path.parents}
    assert say("report", out).code == 0
    assert "escaped" in (out / "results.csv").read_text()
    assert [path.name for path in (out / "figures").glob("*.svg")] == ["network-escaped-race.svg"]
    assert {path for path in tmp_path.rglob("*") if out not in path.parents} == before


def test_an_audit_s_database_engine_loads_no_extension(tmp_path):
    with start_database(tmp_path) as engine:
        settings = dict(
            engine.execute(
                "SELECT name, value FROM duckdb_settings() WHERE name LIKE '%_extensions'"
            ).fetchall()
        )
        assert settings["autoinstall_known_extensions"] == settings["autoload_known_extensions"] == "false"
        assert settings["allow_unsigned_extensions"] == "false"
        with pytest.raises(duckdb.Error):
            engine.execute("SELECT * FROM read_csv('https://localhost/x.csv')")


@pytest.mark.parametrize("name", ["https://localhost/x.csv", "s3://bucket/x.parquet", "a*.csv"])
def test_an_audit_reads_the_one_local_file_that_it_is_given(say, name):
    Path("ab.csv").write_text("score,sex\n1,f\n0,m\n")
    two_lines(say("audit", name), "no such file")


def test_nothing_in_a_file_is_sql(tmp_path):
    name = "sex'); COPY (SELECT 1) TO 'stolen"
    path = tmp_path / "it's; DROP TABLE preds.csv"
    path.write_text(f'score,label,"{name}"\n1,1,f\n0,1,"m\'); --"\n1,0,f\n0,0,"m\'); --"\n')
    document = json.loads(audit(path, attributes=[name]).to_json())
    assert name in json.dumps(document, ensure_ascii=False)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_a_page_loads_nothing_and_runs_no_markup_of_the_data(tmp_path):
    group = "<script>alert(1)</script><img src=x>"
    path = tmp_path / "preds.csv"
    path.write_text(f"score,label,sex\n1,1,{group}\n0,1,m\n1,0,{group}\n0,0,m\n")
    page = audit(path).to_html()
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page
    assert "<script>alert" not in page
    assert "<img" not in page


def test_the_password_of_a_database_is_never_printed_nor_written(say, tmp_path):
    pytest.importorskip("sqlalchemy")
    Path("preds.csv").write_text("score,label,sex\n1,1,f\n0,1,m\n1,0,f\n0,0,m\n")
    done = say(
        "audit", "preds.csv", "-o", "out", "--to-db", "postgresql+psycopg://me:s3cret@localhost:1/base"
    )
    assert done.code == 2
    assert "s3cret" not in done.out + done.err
    assert all(b"s3cret" not in path.read_bytes() for path in Path().rglob("*") if path.is_file())


@pytest.mark.parametrize("name", ["../x.csv", "/x.csv", ".bashrc", "a\\b.csv"])
def test_a_card_of_somebody_else_downloads_into_the_cache_alone(say, name):
    Path("card.yaml").write_text(
        json.dumps({"name": "evil", "files": [{"name": name, "url": "https://localhost/x"}]})
    )
    done = say("data", "fetch", "card.yaml")
    assert done.code == 2
    assert "plain name" in done.err
