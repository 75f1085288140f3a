"""The load: enqueuers that record what was acknowledged, workers, and probers and observers of each host."""

import io
import os
import subprocess
import threading
import time

import psycopg2

# psycopg2 raises SystemError if a server ends a session in the middle of a reply.
LOST = (psycopg2.Error, SystemError)
ENQUEUE = """
    select errand.enqueue_payloads_v1('noop', array(
        select jsonb_build_object('key', key) || %s::jsonb from generate_series(%s, %s) as key), %s)
"""
ENDS = """
    copy (select payload ->> 'key', id, attempt, (extract(epoch from finished_at) * 1000000)::bigint
          from errand.history where finished_at > to_timestamp(%f)) to stdout
"""


class Enqueuer(threading.Thread):
    """Enqueues batches at a rate. Each key is sent once; what became of it stands in one of two lists."""

    def __init__(self, url, first_key, batch, interval, queue="default", payload="{}"):
        super().__init__(daemon=True)
        self.url = url + "&connect_timeout=2&tcp_user_timeout=3000&keepalives_idle=2&keepalives_interval=1"
        self.key, self.batch, self.interval = first_key, batch, interval
        self.queue, self.payload = queue, payload
        self.acknowledged, self.unknown = [], []
        self.stops = threading.Event()

    def run(self):
        connection, due = None, time.time()
        while not self.stops.is_set():
            due = max(due + self.interval, time.time() - 1)
            first, last = self.key, self.key + self.batch - 1
            try:
                if connection is None:
                    connection = psycopg2.connect(self.url)
                    connection.autocommit = True
                self.key = last + 1
                with connection.cursor() as cursor:
                    cursor.execute("set statement_timeout = '5s'") if first % 1000 == 0 else None
                    cursor.execute(ENQUEUE, (self.payload, first, last, self.queue))
                self.acknowledged.append((first, last, time.time()))
            except LOST:
                if connection is not None:
                    self.unknown.append((first, last))
                    connection.close()
                connection = None
                self.stops.wait(0.1)
            self.stops.wait(max(0, due - time.time()))


class Prober(threading.Thread):
    """Commits on a host over its Unix socket, in any partition: when it is a primary whose commits are acknowledged."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.host = host
        self.writable = []      # [from, to]
        self.stops = threading.Event()

    def run(self):
        connection, goes_on = None, False
        while not self.stops.wait(0.05):
            try:
                if connection is None:
                    connection = self.host.connect()
                    connection.autocommit = True
                with connection.cursor() as cursor:
                    # Raises on a standby. The commit waits for the synchronous replica.
                    cursor.execute("select pg_logical_emit_message(true, 'probe', '')")
                self.note(goes_on)
                goes_on = True
            except LOST:
                goes_on = False
                if connection is not None and connection.closed:
                    connection = None

    def note(self, goes_on):
        now = time.time()
        if goes_on:
            self.writable[-1][1] = now
        else:
            self.writable.append([now, now])


class Observer(threading.Thread):
    """Reads a host over its Unix socket, in any partition: which ends are committed there, and what is running."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.host = host
        self.ends = {}          # (key, id, attempt, finished) to when it was seen first
        self.running = []       # (time, jobs in state running)
        self.stops = threading.Event()

    def run(self):
        connection, mark = None, time.time() - 1
        while not self.stops.wait(0.4):
            try:
                if connection is None:
                    connection = self.host.connect()
                    connection.autocommit = True
                with connection.cursor() as cursor:
                    cursor.execute("select pg_is_in_recovery()")
                    if not cursor.fetchone()[0]:
                        mark = self.read(cursor, mark)
            except LOST:
                connection = None

    def read(self, cursor, mark):
        cursor.execute("select count(*) from errand.job where state = 'running'")
        now = time.time()
        self.running.append((now, cursor.fetchone()[0]))
        for line in copied(cursor, ENDS % mark):
            self.ends.setdefault(line, now)
        # A transaction that began before may become visible later.
        return now - 1.5


def copied(cursor, statement):
    """The rows of a COPY, as tuples of texts."""
    sink = io.BytesIO()
    cursor.copy_expert(statement, sink)
    return [tuple(line.split("\t")) for line in sink.getvalue().decode().splitlines()]


class Worker:
    """`errand worker`, on the bridge or inside a host's namespace."""

    def __init__(self, errand, url, log, inside=None):
        words = ["ip", "netns", "exec", inside, errand] if inside else [errand]
        settings = {"PATH": os.environ["PATH"], "DATABASE_URL": url, "ERRAND_QUEUES": "default=10,slow=30"}
        self.log = log
        self.process = subprocess.Popen([*words, "worker"], env=settings, stdin=subprocess.DEVNULL,
                                        stdout=open(log, "wb"), stderr=subprocess.STDOUT)

    def stop(self):
        self.process.terminate()
        return self.process.wait(60)
