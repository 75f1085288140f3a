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
                // The marks pass a thousand jobs of the slow queue in a call. After one that took 50 ms, the next call
                // begins behind this limit.
                for _ in 1...6 { try await database.promote() }
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

    @Test("a released job of a kind that no worker of its queue knows holds back its own kind alone")
    func unknownKind() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await database.execute(
                """
                insert into errand.job (kind, state, parked_for, limit_key, max_attempts)
                select unnest('{coming,coming,noop,noop}'::text[]), 'parked', 'limit:a', 'a', 3
                """)
            try await database.execute("select errand.set_limit('a', 1)")
            for id: Int64 in [3, 4] {
                for _ in 1...3 { try await database.promote() }
                try await database.execute(Statement(Self.letWait))
                for _ in 1...3 { try await database.promote() }
                let running = try await worker.claim(10)
                #expect(running.map(\.id) == [id])
                #expect(try await worker.end(running) == [])
            }
            for _ in 1...3 { try await database.promote() }
            #expect(try await database.count("from errand.job where state = 'available'") == 1)
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

    @Test("an urgent job takes the slot of a released one that waits behind the backlog of a lower priority")
    func urgent() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            let urgent = try await queue.enqueue(Noop(), .limited(by: "a"), .priority(1)).id
            let backlog = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3), .priority(3))
            try await database.execute(
                """
                insert into errand.job (kind, queue, priority, state, parked_for, limit_key, max_attempts)
                values ('noop', 'default', 4, 'parked', 'limit:a', 'a', 3)
                """)
            try await database.promote()
            #expect(try await database.count("from errand.job where priority = 4 and state = 'available'") == 1)
            let running = try await worker.claim(10)
            #expect(running.map(\.id) == [urgent] + backlog)
            #expect(try await database.count("from errand.job where priority = 4 and state = 'parked'") == 1)
            try await worker.end(running)
            #expect(try await worker.claim(10).map(\.priority) == [4])
        }
    }

    @Test("a claim that reads the lowest priority first takes no slot from a job that it has picked")
    func reversed() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(Noop(), .limited(by: "a"), .priority(1))
            try await database.execute(
                """
                insert into errand.job (kind, queue, priority, state, parked_for, limit_key, max_attempts)
                values ('noop', 'default', 4, 'parked', 'limit:a', 'a', 3)
                """)
            try await database.promote()
            var claim = worker.claiming(10)
            claim.priorities = [4, 3, 2, 1]
            #expect(try await claim.reply(database.query(claim.statement)).jobs.map(\.priority) == [4])
            #expect(try await database.count("from errand.job where priority = 1 and state = 'parked'") == 1)
        }
    }

    @Test("an urgent job is released though one of a lower priority waits in the same queue for more than a second")
    func urgentBehindSlow() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(Noop(), .limited(by: "a"))
            let running = try await worker.claim(1)
            try await queue.enqueue(Noop(), .limited(by: "a"), .priority(4))
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3), .priority(3))
            try await worker.end(running)
            let urgent = try await queue.enqueue(Noop(), .limited(by: "a"), .priority(1)).id
            let late = try await queue.enqueue(Noop(), .limited(by: "a"), .priority(4)).id
            #expect(try await database.count("from errand.job where state = 'parked'") == 2)
            try await database.execute(Statement(Self.letWait))
            try await database.promote()
            #expect(try await worker.claim(1).map(\.id) == [urgent])
            // Those that are no more urgent than the one that waits would wait there too.
            try await database.execute(Statement(Self.letWait))
            try await database.promote()
            #expect(
                try await database.word("select array_agg(id) from errand.job where state = 'parked'") == "{\(late)}")
        }
    }

    @Test("a claim takes no more jobs under a limit than start at once, and prefetches those under a key without one")
    func notPrefetched() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 20)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            let other = try await ManualWorker(database, kinds: Self.noop)
            let limited = try await queue.enqueue(
                all: [Noop](repeating: Noop(), count: 8), .limited(by: "a"), .maxAttempts(1))
            let free = try await queue.enqueue(all: [Noop](repeating: Noop(), count: 4), .limited(by: "b"))
            let claim = worker.claiming(20, beginsNow: 3)
            let reply = try claim.reply(await database.query(claim.statement))
            #expect(reply.jobs.map(\.id) == limited.prefix(3) + free)
            #expect(reply.rest == .slots)
            #expect(try await database.count("from errand.limit_slot") == 3)
            let full = worker.claiming(20, beginsNow: 0)
            #expect(try await full.reply(database.query(full.statement)).jobs.isEmpty)
            // Those on their last attempt start at once, too.
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 4), .maxAttempts(1))
            let mixed = other.claiming(20, beginsNow: 6)
            #expect(try await mixed.reply(database.query(mixed.statement)).jobs.count == 6)
            #expect(try await other.claim(20).count == 3)
        }
    }

    @Test("of jobs under several limits those start that come first, and the others get no slots")
    func severalKeys() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute("select errand.set_limit('a', 3), errand.set_limit('b', 1)")
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            var ids: [Int64] = []
            for key in ["a", "b", "b", "c", "a", "a", "b"] {
                ids.append(try await queue.enqueue(Noop(), .limited(by: key)).id)
            }
            let claim = worker.claiming(20, beginsNow: 3)
            let reply = try claim.reply(await database.query(claim.statement))
            #expect(Set(reply.jobs.map(\.id)) == [ids[0], ids[1], ids[3], ids[4]])
            #expect(reply.rest == .slots)
            #expect(try await database.count("from errand.limit_slot") == 3)
            #expect(try await database.count("from errand.job where state = 'parked'") == 1)
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
            try await database.execute("select errand.pause_queue('other', 'test', force => true)")
            try await database.promote()
            #expect(try await worker.claim(10).isEmpty)
            try await database.execute(Statement(Self.letWait))
            try await database.promote()
            let third = try await worker.claim(10)
            #expect(third.map(\.id) == [3])
            try await database.execute("select errand.resume_queue('other')")
            try await database.execute("update errand.job set queue = 'default' where id = 2")
            #expect(try await worker.claim(10).isEmpty)
            #expect(try await worker.end(third) == [])
            #expect(try await worker.claim(10).map(\.id) == [2])
        }
    }

    @Test("what a claim clears from its way is no job that it has picked, however far ahead that lies")
    func clearsOthers() async throws {
        try await withTestDatabase { database, _ in
            let queue = Queue(database: database)
            let worker = try await ManualWorker(database, kinds: Self.noop)
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3), .limited(by: "a"))
            try await database.execute("select errand.set_limit('a', 1)")
            try await database.promote()
            #expect(try await worker.claim(1).map(\.id) == [1])
            let cleared = try await database.query(
                """
                select removed
                from errand_internal.clear_blocked(
                    row('default', '{noop}', '{1,2,3,4}', '{}', true, false, false)::errand.claim_scope, '{0,0,0,0}',
                    array(select ctid from errand.job where id = 2), 100, true)
                """)
            #expect(try cleared.scalar(Int.self) == 1)
            let states = "select string_agg(state, ' ' order by id) from errand.job where id > 1"
            #expect(try await database.word(states) == "available parked")
        }
    }
}
