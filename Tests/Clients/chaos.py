"""Kills workers of all sorts and the server at random, and counts what was lost or ran twice without a kill.

    chaos.py PROGRAM FOLDER CLUSTER SECONDS [SEED]

PROGRAM is `errand`, CLUSTER the folder of a running server of scripts/cluster.sh. Two workers of the Python client, two
that pull by SQL alone, one of the program and an endpoint that it posts to run the jobs of a producer. Each run of a
handler is a line in a file, which no crash of the server takes back. The exit code is 1 if a job is lost, ended twice,
or ran again though neither its worker nor the server was killed.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg

HERE = Path(__file__).resolve().parent
LEASE = 5
PORT = 18_090
#: Whose kill explains that a job ran again, beside that of the process that ran it.
POSTS = {"chaos_http": ("swift", "http")}


def log_run(path, id):
    """Appended in one write, as the system does up to 4 KB."""
    with open(path, "ab", buffering=0) as file:
        file.write(f"{id} {os.getpid()} {time.time()}\n".encode())


def python_worker(runs):
    from errand import Worker

    worker = Worker(concurrency=8, lease=LEASE, poll=0.2)

    @worker.job("chaos_python", queue="chaos", max_attempts=100, retry=[0.01])
    def handle(payload, context):
        log_run(runs, context.id)
        time.sleep(random.random() * 0.05)
        if random.random() < 0.02:
            raise ValueError("now and then")

    worker.run(os.environ["DATABASE_URL"])


def pull_worker(runs):
    """A worker on errand.pull and errand.done alone, one connection."""
    while True:
        worker = None
        try:
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                while True:
                    rows = connection.execute(
                        "select worker_id, id, token from errand.pull('{chaos}', '{chaos_pull}', 20, %s, %s)",
                        [f"{LEASE} s", worker]).fetchall()
                    worker = rows[0][0]
                    tokens = []
                    for _, id, token in rows:
                        if id is not None:
                            log_run(runs, id)
                            time.sleep(random.random() * 0.01)
                            tokens.append(token)
                    if tokens:
                        connection.execute("select * from errand.done(%s)", [tokens])
                    else:
                        time.sleep(0.05)
        except psycopg.Error:
            time.sleep(0.2)


def call_back(token):
    while True:
        try:
            with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                connection.execute("select errand.callback(%s, '{\"late\": true}')", [token])
            return
        except psycopg.OperationalError:
            time.sleep(0.2)
        except psycopg.Error as error:
            # The attempt has ended: its worker was killed.
            return print(error, file=sys.stderr, flush=True)


def endpoint(runs):
    """A server that handles jobs: most at once, some fail, and some are accepted and completed later."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            log_run(runs, self.headers["webhook-id"].removeprefix("job_"))
            time.sleep(random.random() * 0.05)
            status = random.choices([200, 500, 202], [0.88, 0.02, 0.1])[0]
            if status == 202:
                token = self.headers["errand-callback"].rpartition("/")[2]
                threading.Timer(random.random() * 0.1, call_back, [token]).start()
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    ThreadingHTTPServer.request_queue_size = 100
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()


