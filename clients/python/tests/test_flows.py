"""Jobs that wait for jobs."""

from typing import Any

import psycopg
import pytest
from errand import Errand, Invalid, NotFound, Request, Worker
from handlers import add, add_async, worker


def test_a_job_waits_for_others_and_reads_their_outputs(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    first = Request(add, 1)
    sides = [Request(add, 10, after=[first]), Request(add_async, 100, after=[first])]
    jobs = errand.enqueue_many([first, *sides, Request(add_async, 1000, after=sides, follow=True)])
    last = errand.enqueue(add, 5, after=[jobs[3], jobs[0].id], if_parent_fails="cancel", follow=True)
    states = db.execute("select state from errand.job order by id").fetchall()
    assert states == [("available",), *[("parked",)] * 4]
    assert last.explain()[0].code == "waits_for_jobs"
    with running(Worker(handlers=worker.handlers, concurrency=4, poll=0.2)):
        assert jobs[3].result(30) == 1112
        assert last.result(30) == 1118
        assert errand.enqueue(add, 7, follow=True).result(30) == 7


def test_a_job_waits_for_no_others_than_those_that_there_are(errand: Errand) -> None:
    with pytest.raises(NotFound, match="after: expected ids of jobs"):
        errand.enqueue(add, 1, after=[1 << 40])
    with pytest.raises(Invalid, match="wait, go_on or cancel"):
        errand.enqueue(add, 1, if_parent_fails="stop")
    with pytest.raises(TypeError, match="enqueue both in one call"):
        errand.enqueue(add, 1, after=[Request(add, 1)])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="of the same call"):
        errand.enqueue_many([Request(add, 1, after=[Request(add, 2)])])
    later = Request(add, 2)
    with pytest.raises(Invalid, match="after_elements: expected numbers of elements before it"):
        errand.enqueue_many([Request(add, 1, after=[later]), later])


def test_jobs_of_an_order_key_run_one_after_the_other(errand: Errand, db: psycopg.Connection, running: Any) -> None:
    jobs = errand.enqueue_many([Request(add, n, order_key="a", if_head_fails="go_on", follow=True) for n in range(5)])
    last = errand.enqueue(add, 5, order_key="a", follow=True)
    assert [job.state for job in jobs] == ["available", *["parked"] * 4]
    assert last.explain()[0].code == "behind_in_order"
    with running(Worker(handlers=worker.handlers, concurrency=4, poll=0.2)):
        last.result(30)
    ended = db.execute("select id from errand.history order by finished_at").fetchall()
    assert [id for [id] in ended] == [job.id for job in [*jobs, last]]
    with pytest.raises(Invalid, match="block or go_on"):
        errand.enqueue(add, 1, order_key="a", if_head_fails="stop")
