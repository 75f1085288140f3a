"""Samples for the check `words`: lines that it must find, and lines that it must not, so that no pattern goes blind."""

from pathlib import Path

# A file's kind, and a line with a house word.
FOUND = [
    (".swift", "var turn: MaintenanceTurn"),
    (".swift", "await shared.takeTurns(on: granted)"),
    (".swift", '    logger.warning("fewer connections: they take turns")'),
    (".swift", "// The worker waits for its turn."),
    (".sql", "create function errand_front.place_of(cell int) returns int"),
    (".sql", "select place from errand_front.cell"),
    (".sql", "-- Returns the place of the cell that has the schedule."),
    (".swift", "let places: AsyncSemaphore"),
    (".swift", "struct ClaimEpochs {"),
    (".swift", "private struct Epoch {"),
    (".swift", "/// The epoch of its claim."),
    (".sql", "where before_epoch > 0"),
    (".md", "The records are grouped into epochs."),
    (".swift", "mutating func sweep() -> [Connection] {"),
    (".swift", "/// When it ends, a sweep starts there."),
    (".sql", "create function activity.sweep_v1() returns int"),
    (".swift", "let isSwept = true"),
    (".swift", "/// A transaction that has run for long is set aside."),
    (".swift", "mutating func setAside(running: [UInt64]) {}"),
    (".swift", "private var starters = 0"),
    (".swift", "/// Returns how many starters to add."),
    (".swift", "identity.doubt(workerID)"),
    (".swift", "// Ids in doubt keep their leases."),
    (".sql", "-- leave: with in_doubt, jobs are handed back. Each doubt takes a new id."),
    (".swift", "private(set) var isApart = false"),
    (".md", "Its outcomes are written apart."),
    (".swift", "private(set) var isDeep = false"),
    (".md", "A deep queue is claimed over two connections."),
    (".swift", "private func lead() async {"),
    (".swift", "private func assist() async {"),
    (".swift", "func hold(_ jobs: Int) {}"),
    (".swift", "slots.hold(4)"),
    (".swift", "queue.unhold(task.limit)"),
    (".swift", "let jobs = running.held()"),
    (".sql", "        return 'kept';"),
    (".swift", "let suspects = Suspects()"),
    (".swift", "/// A job that was in two crashes is on trial."),
    (".swift", "var isOnTrial: Bool { crashes >= 2 }"),
    (".swift", "func poison() async throws {"),
    (".sql", "create table errand.isolate_lock ();"),
    (".md", "A poisoned job ends its worker."),
    (".sql", "from errand.circuit as known"),
    (".sql", "    held errand.job;"),
    (".sql", "insert into errand.finished_total as kept ("),
    (".sql", "    select * into held from errand.job where id = job_id;"),
    (".swift", '    "select known.id from errand.job as known"'),
    (".swift", "static let setSize = 1_000"),
]

# A file's kind, and a line of plain English or of a language's own words.
PLAIN = [
    (".swift", "/// The checks take place in one place, in its place."),
    (".swift", "// Ticks are at least 1 s apart."),
    (".md", "It turns the watchdog off."),
    (".md", "Jobs are kept for a week, and the lock is held."),
    (".md", "`parked` and `obsolete` are states."),
    (".sql", "select extract(epoch from now() - heartbeat_at) from errand.worker"),
    (".sql", "select lead(id) over (order by id) from errand.job"),
    (".swift", "let held = running.leasedJobs()"),
    (".swift", "let known = names.first"),
]


def unexpected(house_words):
    """What the patterns get wrong of the samples."""
    for suffix, line in FOUND:
        if not list(house_words(Path(f"sample{suffix}"), [(1, line)])):
            yield f"does not find a house word in: {line.strip()}"
    for suffix, line in PLAIN:
        for _, word, _ in house_words(Path(f"sample{suffix}"), [(1, line)]):
            yield f"finds {word} in: {line.strip()}"