class Chaos:
    def __init__(self, program, folder, cluster, seed):
        self.program = program
        self.folder = Path(folder)
        self.cluster = cluster
        self.random = random.Random(seed)
        self.runs = self.folder / "chaos-runs"
        self.runs.write_bytes(b"")
        self.kills = []  # (time, pid or None for the server, sort)
        self.workers = {}
        self.enqueued = {}  # kinds by id
        self.is_over = threading.Event()

    def start(self, sort):
        log = open(self.folder / f"chaos-{sort}.log", "ab")
        if sort == "swift":
            environment = {
                **os.environ, "ERRAND_QUEUES": "chaos=8", "ERRAND_LEASE": f"{LEASE}s",
                "ERRAND_HEARTBEAT_INTERVAL": "1s", "ERRAND_ENDPOINT_SECRETS": "chaos=whsec_" + "c2VjcmV0" * 4}
            command = [self.program, "worker"]
        else:
            environment = os.environ
            command = [sys.executable, __file__, sort, self.runs]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        self.workers[process.pid] = (sort, process)

    def produce(self):
        kinds = ("chaos_python", "chaos_pull", "chaos_http", "noop")
        while not self.is_over.is_set():
            try:
                with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
                    while not self.is_over.wait(0.02):
                        jobs = connection.execute(
                            """
                            select (errand.enqueue(kind, queue => 'chaos')).job_id, kind
                            from unnest(%s::text[]) as kind
                            """, [list(kinds)]).fetchall()
                        self.enqueued.update(jobs)
            except psycopg.Error:
                time.sleep(0.1)

    def postmaster(self):
        return int(Path(self.cluster, "data/postmaster.pid").read_text().splitlines()[0])

    def kill_one(self):
        victim = self.random.choice([*self.workers, "backend", "server"])
        if victim == "server":
            self.kills.append((time.time(), None, victim))
            os.kill(self.postmaster(), signal.SIGQUIT)
            time.sleep(1)
            subprocess.run(["scripts/cluster.sh", "start", self.cluster], check=True, stdout=subprocess.DEVNULL)
            self.kills.append((time.time(), None, victim))
        elif victim == "backend":
            children = Path(f"/proc/{self.postmaster()}/task/{self.postmaster()}/children").read_text().split()
            of_clients = [pid for pid in children if b"[local]" in Path(f"/proc/{pid}/cmdline").read_bytes()]
            if of_clients:
                self.kills.append((time.time(), None, victim))
                os.kill(int(self.random.choice(of_clients)), signal.SIGKILL)
                time.sleep(1)
                self.kills.append((time.time(), None, victim))
        else:
            sort, process = self.workers.pop(victim)
            self.kills.append((time.time(), victim, sort))
            os.killpg(victim, signal.SIGKILL)
            process.wait()
            time.sleep(self.random.random())
            self.start(sort)

    def run(self, seconds):
        for sort in ("python", "python", "pull", "pull", "swift", "http"):
            self.start(sort)
        producer = threading.Thread(target=self.produce)
        producer.start()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.random.uniform(1, 5))
            self.kill_one()
        self.is_over.set()
        producer.join()
        return self.count()

    def count(self):
        end = time.monotonic() + 120
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            while connection.execute("select count(*) from errand.job").fetchone()[0] and time.monotonic() < end:
                time.sleep(0.5)
            left = connection.execute("select id, state, kind, attempt from errand.job limit 5").fetchall()
            ended = dict(connection.execute("select id, state from errand.history").fetchall())
            failed = connection.execute("select id, error from errand.failed limit 5").fetchall()
        for _, process in self.workers.values():
            os.killpg(process.pid, signal.SIGTERM)
        for _, process in self.workers.values():
            process.wait(40)
        lost = [id for id in self.enqueued if ended.get(id) != "succeeded"]
        runs = defaultdict(list)
        for line in self.runs.read_text().splitlines():
            id, pid, when = line.split()
            runs[int(id)].append((float(when), int(pid)))
        twice, unexplained = 0, []
        for id, of_job in runs.items():
            of_job.sort()
            for (began, pid), (again, _) in zip(of_job, of_job[1:]):
                twice += 1
                posts = POSTS.get(self.enqueued.get(id), ())
                was_killed = any(
                    began - 1 <= when <= again and (victim in (None, pid) or sort in posts)
                    for when, victim, sort in self.kills)
                # A failed attempt is retried, and counted.
                if not was_killed and not self.has_failed(id):
                    unexplained.append(id)
        print(
            f"{len(self.enqueued)} jobs, {len(self.kills)} kills: lost {len(lost)}, left {left}, failed {failed}, "
            f"ran again {twice}, without a kill {len(unexplained)} {unexplained[:5]}")
        return not (lost or left or failed or unexplained)

    def has_failed(self, id):
        with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
            [(attempts,)] = connection.execute("select attempts::text from errand.history where id = %s", [id])
            return "retried" in (attempts or "")


def main():
    sorts = {"python": python_worker, "pull": pull_worker, "http": endpoint}
    if sys.argv[1] in sorts:
        sorts[sys.argv[1]](sys.argv[2])
        return 0
    program, folder, cluster, seconds, *seed = sys.argv[1:]
    subprocess.run([program, "migrate"], check=True, stdout=subprocess.DEVNULL)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(
            """
            select errand.put_endpoint(
                'chaos', %s, secret_name => 'chaos', timeout => '5 s', callback_timeout => '20 s',
                allows_private => true)
            """, [f"http://127.0.0.1:{PORT}/"])
        connection.execute(
            "select errand.put_http_handler('chaos_http', 'chaos', queue => 'chaos', max_attempts => 100)")
    return 0 if Chaos(program, folder, cluster, seed[0] if seed else time.time()).run(float(seconds)) else 1


if __name__ == "__main__":
    sys.exit(main())
