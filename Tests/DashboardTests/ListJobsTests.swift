import ErrandTestKit
import Postgres
import Testing

@Suite("Pages of jobs, by SQL") struct ListJobsTests {
    private struct Found: Decodable {
        struct Job: Decodable {
            let id: Int
            let state: String
            let error: String?
        }

        let jobs: [Job]
        let before: Int?
    }

    @Test("page after page has each job once, however few rows a call reads", arguments: [1, 7, 1000])
    func whole(mostRead: Int) async throws {
        try await withTestDatabase { database, _ in
            let wanted = try await Self.fill(database)
            for filter in ["{}", #"{"tag": "third"}"#, #"{"state": "failed"}"#, #"{"state": "cancelled"}"#] {
                let seen = try await Self.all("'\(filter)'", 5, mostRead, in: database).ids
                let expected =
                    switch filter {
                    case "{}": wanted
                    case #"{"tag": "third"}"#: wanted.filter { $0.isMultiple(of: 3) }
                    case #"{"state": "failed"}"#: wanted.filter { $0 % 4 == 1 }
                    default: wanted.filter { $0 % 4 == 2 }
                    }
                #expect(seen == expected.sorted(by: >), "\(filter)")
            }
        }
    }

    @Test("a monitor finds nothing by an error, and reads none")
    func monitor() async throws {
        try await withTestDatabase { database, _ in
            _ = try await Self.fill(database)
            for (role, matches) in [("errand_ops", 20), ("errand_monitor", 0)] {
                let found = try await database.transaction { transaction in
                    try await transaction.execute(Statement("set local role \(role)"))
                    let byError = try await transaction.query(#"select errand.list_jobs('{"error": "broken"}')"#)
                    let all = try await transaction.query("select errand.list_jobs(max_jobs => 1000)")
                    return [
                        try byError.scalar(JSONB.self).decode(Found.self),
                        try all.scalar(JSONB.self).decode(Found.self),
                    ]
                }
                #expect(found[0].jobs.count == matches)
                #expect(found[1].jobs.filter { $0.error != nil }.count == matches)
            }
        }
    }

    @Test("a time begins near it, and has no job of a later one")
    func time() async throws {
        try await withTestDatabase { database, _ in
            _ = try await Self.fill(database)
            let found = try await database.query(
                """
                select errand.list_jobs(jsonb_build_object('created_before', now() - interval '40 minutes 30 seconds'))
                """
            ).scalar(JSONB.self).decode(Found.self)
            #expect(found.jobs.map(\.id) == Array((1...40).reversed()))
        }
    }

    @Test("a time ends the list only where no younger job is left")
    func ends() async throws {
        try await withTestDatabase { database, _ in
            // 41 jobs below newer ones, beside a failure of last month, and above 300 jobs of yesterday; and some of
            // another cell, with higher ids.
            try await database.execute(
                """
                insert into errand.failed (
                    id, queue, kind, payload, created_at, run_at, attempt, max_attempts, crashes, priority, error)
                values (1, 'default', 'other', '{}', now() - interval '30 days', now(), 1, 1, 0, 2, 'it is broken')
                """)
            try await database.execute(
                """
                insert into errand.job (id, queue, kind, created_at, queue_position)
                select number, 'default', case when number between 401 and 441 then 'rare' else 'noop' end,
                    now() - case
                        when number <= 400 or number > 600 then interval '1 day'
                        when number = 450 then interval '2 days'
                        else interval '1 minute'
                    end, nextval('errand.job_position')
                from (
                    select generate_series(101, 600)::bigint
                    union all select (1::bigint << 43) + generate_series(1, 300)
                ) as id(number)
                """)
            for (most, read) in [(5, 20), (5, 100), (50, 1000)] {
                let seen = try await Self.all(
                    "jsonb_build_object('kind', 'rare', 'created_after', now() - interval '1 hour')", most, read,
                    in: database)
                #expect(seen.ids == Array((401...441).reversed()), "\(most) of \(read)")
                // The rest of both cells is not read.
                #expect(seen.calls < 700 / read + 41 / most + 4, "\(most) of \(read): \(seen.calls) calls")
            }
        }
    }

    @Test("jobs are found by key, tag and fingerprint without a read of newer ones")
    func byIndex() async throws {
        try await withTestDatabase { database, _ in
            _ = try await Self.fill(database)
            try await database.execute(
                """
                update errand.failed set unique_key = 'old', tags = '{rare}', error = 'no bucket 17' where id = 1
                """)
            try await database.execute("update errand.history set tags = '{rare}', unique_key = 'old' where id = 2")
            try await database.execute("update errand.job set tags = '{rare}' where id = 4")
            let expected: KeyValuePairs = [
                #"{"unique_key": "old"}"#: [2, 1], #"{"tag": "rare"}"#: [4, 2, 1],
                #"{"fingerprint": "no bucket #"}"#: [1], #"{"tag": "rare", "state": "cancelled"}"#: [2],
                #"{"tag": "rare", "unique_key": "old", "fingerprint": "no bucket #"}"#: [1], #"{"tag": "none"}"#: [],
            ]
            for (filter, ids) in expected {
                let found = try await database.query(
                    Statement("select errand.list_jobs($1, null, 5, 5)", [JSONB(filter)])
                )
                .scalar(JSONB.self).decode(Found.self)
                #expect(found.jobs.map(\.id) == ids, "\(filter)")
                #expect(found.before == nil, "\(filter)")
            }
            // More matches than a call reads.
            #expect(
                try await Self.all(#"'{"tag": "third"}'"#, 4, 5, in: database).ids == (1...26).reversed().map { 3 * $0 }
            )
        }
    }

    @Test("jobs of a batch are found by their ids, page after page, in each state, and by other filters beside it")
    func byBatch() async throws {
        try await withTestDatabase { database, _ in
            _ = try await Self.fill(database)
            try await database.execute("insert into errand.batch (id, owner, name) values (7, 'postgres', 'seven')")
            // Ranges with a gap, in which there are jobs of others.
            try await database.execute(
                "insert into errand.batch_jobs (batch_id, last_id, first_id) values (7, 40, 21), (7, 41, 41), (7, 70, 45)"
            )
            for table in ["job", "failed", "history"] {
                try await database.execute(
                    Statement(
                        """
                        update errand.\(table) set options = '{"batch": 7}'
                        where id between 21 and 41 or id between 45 and 70
                        """))
            }
            try await database.execute(
                """
                insert into errand.batch_failure (batch_id, job_id, state)
                select 7, id, 'failed' from errand.failed where options ? 'batch'
                union all
                select 7, id, 'cancelled' from errand.history where options ? 'batch' and state = 'cancelled'
                """)
            let members = Array(21...41) + Array(45...70)
            for (state, remainder) in [(nil, nil), ("available", 0), ("failed", 1), ("cancelled", 2), ("succeeded", 3)]
            {
                let more = state.map { ", 'state', '\($0)'" } ?? ""
                let expected = members.filter { remainder == nil || $0 % 4 == remainder }.sorted(by: >)
                for (most, read) in [(3, 4), (5, 20), (50, 1000)] {
                    let filter = "jsonb_build_object('batch', '7'\(more))"
                    let seen = try await Self.all(filter, most, read, in: database)
                    #expect(seen.ids == expected, "\(state ?? "any") \(most) of \(read)")
                }
            }
            let tagged = try await Self.all("'{\"batch\": \"7\", \"tag\": \"third\"}'", 5, 10, in: database)
            #expect(tagged.ids == members.filter { $0.isMultiple(of: 3) }.sorted(by: >))
            for (call, ids) in [
                ("discard_where('{\"batch\": \"7\"}', 'x')", members.filter { $0 % 4 == 1 }),
                ("cancel_where('{\"batch\": \"7\"}', 'x')", members.filter { $0 % 4 == 0 }),
                ("cancel_where('{\"batch\": \"8\"}', 'x')", []),
            ] {
                let found = try await database.query(
                    Statement("select coalesce(array_agg(job_id order by job_id), '{}') from errand.\(call)"))
                #expect(try found.scalar([Int64].self) == ids.map { Int64($0) }, "\(call)")
            }
            for text in ["x", "-1", "1e3", ""] {
                await #expect(throws: PostgresError.self, "\(text)") {
                    try await database.query(
                        Statement("select errand.list_jobs(jsonb_build_object('batch', $1::text))", [text]))
                }
            }
        }
    }

