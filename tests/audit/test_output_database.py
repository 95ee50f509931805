"""An audit in SQLite and in a real PostgreSQL server of its own."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from audit_sample import SCRIPT, sample_audit

from fairbench_cli.audit.show.tables import PREFIX, TABLES, audit_id, to_database
from fairbench_cli.base.errors import UserError

sql = pytest.importorskip("sqlalchemy", reason="needs SQLAlchemy: pip install 'fairbench-cli[db]'")


@pytest.fixture(scope="module")
def postgres():
    """The address of a PostgreSQL server that listens on a Unix socket alone, or a visible skip."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'fairbench-cli[db]'")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("needs a PostgreSQL server: apt-get install postgresql")
    binaries = found[-1].parent
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    home = Path(tempfile.mkdtemp(prefix="fairbench-pg-"))  # a socket's path must be short
    if user:
        shutil.chown(home, "postgres")
    data = home / "data"

    def run(*command):
        subprocess.run([*user, *map(str, command)], check=True, capture_output=True, cwd="/", timeout=120)

    try:
        run(
            binaries / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
            "-N",
        )
        options = f"-k {home} -c listen_addresses='' -c fsync=off"
        run(binaries / "pg_ctl", "-D", data, "-o", options, "-l", home / "log", "-w", "start")
        try:
            yield f"postgresql+psycopg://postgres@/postgres?host={home}"
        finally:
            run(binaries / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def rows(url, table):
    engine = sql.create_engine(url)
    try:
        with engine.connect() as connection:
            query = sql.text(f"select * from {table} order by audit_id, position")  # noqa: S608 - our own names
            return [dict(row) for row in connection.execute(query).mappings()]
    finally:
        engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/audits.db"
    return request.getfixturevalue("postgres")


@pytest.mark.gate
def test_writing_twice_is_writing_once(url):
    first, other = sample_audit(), sample_audit(tau=0.5)
    assert to_database(first, url) == audit_id(first)
    before = {table: rows(url, PREFIX + table) for table in TABLES}
    assert to_database(first, url) == audit_id(first)
    assert {table: rows(url, PREFIX + table) for table in TABLES} == before
    to_database(other, url)
    for table in TABLES:
        found = rows(url, PREFIX + table)
        assert len(found) == 2 * len(before[table])
        assert [row for row in found if row["audit_id"] == audit_id(first)] == before[table]


@pytest.mark.gate
def test_numbers_and_texts_arrive(url):
    report = sample_audit()
    to_database(report, url)
    mine = [row for row in rows(url, "fairbench_audit_disparities") if row["audit_id"] == audit_id(report)]
    by = {(row["group"], row["metric"]): row for row in mine}
    assert by["African-American", "fpr"]["ratio"] == (805 / 1795) / (349 / 1488)
    assert by["African-American", "fpr"]["verdict"] == "fail"
    assert by["(missing)", "fdr"]["ratio"] is None
    assert bool(by["Caucasian", "fpr"]["is_reference"]) is True
    assert (SCRIPT, "fpr") in by
    groups = rows(url, "fairbench_audit_groups")
    assert {row["rows"] for row in groups if row["group"] == "Caucasian"} == {2454}


def test_the_id_is_of_the_content():
    assert audit_id(sample_audit("/a/compas.csv")) == audit_id(sample_audit("/b/compas.csv"))
    assert audit_id(sample_audit()) != audit_id(sample_audit(tau=0.7))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+psycopg://u:SECRET@h:notaport/d", "the address of the database cannot be read"),
        ("postgresql+psycopg://u:SECRET@[::1/d", "the address of the database cannot be read"),
        ("postgresql+psycopg://u:SECRET@h:\u00b2/d", "the address of the database cannot be read"),
        ("sqlite:///x.db?timeout=SECRET", "the address of the database sqlite:///x.db cannot be read"),
        (
            "sqlite:///x.db?check_same_thread=SECRET",
            "the address of the database sqlite:///x.db cannot be read",
        ),
        ("sqlite://", "a database in memory is gone"),
        ("sqlite:///", "a database in memory is gone"),
        ("sqlite:///:memory:", "a database in memory is gone"),
        ("sqlite:///file:m?mode=memory&uri=true", "a database in memory is gone"),
    ],
)
def test_addresses_that_cannot_be_meant_are_two_lines(url, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as caught:
        to_database(sample_audit(), url)
    said = str(caught.value)
    assert said.startswith(f"--to-db: error: {words}")
    assert "SECRET" not in said
    assert len(said.splitlines()) == 2


@pytest.mark.parametrize(
    "url", ["nonsense", "sqlite:////nowhere/at/all.db", "postgresql+psycopg://me:secret@127.0.0.1:1/x"]
)
def test_a_database_that_cannot_be_reached_is_said_without_its_password(url):
    with pytest.raises(UserError) as caught:
        to_database(sample_audit(), url)
    said = str(caught.value)
    assert said.startswith("--to-db: error: cannot write to the database")
    assert "secret" not in said
    assert len(said.splitlines()) == 2
