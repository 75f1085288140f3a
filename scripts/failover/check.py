"""What must hold after a fault."""

import collections

from load import copied

FINAL = """
    copy (select payload ->> 'key', id, attempt, (extract(epoch from finished_at) * 1000000)::bigint
          from errand.history where state = 'succeeded') to stdout
"""


LEFT = """
    copy (select payload ->> 'key', state from errand.job union all select payload ->> 'key', 'failed' from errand.failed)
    to stdout
"""


class Outcome:
    """The numbers of one fault, and what they break."""

    def __init__(self, cursor, enqueuers, observers, late_outcomes, moment, loses_since=None):
        ends = copied(cursor, FINAL)
        keys = {}
        for end in ends:
            keys.setdefault(int(end[0]), set()).add(end)
        acknowledged = {}
        for enqueuer in enqueuers:
            for first, last, time in enqueuer.acknowledged:
                acknowledged.update(dict.fromkeys(range(first, last + 1), time))
        unknown = [key for enqueuer in enqueuers for first, last in enqueuer.unknown for key in range(first, last + 1)]
        left = {int(key): state for key, state in copied(cursor, LEFT)}
        lost = [key for key in acknowledged if key not in keys and key not in left]
        final = set(ends)
        seen = {}
        for observer in observers:
            for end, time in observer.ends.items():
                seen[end] = min(time, seen.get(end, time))
        for end in seen:
            keys.setdefault(int(end[0]), set()).add(end)

        self.acknowledged = len(acknowledged)
        self.unknown = len(unknown)
        self.stored = sum(key in keys for key in unknown)
        self.lost = len(lost)
        self.lost_early = sum(acknowledged[key] < loses_since for key in lost) if loses_since else 0
        self.left = collections.Counter(left.values())
        self.ends_lost = sum(end not in final for end in seen)
        self.ended_twice = sum(len(of_key) > 1 for of_key in keys.values())
        self.again = sum(int(end[2]) > 1 for end in ends) + late_outcomes
        near = [count for observer in observers for time, count in observer.running if time > moment - 3]
        self.running = max(near, default=0)
        self.loses_since = loses_since

    def set_times(self, moment, writable, claimed):
        self.outage = writable - moment if writable else None
        self.claim = claimed - writable if writable and claimed else None

    def broken(self, longest):
        """The promises that don't hold; `longest` is how many seconds the first claim may take."""
        if self.loses_since:
            # Asynchronous: what was acknowledged while no replica received WAL is lost, and nothing else.
            return [f"{self.lost_early} lost that were replicated"] if self.lost_early else []
        found = {"acknowledged jobs lost": self.lost, "acknowledged ends lost": self.ends_lost,
                 "jobs ended twice": self.ended_twice}
        found |= {f"jobs still {state}": count for state, count in self.left.items()}
        lines = [f"{count} {what}" for what, count in found.items() if count]
        if self.again > self.running:
            lines.append(f"{self.again} jobs ran twice, {self.running} were running")
        if self.claim is None:
            lines.append("nothing was claimed")
        elif self.claim > longest:
            lines.append(f"the first claim came {self.claim:.1f} s after the primary")
        return lines