    @Test("masks hide what looks secret at any depth, and an edit keeps what it left masked")
    func masks() async throws {
        try await withTestDatabase { database, _ in
            let original = #"{"a": [{"token": 1.50, "b": {"secret": {"x": 1}}}], "Password": null, "tokens": []}"#
            let rows = try await database.query(
                Statement(
                    """
                    select errand.mask_secrets($1)::text, errand.restore_secrets(errand.mask_secrets($1), $1) = $1,
                        errand.restore_secrets('{"api_key": "••••••••", "note": "••••••••"}', '{"note": "x"}')::text
                    """, [JSONB(original)]))
            let (masked, isRestored, other) = try rows[0].decode(String.self, Bool.self, String.self)
            let mask = "••••••••"
            #expect(
                masked
                    == #"{"a": [{"b": {"secret": "\#(mask)"}, "token": "\#(mask)"}], "tokens": "\#(mask)", "Password": null}"#
            )
            #expect(isRestored)
            #expect(other == #"{"note": "••••••••", "api_key": "••••••••"}"#)
        }
    }

    /// The jobs of all pages, and the number of calls. `filter` is an expression.
    private static func all(
        _ filter: String, _ mostJobs: Int, _ mostRead: Int, in database: Database
    ) async throws -> (ids: [Int], calls: Int) {
        var seen: (ids: [Int], calls: Int) = ([], 0)
        var before: Int64?
        repeat {
            let found = try await database.query(
                Statement("select errand.list_jobs(\(filter), $1, $2, $3)", [before, Int32(mostJobs), Int32(mostRead)])
            ).scalar(JSONB.self).decode(Found.self)
            seen.ids += found.jobs.map(\.id)
            seen.calls += 1
            before = found.before.map { Int64($0) }
        } while before != nil && seen.calls < 500
        return seen
    }

    /// 80 jobs, a minute apart, in turn waiting, failed, cancelled and succeeded; each third has a tag. Returns their
    /// ids.
    private static func fill(_ database: Database) async throws -> [Int] {
        for table in ["job", "failed", "history"] {
            let (columns, values, remainder) =
                switch table {
                case "job": ("queue_position", "nextval('errand.job_position')", 0)
                case "failed": ("attempt, max_attempts, crashes, priority, error", "1, 1, 0, 2, 'it is broken'", 1)
                default:
                    (
                        "attempt, max_attempts, crashes, priority, state",
                        "1, 1, 0, 2, case number % 4 when 2 then 'cancelled' else 'succeeded' end", 2
                    )
                }
            let isOfTable = remainder == 2 ? "number % 4 in (2, 3)" : "number % 4 = \(remainder)"
            try await database.execute(
                Statement(
                    """
                    insert into errand.\(table) (id, queue, kind, payload, tags, created_at, run_at, \(columns))
                    select number, 'default', 'noop', '{}', case when number % 3 = 0 then array['third'] end,
                        now() - interval '1 minute' * (81 - number), now(), \(values)
                    from generate_series(1, 80) as number
                    where \(isOfTable)
                    """))
        }
        return Array(1...80)
    }
}
