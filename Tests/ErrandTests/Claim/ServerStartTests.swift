import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

@Suite("The server is started anew") struct ServerStartTests {
    @Test("jobs whose positions are drawn a second time, below an idle worker's marks, are found")
    func drawnAgain() async throws {
        try await withWorker(configure: { $0.heartbeatInterval = .milliseconds(200) }) { database, queue in
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 200))
            #expect(try await database.drains())
            // Its marks are after all of them now.
            for _ in 0..<5 {
                try await queue.enqueue(Noop())
                #expect(try await database.drains())
            }
            try await database.transaction { transaction in
                // Another server took over, without the last positions.
                try await transaction.execute(
                    "select setval('errand.job_position', nextval('errand.job_position') - 10)")
                try await transaction.execute(
                    "select errand.enqueue_payloads_v1('noop', array_fill('{}'::jsonb, array[30]))")
                try await transaction.execute(
                    """
                    create or replace function errand_internal.server_start() returns text
                    language sql stable set search_path = pg_catalog as $$ select 'another' $$
                    """)
            }
            #expect(try await database.drains(within: .seconds(20)))
            #expect(try await database.count("from errand.history") == 235)
        }
    }

    @Test("marks from before it are neither stored nor handed on")
    func published() async throws {
        try await withTestDatabase { database, _ in
            let workers = [try await ManualWorker(database), try await ManualWorker(database)]
            let start = try await database.word("select errand_internal.server_start()")
            func heartbeat(_ worker: ManualWorker, takenUnder start: String?) async throws -> String {
                try await database.query(
                    Statement(
                        "select published::text from errand_internal.heartbeat_v1($1, 0, $2, $3)",
                        [[worker.id], JSONB(#"{"default": [9, 9, 9, 9]}"#), start])
                ).scalar(String.self)
            }
            _ = try await heartbeat(workers[0], takenUnder: "before")
            #expect(try await heartbeat(workers[1], takenUnder: nil) == "{}")
            _ = try await heartbeat(workers[0], takenUnder: start)
            #expect(try await heartbeat(workers[1], takenUnder: start) == #"{"default": [9, 9, 9, 9]}"#)
            try await database.execute("update errand.worker set server_start = 'before'")
            #expect(try await heartbeat(workers[1], takenUnder: start) == "{}")
            let marks = try await database.query(
                "select marks::text from errand_internal.register_worker_v1('new', '1', '1 min', '{default}', '[]')")
            #expect(try marks.scalar(String.self) == #"{"default": [9, 9, 9, 9]}"#)
        }
    }

    @Test("a worker's marks outlive it: the next one of its kinds begins there", arguments: ["leaves", "is lost"])
    func outlive(how: String) async throws {
        try await withTestDatabase { database, _ in
            for marks in ["[9, 2, 9, 9]", "[7, 8, 7, 7]"] {
                let worker = try await ManualWorker(database)
                try await database.execute(
                    Statement(
                        "select errand_internal.heartbeat_v1($1, 0, $2, errand_internal.server_start())",
                        [[worker.id], JSONB("{\"default\": \(marks)}")]))
                if how == "leaves" {
                    try await database.execute(Statement("select errand_internal.leave_v1($1, false)", [worker.id]))
                } else {
                    try await worker.dies()
                }
            }
            #expect(try await database.count("from errand.worker") == 0)
            func marks(kinds: String) async throws -> String {
                try await database.query(
                    Statement(
                        "select marks::text from errand_internal.register_worker_v1('new', '1', '1 min', '{default}', $1)",
                        [JSONB(kinds)])
                ).scalar(String.self)
            }
            #expect(try await marks(kinds: "[]") == #"{"default": [9, 8, 9, 9]}"#)
            #expect(
                try await marks(kinds: #"[{"name": "a", "queue": "default", "max_attempts": 1, "priority": 2}]"#)
                    == "{}")
            try await database.execute("update errand.worker set marks = '{}'")
            try await database.execute("update errand.mark set server_start = 'before'")
            #expect(try await marks(kinds: "[]") == "{}")
            try await database.execute("select errand_internal.prune()")
            #expect(try await database.count("from errand.mark") == 0)
        }
    }

    @Test("a lock on the jobs ends no lease")
    func locked() async throws {
        let isOpen = Mutex(false)
        let handler = SlowHandler { _ in
            while !isOpen.withLock(\.self) { try await Task.sleep(for: .milliseconds(20)) }
        }
        try await withWorker(
            [handler],
            configure: {
                $0.heartbeatInterval = .milliseconds(300)
                $0.lease = .seconds(4)
            }
        ) { database, queue in
            try await queue.enqueue(Slow())
            #expect(try await database.becomes("exists (select from errand.job where state = 'running')"))
            try await database.transaction { transaction in
                try await transaction.execute("lock table errand.job in access exclusive mode")
                // Each is committed: another connection sees it.
                for _ in 1...3 {
                    let last = try await database.word("select heartbeat_at from errand.worker") ?? ""
                    #expect(try await database.becomes("heartbeat_at > '\(last)' from errand.worker"))
                }
            }
            isOpen.withLock { $0 = true }
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where attempt = 1 and crashes = 0") == 1)
        }
    }
}
