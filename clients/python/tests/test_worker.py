"""Workers: what handlers may do, and what ends them."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import becomes
from errand import Context, Errand, JobFailed, Worker
from handlers import approve, behave, complete, complete_async, fails, note, sleep, told, wait, worker
from psycopg.rows import dict_row

HERE = Path(__file__).parent


def fresh(**changes: Any) -> Worker:
    """The worker of the module, with a stop of its own."""
    return Worker(handlers=worker.handlers, concurrency=4, poll=0.2, **changes)


def state(db: psycopg.Connection, id: int) -> str:
    row = db.execute(
        "select state from errand.job where id = %(id)s union all select 'failed' from errand.failed where id = %(id)s "
        "union all select state from errand.history where id = %(id)s", {"id": id}).fetchone()
    return row[0] if row else "gone"


def error(db: psycopg.Connection, id: int) -> str:
    [(text,)] = db.execute("select error from errand.failed where id = %s", [id]).fetchall()
    return str(text)


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_what_handlers_return_and_raise(mode: Any, errand: Errand, db: psycopg.Connection, running: Any) -> None:
    def run(how: str, **more: Any) -> Any:
        return errand.enqueue(behave, {"how": how, **more}, follow=True)

    with running(fresh(mode=mode)):
        assert run("return", value={"a": [1, None]}).result(30) == {"a": [1, None]}
        assert run("return", value=None).result(30) is None
        assert run("fail once").result(30) == 2
        failing = {how: run(how) for how in ("fail", "permanent", "unfit", "exit", "hang", "no such way")}
        snoozed, later = run("snooze"), run("retry after")
        big = run("big")
        for how, job in failing.items():
            with pytest.raises(JobFailed):
                job.result(30)
            assert state(db, job.id) == "failed", how
        assert "it never will" in error(db, failing["permanent"].id)
        assert "deadline exceeded" in error(db, failing["hang"].id)
        assert "its outcome can't be stored" in error(db, failing["fail"].id)
        assert "output" in error(db, failing["unfit"].id)
        assert "SystemExit" in error(db, failing["exit"].id)
        with pytest.raises(JobFailed, match="at most 262144 bytes"):
            big.result(30)
        becomes(lambda: state(db, snoozed.id) == "scheduled" == state(db, later.id))
    rows = db.execute("select id, attempt, run_at > now() + '20 min' from errand.job").fetchall()
    assert sorted(rows) == sorted([(snoozed.id, 0, True), (later.id, 1, True)])
    counted = db.execute(
        "select outcome, sum(jobs)::int from errand.finished_per_minute where kind = 'behave' group by 1").fetchall()
    assert dict(counted)["failed"] >= 6


def test_no_deadline_counts_the_start_of_a_process(
    errand: Errand, db: psycopg.Connection, running: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_module.py").write_text(
        "import time\nfrom errand import Worker\nworker = Worker(poll=0.2, mode='processes')\ntime.sleep(1)\n"
        "@worker.job('slow_module', deadline=0.5, max_attempts=1)\ndef handle(payload): return 'in time'\n")
    monkeypatch.syspath_prepend(tmp_path)
    import slow_module  # type: ignore[import-not-found]

    with running(slow_module.worker):
        assert errand.enqueue(slow_module.handle, follow=True).result(30) == "in time"


def test_a_crash_of_a_handlers_process_ends_its_attempt_alone(
    errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    with running(fresh(mode="processes")):
        others = [errand.enqueue(sleep, {"seconds": 1}, follow=True) for _ in range(3)]
        with pytest.raises(JobFailed, match="ended with signal SIGKILL"):
            errand.enqueue(behave, {"how": "crash"}, follow=True).result(30)
        assert [other.result(30) for other in others] == ["slept"] * 3
        assert errand.enqueue(behave, {"how": "report"}, follow=True).result(30) != os.getpid()


def test_async_handlers_run_side_by_side_until_their_deadline(
    errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    with running(fresh()):
        jobs = [errand.enqueue(wait, {"seconds": 0.4}, follow=True) for _ in range(8)]
        late = errand.enqueue(wait, {"seconds": 30}, follow=True)
        assert [job.result(30) for job in jobs] == ["waited"] * 8
        with pytest.raises(JobFailed, match="deadline exceeded"):
            late.result(30)
        assert errand.enqueue(wait, {"seconds": 0, "tx": True}, follow=True).result(30) is None
    assert db.execute("select count(*) from note").fetchone() == (1,)


def test_effect_and_completion_commit_together(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    with running(fresh()):
        assert errand.enqueue(note, {"text": "twice", "times": 2}, follow=True).result(30) == {"notes": 2}
        with pytest.raises(JobFailed, match="after its effect"):
            errand.enqueue(note, {"text": "refused"}, follow=True).result(30)
        with pytest.raises(JobFailed, match="expected Note"):
            errand.enqueue(note, {"txet": "typo"}, follow=True).result(30)
    assert db.execute("select text, count(*) from note group by 1").fetchall() == [("twice", 2)]


def test_transactions_share_sessions_but_nothing_else(
    errand: Errand, db: psycopg.Connection, running: Any
) -> None:
    sharing = Worker(concurrency=1, poll=0.2)
    dirt = ("set search_path = nowhere; create temp table dirt (); select pg_advisory_lock(42); listen dirt; "
            "set default_transaction_isolation = 'serializable'")
    seen = ("select pg_backend_pid(), current_setting('search_path'), to_regclass('pg_temp.dirt') is null, "
            "(select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()), "
            "(select count(*) from pg_listening_channels()), current_setting('transaction_isolation')")
    clean = ['"$user", public', True, 0, 0, "read committed"]

    @sharing.job("shares", queue="py")
    def shares(payload: str, context: Context) -> Any:
        with context.transaction() as connection:
            found = connection.execute(seen).fetchone()
            connection.execute("insert into note values (%s)", [json.dumps(found)])
            if payload == "dirty":
                connection.row_factory = dict_row  # type: ignore[assignment]
                connection.execute(dirt)

    @sharing.job("shares_async", queue="py")
    async def shares_async(payload: str, context: Context) -> Any:
        async with context.async_transaction() as connection:
            found = await (await connection.execute(seen)).fetchone()
            await connection.execute("insert into note values (%s)", [json.dumps(found)])
            if payload == "dirty":
                connection.row_factory = dict_row  # type: ignore[assignment]
                await connection.execute(dirt)

    with running(sharing):
        for handler in (shares, shares_async):
            db.execute("truncate note")
            for what in ("dirty", "clean"):
                errand.enqueue(handler, what, follow=True).result(30)
            db.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                       "where application_name = 'errand transaction'")
            status = errand.enqueue(handler, "after", follow=True)
            status.result(30)
            assert status.status().attempt == 1  # type: ignore[union-attr]
            [first, second, third] = [json.loads(text) for (text,) in db.execute("select text from note")]
            assert first[0] == second[0] != third[0]
            assert [first[1:], second[1:], third[1:]] == [clean] * 3
    becomes(lambda: db.execute(
        "select count(*) from pg_stat_activity where application_name = 'errand transaction'").fetchone() == (0,))


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_a_job_may_be_completed_in_a_transaction_of_the_handlers(
    mode: Any, errand: Errand, db: psycopg.Connection, running: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with running(fresh(mode=mode)):
        jobs = {text: errand.enqueue(complete, text, follow=True) for text in ("kept", "rolled back", "raises after")}
        within = errand.enqueue(complete, "raises within", follow=True)
        in_loop = errand.enqueue(complete_async, "async", follow=True)
        assert {text: job.result(30) for text, job in jobs.items()} == {
            "kept": {"in": "the transaction"}, "rolled back": "returned", "raises after": {"in": "the transaction"}}
        with pytest.raises(JobFailed, match="within"):
            within.result(30)
        assert in_loop.result(30) == "async"
    assert sorted(text for (text,) in db.execute("select text from note")) == ["async", "kept", "raises after"]
    assert "no longer" not in caplog.text


def test_a_report_that_cannot_be_stored_is_left_out(
    errand: Errand, db: psycopg.Connection, running: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reporting = Worker(poll=0.2)

    @reporting.job("odd_report", queue="py2", deadline=30)
    def report(payload: Any, context: Any) -> str:
        context.report(0.5, "\x00")
        while "can't be stored" not in caplog.text and not context.is_stopped:
            context._stop.wait(0.05)
        return "reported"

    with running(reporting):
        assert errand.enqueue(report, follow=True).result(30) == "reported"
    assert "lease failed" not in caplog.text


def test_progress_is_seen(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    with running(fresh()):
        job = errand.enqueue(sleep, {"seconds": 0}, follow=True)
        assert job.result(30) == "slept"
        reporting = Worker(poll=0.2)

        @reporting.job("long_report", queue="py2", deadline=30)
        def report(payload: Any, context: Any) -> None:
            context.report(0.5, "half of it")
            context.report(message="more than half")
            context._stop.wait(20)

        with running(reporting):
            job = errand.enqueue(report, follow=True)
            becomes(lambda: (status := job.status()) is not None and status.message == "more than half")
            found = job.status()
            assert found is not None and found.progress == 0.5
            assert job.cancel("seen enough")
            with pytest.raises(JobFailed, match="cancelled"):
                job.result(30)


def test_a_cancelled_job_is_interrupted(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    with running(fresh(lease=6)):
        jobs = [errand.enqueue(sleep, {"seconds": 25}, follow=True), errand.enqueue(wait, {"seconds": 0.9}, follow=True)]
        becomes(lambda: db.execute("select count(*) from errand.job where state = 'running'").fetchone() == (2,))
        began = time.monotonic()
        assert all(job.cancel("not wanted") for job in jobs)
        # Its thread is free again long before the handler would have ended.
        for _ in range(4):
            assert errand.enqueue(sleep, {"seconds": 0}, follow=True).result(30) == "slept"
    assert time.monotonic() - began < 20


@contextmanager
def process(conninfo: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """python -m errand worker in a process of its own."""
    command = [sys.executable, "-m", "errand", "worker", "handlers:worker", *arguments]
    with subprocess.Popen(
        command, cwd=HERE, env={**os.environ, "DATABASE_URL": conninfo, **environment}, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def test_sigterm_lets_running_jobs_end_and_hands_others_back(
    errand: Errand, worker_login: str, db: psycopg.Connection
) -> None:
    with process(worker_login, "--concurrency", "2") as started:
        jobs = [errand.enqueue(sleep, {"seconds": 1.5}, follow=True) for _ in range(6)]
        becomes(lambda: db.execute("select count(*) from errand.job where state = 'running'").fetchone()[0] >= 2)
        time.sleep(0.3)
        started.send_signal(signal.SIGTERM)
        _, log = started.communicate(timeout=30)
    assert started.returncode == 0, log
    ends = [state(db, job.id) for job in jobs]
    assert ends.count("succeeded") >= 2 and set(ends) == {"succeeded", "available"}, ends
    assert db.execute("select max(attempt) from errand.job").fetchone() == (0,)
    assert db.execute("select count(*) from errand.worker").fetchone() == (0,)


def test_after_a_backlog_enqueues_notify_again(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    db.execute("select setval('errand.wake_flag', 1)")  # no worker sleeps
    first = errand.enqueue(sleep, {"seconds": 0}, follow=True)
    with running(Worker(handlers=worker.handlers, poll=60)):
        assert first.result(30) == "slept"
        for _ in range(3):
            assert errand.enqueue(sleep, {"seconds": 0}, follow=True).result(30) == "slept"


def test_a_killed_workers_jobs_run_elsewhere(
    errand: Errand, worker_login: str, db: psycopg.Connection, running: Any
) -> None:
    with process(worker_login, LEASE="2") as started:
        jobs = [errand.enqueue(sleep, {"seconds": 0.7}, follow=True) for _ in range(6)]
        becomes(lambda: db.execute("select count(*) from errand.job where state = 'running'").fetchone()[0] >= 4)
        started.kill()
        started.wait()
    with running(fresh(lease=3)):
        assert [job.result(60) for job in jobs] == ["slept"] * 6


def test_it_goes_on_after_its_connections_are_lost(
    errand: Errand, worker_login: str, db: psycopg.Connection, running: Any
) -> None:
    with running(fresh()):
        jobs = [errand.enqueue(sleep, {"seconds": 0.2}, follow=True) for _ in range(20)]
        for _ in range(3):
            time.sleep(0.2)
            db.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'python_worker'")
        assert [job.result(60) for job in jobs] == ["slept"] * 20
    assert db.execute("select max(attempt) from errand.history").fetchone() == (1,)


def test_metrics_and_health(errand: Errand, db: psycopg.Connection, running: Any, free_port: int) -> None:
    def get(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{free_port}{path}", timeout=5) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, ""

    with running(fresh(port=free_port)):
        assert errand.enqueue(sleep, {"seconds": 0}, follow=True).result(30) == "slept"
        assert get("/health") == (200, "ok\n")
        _, text = get("/metrics")
        assert 'errand_client_attempts_total{kind="sleep",outcome="succeeded"} 1' in text
        assert get("/other")[0] == 404


def test_alone_it_maintains_and_ticks(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    errand.put_schedule("each_minute", "* * * * *", "sleep", {"seconds": 0}, queue="py")
    errand.enqueue(sleep, {"seconds": 0}, delay=0.5, follow=True)
    try:
        with running(fresh()):
            becomes(lambda: db.execute("select count(*) from errand.history where kind = 'sleep'").fetchone() == (1,), 30)
            checks = dict(db.execute("select check_name, ok from errand.health()").fetchall())
            assert checks["workers"] and checks["maintenance"] and checks["scheduler"], json.dumps(checks)
    finally:
        errand.drop_schedule("each_minute")


def test_a_worker_needs_handlers_and_fit_ones(worker_login: str) -> None:
    with pytest.raises(ValueError, match="a handler at least"):
        Worker().run(worker_login)
    twice = replace(fresh(), handlers={})
    twice.job("once")(lambda payload: None)
    with pytest.raises(ValueError, match="expected one handler"):
        twice.job("once")(lambda payload: None)
    with pytest.raises(TypeError, match="expected \\(payload\\)"):
        twice.job("none")(lambda: None)


def test_each_job_runs_once_with_several_workers(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    db.execute("select errand.enqueue('note', jsonb_build_object('text', n), 'py') from generate_series(1, 400) as n")
    with running(fresh()), running(fresh()), running(fresh()):
        becomes(lambda: db.execute("select count(*) from errand.job").fetchone() == (0,), 60)
    assert db.execute("select count(*), count(distinct text) from note").fetchone() == (400, 400)


def test_a_job_waits_for_a_signal(errand: Errand, other: str, db: psycopg.Connection, running: Any) -> None:
    db.execute("truncate errand.signal, errand.signal_wait")
    with running(fresh()):
        assert errand.signal("early", [1]) and not errand.signal("early", [2])
        assert errand.enqueue(approve, {"for": "early"}, follow=True).result(30) == {
            "has_come": True, "payload": [1], "attempt": 1}
        job = errand.enqueue(approve, {"for": "later"}, follow=True)
        becomes(lambda: (status := job.status()) is not None and status.state == "parked")
        status = job.status()
        assert status is not None and status.waiting_for == "signal later has not come"
        with Errand(other) as stranger:
            assert stranger.signal("later", "mine")
        time.sleep(0.3)
        assert state(db, job.id) == "parked"
        assert errand.signal("later", "yours")
        assert job.result(30)["payload"] == "yours"
        assert errand.enqueue(approve, {"for": "never", "timeout": 0.2}, follow=True).result(30) == {
            "has_come": False, "payload": None, "attempt": 1}
        with pytest.raises(JobFailed, match="expected a role"):
            errand.enqueue(approve, {"for": "x", "by": "no such role"}, follow=True).result(30)
        with pytest.raises(JobFailed, match="signal: expected a name, got {}"):
            errand.enqueue(approve, {"for": {}}, follow=True, max_attempts=1).result(30)


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_a_handler_is_told_of_failures(mode: Any, errand: Errand, db: psycopg.Connection, running: Any) -> None:
    texts = ["way"] if mode == "threads" else ["way", "crash"]
    with running(fresh(mode=mode)):
        jobs = [errand.enqueue(fails, {"text": text}, follow=True) for text in texts]
        for job in jobs:
            with pytest.raises(JobFailed):
                job.result(30)
        failures = "select count(*) from errand.failed where kind = %s"
        becomes(lambda: db.execute(failures, [told.kind]).fetchone() == (len(jobs),), 30)
    errors = {"way": "no way", "crash": "the handler's process ended with signal SIGKILL"}
    expected = sorted(f"{job.id} 1 {text} {errors[text]}" for job, text in zip(jobs, texts, strict=True))
    assert sorted(text for (text,) in db.execute("select text from note")) == expected
    assert db.execute("select count(*) from errand.job").fetchone() == (0,)
