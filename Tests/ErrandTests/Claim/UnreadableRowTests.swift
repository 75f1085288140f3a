import ErrandTestKit
import Postgres
import Testing

@testable import Errand

/// A number of 12 bytes that is 131,072 digits as text.
private let hugeNumber = "1e131071::numeric"

@Suite("Rows that can't be run") struct UnreadableRowTests {
    @Test(
        "a payload whose text is over 256 KB is refused, however small it is in the database",
        arguments: [
            "errand.enqueue('noop', payload)", "errand.enqueue_payloads_v1('noop', array['{}', payload])",
            "errand.enqueue_many(jsonb_build_array(jsonb_build_object('kind', 'noop', 'payload', payload)))",
        ])
    func refused(call: String) async throws {
        try await withTestDatabase { database, _ in
            for (numbers, isRefused) in [(1, false), (2, true)] {
                let statement = Statement(
                    """
                    select \(call)
                    from (
                        select jsonb_agg(\(hugeNumber)) as payload from generate_series(1, \(numbers))
                    ) as one
                    """)
                if isRefused {
                    let error = await #expect(throws: PostgresError.self) { try await database.execute(statement) }
                    #expect(error?.sqlState == "ER413")
                } else {
                    try await database.execute(statement)
                }
            }
            #expect(try await database.count("from errand.job where pg_column_size(payload) > 100") == 0)
        }
    }

    @Test("a row with a payload that is too long as text fails with the reason, and blocks no other job")
    func tooLong() async throws {
        try await withWorker { database, queue in
            try await database.execute(
                Statement(
                    """
                    insert into errand.job (kind, queue_position, payload)
                    select 'noop', nextval('errand.job_position'), jsonb_agg(\(hugeNumber)) from generate_series(1, 200)
                    """))
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 100))
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 100)
            let error = try await database.word("select error from errand.failed")
            #expect(error?.contains("payload: expected at most") == true, "\(error ?? "none")")
        }
    }

    @Test("a claim takes at most 16 MiB of payloads, and large jobs all get through")
    func largePayloads() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                """
                select errand.enqueue('noop', jsonb_build_object('text', repeat('0123456789abcdef', 12000)))
                from generate_series(1, 200)
                """)
            let worker = try await ManualWorker(database)
            var total = 0
            while true {
                let jobs = try await worker.claim(500)
                if jobs.isEmpty { break }
                #expect(jobs.reduce(0) { $0 + $1.payload.bytes.count } <= 16 << 20)
                total += jobs.count
                try await worker.end(jobs)
            }
            #expect(total == 200)
        }
    }

    @Test(
        "a row that can't be read fails alone, with the reason",
        arguments: [
            "tags = '{null}'", #"options = '{"traceparent": "x"}', tags = '{a,null}'"#,
            #"options = '{"traceparent": 1}'"#,
            #"options = '[1]'"#,
        ])
    func unreadable(change: String) async throws {
        try await withWorker { database, queue in
            try await database.execute("select errand.pause_queue('default', 'test')")
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 101))
            try await database.execute(Statement("update errand.job set \(change) where id = 50"))
            try await database.execute("select errand.resume_queue('default')")
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 100)
            let error = try await database.word("select error from errand.failed where id = 50")
            #expect(error?.contains("can't be read") == true, "\(error ?? "none")")
        }
    }

    @Test("times beyond the year 10,000 are run like others")
    func farTimes() async throws {
        try await withWorker { database, queue in
            try await database.execute("select errand.pause_queue('default', 'test')")
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 3))
            try await database.execute("update errand.job set not_after = '200000-01-01' where id = 1")
            try await database.execute("update errand.job set created_at = '12000-01-01' where id = 2")
            try await database.execute(
                "update errand.job set not_after = 'infinity', run_at = '0001-01-01 BC' where id = 3")
            try await database.execute("select errand.resume_queue('default')")
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded'") == 3)
        }
    }
}
