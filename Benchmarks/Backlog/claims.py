"""Times claims on databases with backlogs of different length, in turn, so that the machine's moods hit all alike.

    python3 claims.py BATCH ROUNDS NAME=URL...

A round claims BATCH jobs of one of the 8 queues in each database, by the statement that workers send and with the marks
that a worker would have, ends them, and enqueues as many over all queues, in the order of fill.sql: the backlogs keep their
length, and jobs their neighbours. Timed is the claim, as psql sees
it, with its commit. The first sixth of the rounds warms up. Ends with 1 where a median is over 1.2 times the first one's.
"""

import re
import statistics
import subprocess
import sys

QUEUES, KINDS, LIMIT = 8, 24, 1.2
PAYLOAD = """'{"photo": "6c1d3c1e-0000-4000-8000-000000000000", "from": "the album of a summer", "attempts": 3}'"""


class Backlog:
    """A database, by a psql that stays connected as a worker does."""

    def __init__(self, name, url):
        self.name = name
        self.times = []
        self.short = 0
        self.enqueued = 0
        self.marks = {queue: [0] * 4 for queue in range(QUEUES)}
        self.psql = subprocess.Popen(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1", url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        kinds = ", ".join(f'{{"name": "kind_{n}", "queue": "queue_{n % QUEUES}", "max_attempts": 10, "priority": 2}}'
                          for n in range(KINDS))
        queues = ",".join(f"queue_{queue}" for queue in range(QUEUES))
        self.worker = self.ask(f"select worker_id from errand_internal.register_worker_v1("
                               f"'bench', '1.0', '1 hour', '{{{queues}}}', '[{kinds}]');")[0]

    def ask(self, sql):
        self.psql.stdin.write(f"{sql}\n\\echo end\n")
        rows = []
        for line in self.psql.stdout:
            if line == "end\n":
                return rows
            rows.append(line.rstrip("\n"))
        sys.exit(f"{self.name}: psql has ended")

    def round(self, queue, batch, timed):
        kinds = ",".join(f"kind_{n}" for n in range(KINDS))
        marks = self.marks[queue]
        maxima = ", ".join(f"coalesce(max(queue_position) filter (where priority = {p}), {marks[p - 1]})" for p in range(1, 5))
        self.ask("\\timing on")
        row, time = self.ask(
            f"select count(id), array_agg(id), array_agg(queue_position), {maxima} from errand_internal.claim_v1("
            f"'queue_{queue}', '{{{kinds}}}', {self.worker}, {batch}, array{marks}::bigint[], '{{1,2,3,4}}', false);")
        self.ask("\\timing off")
        count, ids, lines, *last = row.split("|")
        self.short += int(count) < batch
        # Nothing else writes here, so all jobs below the last printed row are complete.
        self.marks[queue] = [int(line) for line in last]
        if timed:
            self.times.append(float(re.match(r"Time: ([\d.]+) ms", time)[1]))
        self.ask(f"select errand_internal.finish_v1({self.worker}, '{ids}', '{lines}', null);")
        self.ask(
            f"select count(*) from errand.enqueue_many((select jsonb_agg(jsonb_build_object('kind', 'kind_' || n % {KINDS}, "
            f"'queue', 'queue_' || n % {QUEUES}, 'priority', 1 + n / {QUEUES} % 4, "
            f"'payload', {PAYLOAD}::jsonb)) from generate_series({self.enqueued}, {self.enqueued + batch - 1}) as n));")
        self.enqueued += batch

    def leave(self):
        self.ask(f"delete from errand.worker where id = {self.worker};")
        self.psql.stdin.close()
        self.psql.wait()


def main():
    batch, rounds = int(sys.argv[1]), int(sys.argv[2])
    backlogs = [Backlog(*argument.split("=", 1)) for argument in sys.argv[3:]]
    for number in range(rounds):
        for backlog in backlogs:
            backlog.round(number % QUEUES, batch, timed=number >= rounds // 6)
    print(f"claims of {batch}, {rounds - rounds // 6} each, ms")
    print(f"{'waiting':>12} {'p50':>8} {'p95':>8} {'p99':>8} {'p50 to the first':>18}")
    failed = False
    first = statistics.median(backlogs[0].times)
    for backlog in backlogs:
        cuts = statistics.quantiles(backlog.times, n=100)
        ratio = statistics.median(backlog.times) / first
        failed |= ratio > LIMIT
        short = f", {backlog.short} claims came back short" if backlog.short else ""
        print(f"{backlog.name:>12} {cuts[49]:8.2f} {cuts[94]:8.2f} {cuts[98]:8.2f} {ratio:18.2f}{short}")
        backlog.leave()
    sys.exit(failed)


if __name__ == "__main__":
    main()
