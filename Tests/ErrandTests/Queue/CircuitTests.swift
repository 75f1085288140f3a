import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Errand

@Suite("Circuits") struct CircuitTests {
    private static let kinds = #"""
        [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true,
            "circuits": ["storage"]},
        {"name": "other", "queue": "default", "max_attempts": 3, "priority": 2, "is_whole": true}]
        """#
    private let down: @Sendable (ClaimedJob) -> Completion = {
        .parked($0, circuit: "storage", reason: "connection refused")
    }

    @Test("three failures within the window open it for the whole fleet; its jobs park, and spend no attempts")
    func opens() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            let queue = Queue(database: database)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 20))
            try await worker.end(worker.claim(2), as: down)
            #expect(try await database.count("from errand.circuit where opened_at is null and failures = 2") == 1)
            try await worker.end(worker.claim(1), as: down)
            #expect(
                try await database.count(
                    "from errand.circuit where opened_by = 'failures' and reason = 'connection refused'") == 1)
            try await database.execute("select errand.enqueue('other')")
            let other = try await ManualWorker(database)
            #expect(try await other.claim(50, kinds: ["noop", "other"]).map(\.kind) == ["other"])
            #expect(
                try await database.count(
                    "from errand.job where state = 'parked' and parked_for = 'circuit:storage' and attempt = 0")
                    == 20)
        }
    }

    @Test("failures that are too far apart don't open it, and such a job comes back after a moment")
    func spread() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(Noop())
            for round in 1...4 {
                let job = try await worker.claim(1)
                #expect(job.map(\.attempt) == [1], "round \(round)")
                try await worker.end(job, as: down)
                try await database.promote()
                #expect(try await database.count("from errand.job where state = 'parked'") == 1)
                try await database.execute(
                    """
                    update errand.circuit
                    set failing_since = failing_since - interval '11 s', failed_at = failed_at - interval '11 s'
                    """)
                try await database.promote()
            }
            #expect(try await database.count("from errand.circuit where opened_at is null") == 1)
        }
    }

    @Test("while it is open one job at a time tries it; when one has succeeded the others go, oldest first")
    func probes() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            let queue = Queue(database: database)
            let ids = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 200))
            try await worker.end(worker.claim(3), as: down)
            #expect(try await worker.claim(500).isEmpty)
            // A second, which passes on a busy machine.
            try await database.execute("update errand.circuit set probe_every = '1 hour'")
            for _ in 0..<3 {
                try await database.execute("update errand.circuit set until = now()")
                try await database.promote()
                try await database.promote()
                let probe = try await worker.claim(500)
                #expect(probe.map(\.id) == [ids[0]])
                #expect(probe.map(\.attempt) == [1])
                try await database.promote()
                #expect(try await worker.claim(500).isEmpty)
                try await worker.end(probe, as: down)
                try await database.promote()
                #expect(try await worker.claim(500).isEmpty, "not before its time")
            }
            try await database.execute("update errand.circuit set until = now()")
            try await database.promote()
            let last = try await worker.claim(1)
            let start = ContinuousClock.now
            try await worker.end(last)
            var released: [Int64] = []
            while released.count < 199, ContinuousClock.now - start < .seconds(60) {
                try await database.promote()
                let jobs = try await worker.claim(500).sorted { $0.position < $1.position }
                // What half a second brings at a pace of 100/s that doubles each second: however slow this machine is.
                let seconds = Int((ContinuousClock.now - start) / .seconds(1))
                #expect(jobs.count <= 50 << min(seconds, 5), "no stampede")
                released += jobs.map(\.id)
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(released == Array(ids.dropFirst()))
            #expect(try await database.count("from errand.circuit where opened_at is null and failures = 0") == 1)
        }
    }

    @Test("a probe that is snoozed has found its service up: the circuit closes, and its job and the others go on")
    func snoozedProbe() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            let ids = try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 5))
            try await worker.end(worker.claim(3), as: down)
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute("update errand.circuit set until = now()")
            try await database.promote()
            let probe = try await worker.claim(10)
            #expect(probe.map(\.id) == [ids[0]])
            try await worker.end(probe) { .snoozed($0, for: .zero) }
            #expect(try await database.count("from errand.circuit where opened_at is null and failures = 0") == 1)
            #expect(
                try await database.becomes(
                    "count(*) = 5 from errand.job where state = 'available'", after: database.promote))
            #expect(Set(try await worker.claim(10).map(\.id)) == Set(ids))
        }
    }

    @Test("so has a probe that waits for a signal: the circuit doesn't stay open meanwhile")
    func waitingProbe() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 3))
            try await worker.end(worker.claim(3), as: down)
            try await database.execute("update errand.circuit set until = now()")
            try await database.promote()
            let later = try await database.query("select now() + interval '1 hour'").scalar(Timestamp.self)
            let probe = try await worker.claim(10)
            #expect(probe.count == 1)
            try await worker.end(probe) { .waiting($0, for: "approval", until: later, by: nil) }
            #expect(try await database.count("from errand.circuit where opened_at is null and failures = 0") == 1)
        }
    }

    @Test("a circuit that no job is left to probe closes when a probe is due", arguments: ["parked", "available"])
    func nothingToProbe(state: String) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 3))
            try await worker.end(worker.claim(3), as: down)
            try await database.execute("update errand.circuit set probe_every = '1 hour'")
            if state == "available" {
                // One of the jobs probes it.
                try await database.execute("update errand.circuit set until = now()")
                try await database.promote()
            }
            #expect(try await database.count("from errand.job where state = '\(state)'") > 0)
            try await database.execute("update errand.circuit set until = now() + '1 hour'")
            try await database.execute("select errand.cancel(array(select id from errand.job), 'a person was erased')")
            try await database.promote()
            #expect(try await database.count("from errand.circuit where opened_at is not null") == 1)
            try await database.execute("update errand.circuit set until = now()")
            try await database.promote()
            #expect(try await database.count("from errand.circuit where opened_at is null and failures = 0") == 1)
            // What an operator has opened stays open.
            try await database.execute("select errand.circuit_open('storage', 'test', now())")
            try await database.promote()
            #expect(try await database.count("from errand.circuit where opened_at is not null") == 1)
        }
    }

    @Test("operators open and close a circuit; without an end no job probes it, and running jobs continue")
    func byOps() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            let queue = Queue(database: database)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 5))
            let running = try await worker.claim(1)
            try await database.execute("select errand.circuit_open('storage', 'bucket moves')")
            #expect(try await worker.claim(10).isEmpty)
            #expect(try await worker.end(running) == [])
            try await database.promote()
            #expect(try await worker.claim(10).isEmpty)
            #expect(try await database.word("select errand.circuit_close('storage')") == "true")
            #expect(try await database.word("select errand.circuit_close('storage')") == "false")
            #expect(
                try await database.becomes(
                    "count(*) = 4 from errand.job where state = 'available'", after: database.promote))
            #expect(try await worker.claim(10).count == 4)
        }
    }

    @Test("a kind that needs several services waits while the circuit of any of them is open, and says of which")
    func several() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(
                database, kinds: Self.kinds.replacing(#"["storage"]"#, with: #"["storage", "index"]"#))
            for name in ["storage", "index"] {
                let id = try await Queue(database: database).enqueue(Noop()).id
                try await database.execute(Statement("select errand.circuit_open('\(name)', 'test')"))
                let waiting = try await database.text("select code, hint from errand.explain(\(id)) limit 1")
                #expect(waiting == "circuit_open|select errand.circuit_close('\(name)')")
                #expect(try await worker.claim(10).isEmpty)
                #expect(try await database.word("select parked_for from errand.job") == "circuit:\(name)")
                try await database.execute(Statement("select errand.circuit_close('\(name)')"))
                #expect(
                    try await database.becomes(
                        "count(*) = 1 from errand.job where state = 'available'", after: database.promote))
                try await worker.end(worker.claim(10))
            }
        }
    }

    @Test("a handler with a known end opens the circuit immediately; a lost probe is repeated")
    func until() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            let queue = Queue(database: database)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3))
            let later = Timestamp(.now + 5 * 365 * 86_400)
            try await worker.end(
                worker.claim(1), as: { .parked($0, circuit: "storage", until: later, reason: "429, Retry-After") })
            #expect(
                try await database.count(
                    "from errand.circuit where opened_by = 'handler' and until > now() + '4 years'")
                    == 1)
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute("update errand.circuit set until = now()")
            try await database.promote()
            let victim = try await ManualWorker(database)
            #expect(try await victim.claim(10).count == 1)
            try await victim.dies()
            try await database.promote()
            #expect(try await worker.claim(10).count == 1)
        }
    }

    @Test(
        "a probe comes before all jobs that wait in its queue, and jobs that still run and find it down start no other")
    func firstInQueue() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            let ids = try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 5))
            let running = try await worker.claim(4).sorted { $0.id < $1.id }
            try await worker.end(Array(running.prefix(3)), as: down)
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute("select errand.enqueue('other') from generate_series(1, 20)")
            try await database.execute("update errand.circuit set until = now()")
            try await database.promote()
            try await worker.end([running[3]], as: down)
            try await database.promote()
            let probe = try await worker.claim(1, kinds: ["noop", "other"])
            #expect(probe.map(\.id) == [ids[0]])
            #expect(try await worker.end(probe) == [])
            try await database.promote()
            #expect(try await database.count("from errand.circuit where opened_at is null") == 1)
        }
    }

    @Test(
        "a job probes that can start now, if there is one",
        arguments: [
            "select errand.set_rate('other', '1 hour', 1), errand_internal.rate_spend('other', 1)",
            "select errand.drain_worker(1, 'test')",
            "delete from errand.worker where queues = '{other}'",
        ])
    func startingProbe(blocks: String) async throws {
        try await withTestDatabase { database, _ in
            _ = try await ManualWorker(database, kinds: Self.kinds, queue: "other")
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await database.execute(Statement(blocks))
            let queue = Queue(database: database)
            try await queue.enqueue(Noop(), .queue("other"), .priority(1))
            try await queue.enqueue(Noop())
            try await database.execute(
                "update errand.job set state = 'parked', queue_position = null, parked_for = 'circuit:storage'")
            try await database.execute("select errand.circuit_open('storage', 'test', now())")
            try await database.promote()
            #expect(try await worker.claim(10).map(\.id) == [2])
        }
    }

    @Test("jobs that wait for a circuit without a row are released")
    func withoutRow() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(Noop())
            try await database.execute(
                "update errand.job set state = 'parked', queue_position = null, parked_for = 'circuit:gone'")
            for _ in 1...2 { try await database.promote() }
            #expect(try await worker.claim(10).count == 1)
        }
    }

    @Test("a failed probe is not repeated immediately, even if another session locks the circuit's row")
    func lockedProbe() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(Noop())
            try await database.execute("select errand.circuit_open('storage', 'test', now())")
            try await database.execute("update errand.circuit set probe_every = '1 hour'")
            #expect(try await worker.claim(10).isEmpty)
            try await database.promote()
            let probe = try await worker.claim(10)
            #expect(probe.count == 1)
            try await database.transaction { transaction in
                try await transaction.execute("select from errand.circuit for update")
                try await worker.end(probe, as: down)
            }
            try await database.promote()
            #expect(try await worker.claim(10).isEmpty)
            #expect(try await database.count("from errand.circuit where until > now() + interval '59 min'") == 1)
        }
    }

    @Test("a probe that no worker has started within 10 s is replaced by a job of another queue")
    func unclaimedProbe() async throws {
        try await withTestDatabase { database, _ in
            _ = try await ManualWorker(database, kinds: Self.kinds, queue: "other")
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            let queue = Queue(database: database)
            try await queue.enqueue(Noop(), .queue("other"))
            try await queue.enqueue(Noop())
            try await database.execute(
                "update errand.job set state = 'parked', queue_position = null, parked_for = 'circuit:storage'")
            try await database.execute("select errand.circuit_open('storage', 'test', now())")
            try await database.promote()
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute("update errand.circuit set released_at = now() - interval '11 s'")
            try await database.promote()
            #expect(try await worker.claim(10).map(\.id) == [2])
        }
    }

    @Test("10,000 jobs in the queue when it opens don't hide the job of another kind behind them")
    func manyHeld() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 10_000))
            try await database.execute("select errand.enqueue('other')")
            try await database.execute("select errand.circuit_open('storage', 'test')")
            var found: [JobKind] = []
            for _ in 0..<20 where found.isEmpty {
                found += try await worker.claim(10, kinds: ["noop", "other"]).map(\.kind)
            }
            #expect(found == ["other"])
        }
    }
}
