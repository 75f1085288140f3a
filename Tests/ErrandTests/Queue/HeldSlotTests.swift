import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Slots of limits that jobs hold before they run") struct HeldSlotTests {
    /// A worker that registers no kinds may claim no jobs.
    private static let noop = #"[{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2}]"#

    /// Moves the times at which jobs got their slots into the past, beyond the second for which these hold them.
    private static let letWait = "update errand.limit_slot set admitted_at = admitted_at - interval '2 s'"

    @Test(
        "a job that no worker has claimed within a second holds no slot: the one in an idle queue runs, and it is next")
    func idleQueue() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(Noop(), .limited(by: "a"))
            var running = try await worker.claim(1)
            let slow = try await queue.enqueue(Noop(), .limited(by: "a"), .queue("slow")).id
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 1_500), .limited(by: "a"), .queue("slow"))
            let idle = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3), .limited(by: "a"))
            try await worker.end(running)
            try await database.promote()
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute(Statement(Self.letWait))
            for id in idle {
                // The marks pass a thousand jobs of the slow queue in a call.
                for _ in 1...3 { try await database.promote() }
                running = try await worker.claim(10)
                #expect(running.map(\.id) == [id])
                // A claim that meets the job of the slow queue parks it.
                if id == idle[0] { #expect(try await worker.claim(1, queue: "slow").isEmpty) }
                if id != idle[2] { #expect(try await worker.end(running) == []) }
                try await database.execute(Statement(Self.letWait))
            }
            #expect(try await database.count("from errand.job where queue = 'slow' and state = 'available'") <= 1)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 5), .queue("slow"))
            #expect(try await worker.end(running) == [])
            for _ in 1...3 { try await database.promote() }
            #expect(try await worker.claim(1, queue: "slow").map(\.id) == [slow])
            #expect(try await worker.claim(10).isEmpty)
        }
    }

    @Test("a job that has waited and runs now holds its slot against the next job of the same claim")
    func sameClaim() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let worker = try await ManualWorker(database, kinds: Self.noop)
            let ids = try await Queue(database: database).enqueue(
                all: [Noop](repeating: Noop(), count: 3), .limited(by: "a"))
            try await worker.end(worker.claim(1))
            try await database.promote()
            try await database.execute(Statement(Self.letWait))
            try await database.execute("update errand.job set state = 'available', parked_for = null")
            #expect(try await worker.claim(10).map(\.id) == [ids[1]])
        }
    }

    @Test("a job that is replaced by one with another key leaves the slot of the first")
    func replaced() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1), errand.set_limit('b', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(Noop(), .limited(by: "a"))
            let running = try await worker.claim(1)
            for key in ["'a'", "'b'"] {
                try await database.execute(
                    Statement(
                        """
                        select errand.enqueue(
                            'noop', unique_key => 'u', on_conflict => 'replace', limit_key => \(key))
                        """))
                if key == "'a'" { try await worker.end(running) }
            }
            #expect(try await worker.claim(10).count == 1)
            try await queue.enqueue(Noop(), .limited(by: "a"))
            try await database.promote()
            #expect(try await worker.claim(10).count == 1)
        }
    }

    @Test("a job in a paused queue holds a slot for a second only, and no more than N run after the queue is resumed")
    func paused() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(Noop(), .limited(by: "a"))
            let first = try await worker.claim(1)
            try await queue.enqueue(Noop(), .limited(by: "a"), .queue("other"))
            try await queue.enqueue(Noop(), .limited(by: "a"))
            try await worker.end(first)
            try await database.execute("select errand.pause('other', 'test', force => true)")
            try await database.promote()
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute(Statement(Self.letWait))
            try await database.promote()
            let third = try await worker.claim(10)
            #expect(third.map(\.id) == [3])
            try await database.execute("select errand.resume('other')")
            try await database.execute("update errand.job set queue = 'default' where id = 2")
            #expect(try await worker.claim(10).isEmpty)
            #expect(try await worker.end(third) == [])
            #expect(try await worker.claim(10).map(\.id) == [2])
        }
    }
}
