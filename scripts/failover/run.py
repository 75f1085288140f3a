"""run.py ERRAND FOLDER [NAME...]: failovers of PostgreSQL under load, and what they lose.

A NAME chooses a fault (switchover) or a route (hosts, haproxy); without one, all run by both. RATE is the number of
jobs enqueued per second. Prints a table; the exit code is 1 if a promise is broken.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psycopg2

from check import Outcome
from faults import FAULTS, lagging
from load import Enqueuer, Observer, Prober, Worker
from rig import PASSWORD, Rig

ERRAND, FOLDER = sys.argv[1], Path(sys.argv[2])
RATE = int(os.environ.get("RATE", 5000))
ROUTES = ("hosts", "haproxy")
HEADER = ("fault", "by", "acknowledged", "unknown", "stored", "lost", "ends lost", "ended twice", "ran twice",
          "were running", "outage s", "claim after s", "")


def prepare(rig):
    """A new database with Errand's schema, and the worker's login."""
    connection = psycopg2.connect(rig.url("postgres", "hosts").replace("/errand?", "/postgres?"))
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("drop database if exists errand with (force)")
        cursor.execute("create database errand")
    connection.close()
    # libpq gives up at a replica that hasn't replayed this yet.
    wait(30, lambda: all(host.has_database() for host in rig.hosts))
    settings = {"PATH": os.environ["PATH"], "DATABASE_URL": rig.url("postgres", "hosts")}
    migration = subprocess.run([ERRAND, "migrate"], env=settings, capture_output=True, text=True)
    if migration.returncode:
        sys.exit(f"errand migrate: {migration.stderr}")
    connection = psycopg2.connect(rig.url("postgres", "hosts"))
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("select 1 from pg_roles where rolname = 'errand_runs'")
        if not cursor.fetchone():
            cursor.execute(f"create user errand_runs in role errand_worker password '{PASSWORD}'")
    connection.close()


def wait(seconds, condition):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def drained(rig):
    try:
        with rig.primary().connect() as connection, connection.cursor() as cursor:
            cursor.execute("select not exists (select from errand.job)")
            return cursor.fetchone()[0]
    except (psycopg2.Error, StopIteration):
        return False


def new_primary(probers, old, moment, same):
    """When a host acknowledged a commit after the fault: another one than before, unless it may be the same."""
    times = [start for prober in probers if same or prober.host is not old
             for start, end in prober.writable if start > moment]
    return min(times, default=None)


def first_claim(cursor, writable):
    cursor.execute("select extract(epoch from min(started_at))::float8 from errand.history"
                   " where started_at > to_timestamp(%s)", (writable,))
    return cursor.fetchone()[0]


def late_outcomes(logs):
    """Outcomes that were refused, since the job had run or was running elsewhere."""
    text = "".join(log.read_text(errors="replace") for log in logs)
    return len(re.findall("late outcome not written", text))


def attempt(rig, name, route):
    asynchronous = name == "lagging"
    rig.configure(synchronous_mode=not asynchronous, maximum_lag_on_failover=(1 << 30) if asynchronous else 1 << 20)
    primary = rig.wait_whole(60, synchronous=not asynchronous)
    prepare(rig)
    url = rig.url("errand_runs", route)
    batches = [Enqueuer(url, n * 100_000_000, 50, 50 * 4 / RATE) for n in range(4)]
    sleepers = Enqueuer(url, 900_000_000, 4, 0.1, "slow", '{"sleep_ms": 500}')
    enqueuers = [*batches, sleepers]
    logs = [FOLDER / f"{name}-{route}-{number}.log" for number in range(3)]
    workers = [Worker(ERRAND, url, log) for log in logs[:2]]
    # A worker that stays with the primary in a partition.
    workers.append(Worker(ERRAND, rig.url("errand_runs", "hosts"), logs[2], inside=primary.name))
    observers = [Observer(host) for host in rig.hosts]
    probers = [Prober(host) for host in rig.hosts]
    for thread in [*observers, *probers, *enqueuers]:
        thread.start()
    time.sleep(8)

    moment = time.time()
    repair = FAULTS[name](rig, primary)
    began = time.time()
    wait(repair.after or 60, lambda: new_primary(probers, primary, moment, repair.same))
    writable = new_primary(probers, primary, moment, repair.same)
    time.sleep(max(0, began + repair.after - time.time()))
    repair.action()
    if not writable:
        wait(60, lambda: new_primary(probers, primary, moment, repair.same))
        writable = new_primary(probers, primary, moment, repair.same)
    time.sleep(10)
    for enqueuer in enqueuers:
        enqueuer.stops.set()
    rig.wait_whole(90, synchronous=not asynchronous)
    wait(120, lambda: drained(rig))
    time.sleep(1)
    threads = [*observers, *probers, *enqueuers]
    for thread in threads:
        thread.stops.set()
    for thread in threads:
        thread.join(10)
    for worker in workers:
        worker.stop()

    with rig.primary().connect() as connection, connection.cursor() as cursor:
        cursor.execute("set statement_timeout = 0")
        outcome = Outcome(cursor, enqueuers, observers, late_outcomes(logs), moment,
                          lagging.since if asynchronous else None)
        outcome.set_times(moment, writable, first_claim(cursor, writable) if writable else None)
    return outcome, outcome.broken(repair.claim)


def row(values):
    widths = (14, 8, 12, 8, 8, 8, 9, 11, 9, 12, 9, 13, 0)
    return "  ".join(str(value).rjust(width) if number > 1 else str(value).ljust(width)
                     for number, (value, width) in enumerate(zip(values, widths))).rstrip()


def main():
    chosen = set(sys.argv[3:])
    names = [name for name in FAULTS if name in chosen] or list(FAULTS)
    routes = [route for route in ROUTES if route in chosen] or ROUTES
    if unknown := chosen - set(FAULTS) - set(ROUTES):
        sys.exit(f"run.py: no fault or route is named {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    rig = Rig(FOLDER)
    rig.start()
    print(row(HEADER), flush=True)
    failed = False
    for name in names:
        for route in routes:
            outcome, broken = attempt(rig, name, route)
            seconds = ["-" if value is None else f"{value:.1f}" for value in (outcome.outage, outcome.claim)]
            print(row((name, route, outcome.acknowledged, outcome.unknown, outcome.stored, outcome.lost,
                       outcome.ends_lost, outcome.ended_twice, outcome.again, outcome.running, *seconds,
                       "; ".join(broken) or "ok")), flush=True)
            failed = failed or bool(broken)
    sys.exit(failed)


main()
