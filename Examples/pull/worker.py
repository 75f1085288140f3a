"""A worker in Python for the kind send_mail: docs/pull.md explains it.

    DATABASE_URL=postgresql://mailer@localhost/shop python3 worker.py

QUEUE is its queue (mail). LEASE is how long it may be silent before its jobs run elsewhere (30 s).
"""

import os
import queue
import signal
import threading

import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

URL = os.environ["DATABASE_URL"]
QUEUE = os.environ.get("QUEUE", "mail")
LEASE = os.environ.get("LEASE", "30 s")
SLOTS = 10


class NoSuchAddress(Exception):
    """Another attempt would fail, too."""


def send_mail(job, lost):
    """Stands for the call of a mail server. Returns the job's output, or raises. lost is set once it must stop."""
    mail = job["payload"]
    if "@" not in mail["to"]:
        raise NoSuchAddress(mail["to"])
    lost.wait(mail.get("seconds", 0))
    if job["attempt"] <= mail.get("busy", 0):
        raise ConnectionError("the mail server is busy")
    return {"sent_to": mail["to"]}


def run(job, lost, events):
    try:
        outcome = (Jsonb(send_mail(job, lost)), None, False)
    except Exception as error:
        outcome = (None, f"{type(error).__name__}: {error}", isinstance(error, NoSuchAddress))
    events.put((job["token"], outcome))


def listen(events):
    """If its session is lost, new jobs are found up to a second later, by the next pull."""
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("listen errand_wake")
        for _ in connection.notifies():
            events.put(None)


def tell(connection, ended):
    """Tells outcomes. Returns their tokens, without those to tell again."""
    done = [(token, output) for token, (output, error, _) in ended.items() if error is None]
    failed = [(token, error, permanent) for token, (_, error, permanent) in ended.items() if error is not None]
    rows = connection.execute(
        """
        select token, result from errand.done(%s::text[], %s::jsonb[])
        union all
        select token, result from errand.fail(%s::text[], %s::text[], permanent => %s::boolean[])
        """,
        [[row[index] for row in rows] for rows, width in ((done, 2), (failed, 3)) for index in range(width)])
    return [row["token"] for row in rows if row["result"] != "again"]


def main():
    events = queue.SimpleQueue()  # What ends a pause: (token, outcome) of an attempt, or None.
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: (stopping.set(), events.put(None)))
    threading.Thread(target=listen, args=[events], daemon=True).start()
    # Each statement commits at once. None is prepared: older PgBouncers forget it with its transaction.
    connection = psycopg.connect(URL, autocommit=True, prepare_threshold=None, row_factory=dict_row)
    connection.execute(
        "select errand.put_kind('send_mail', queue => %s, retry_delays => '{2 s, 30 s, 10 min}')", [QUEUE])
    worker, running, ended = None, {}, {}
    while running or not stopping.is_set():
        for token in tell(connection, ended) if ended else []:
            del running[token], ended[token]
        free = 0 if stopping.is_set() else SLOTS - len(running)
        if free > 0:
            rows = connection.execute(
                """
                select * from errand.pull(
                    array[%s], '{send_mail}', %s, %s, worker => %s, running => %s, listens => true)
                """,
                [QUEUE, free, LEASE, worker, list(running)]).fetchall()
            worker = rows[0]["worker_id"]
        else:
            rows = connection.execute(
                "select null as token, lost from errand.renew(%s, %s)", [worker, list(running)]).fetchall()
        for token in rows[0]["lost"]:
            running[token].set()
        jobs = [row for row in rows if row["token"]]
        for job in jobs:
            running[job["token"]] = threading.Event()
            threading.Thread(target=run, args=[job, running[job["token"]], events], daemon=True).start()
        try:
            # Without a pause after a pull that found jobs: there may be more.
            event = events.get(timeout=0 if jobs else 1)
            while True:
                ended.update([event] if event else [])
                event = events.get_nowait()
        except queue.Empty:
            pass
    connection.execute("select errand.leave(%s)", [worker])


if __name__ == "__main__":
    main()
