import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

@Suite("Batches") struct BatchTests {
    private struct Undo: Error {}

    @Test("a batch ends once it is closed and all of its jobs have; each callback comes once, and no job any more")
    func ends() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let batch = try await database.openBatch()
            try await database.member(of: batch)
            let ids = try await database.enqueueMany(
                """
                [{"kind": "noop", "batch": \(batch)}, {"kind": "noop"}, {"kind": "noop", "batch": \(batch)},
                 {"kind": "noop", "batch": \(batch), "unique_key": "a"}]
                """)
            // What was there before is not added, nor taken out.
            _ = try await database.enqueueMany(
                #"[{"kind": "noop", "unique_key": "a", "on_conflict": "replace"}]"#)
            let other = try await database.openBatch("other")
            #expect(try await database.member(of: other, more: ", unique_key => 'a'") == ids[3])
            #expect(try await database.batch(other) == "open - 0 0 0 0 0")
            #expect(try await database.batch(batch) == "open - 4 4 0 0 0")
            var jobs = try await worker.claim(5)
            #expect(jobs.count == 5)
            let last = jobs.removeLast()
            try await worker.end(jobs)
            try await database.closeBatch(batch)
            try await database.checkBatches()
            #expect(try await database.batch(batch) == "closed - 4 1 0 0 0")
            // A closed batch takes jobs until its end.
            try await database.member(of: batch)
            try await worker.end([last] + worker.claim(1))
            for _ in 1...2 { try await database.checkBatches() }
            #expect(try await database.batch(batch) == "ended succeeded 5 0 0 0 0")
            #expect(try await database.callbacks(of: batch) == "on_finish on_success")
            #expect(
                try await database.word("select payload -> 'batch' from errand.job where kind = 'on_finish'")
                    == """
                    {"id": \(batch), "name": "b", "event": "finish", "total": 5, "failed": 0, "obsolete": 0, \
                    "cancelled": 0, "properties": {"file": 7}}
                    """)
            await expectRefusal(
                "select errand.enqueue('noop', batch => \(batch))", "ER409", "expected one that has not ended",
                in: database)
            await expectRefusal(
                "select errand.enqueue_many('[{\"kind\": \"noop\", \"batch\": \(batch)}]')", "ER409", "jobs[1]: batch",
                in: database)
            #expect(try await database.count("from errand.job where kind = 'noop'") == 0)
        }
    }

    @Test("an empty batch ends at its close; one without callbacks does too")
    func empty() async throws {
        try await withTestDatabase { database, _ in
            let batch = try await database.openBatch()
            try await database.checkBatches()
            #expect(try await database.callbacks(of: batch) == "")
            try await database.closeBatch(batch)
            let silent = try await database.query("select errand.batch_open('silent')").scalar(Int64.self)
            try await database.closeBatch(silent)
            try await database.checkBatches()
            #expect(try await database.callbacks(of: batch) == "on_finish on_success")
            #expect(try await database.batch(silent) == "ended succeeded 0 0 0 0 0")
            // Nothing is left to look for.
            try await database.checkBatches()
            #expect(try await database.word("select errand_internal.any_batch_due()::text") == "false")
        }
    }

    @Test("maintenance looks until it has seen what was being written, and again once a job of a batch has ended")
    func due() async throws {
        try await withTestDatabase { database, configuration in
            func isDue() async throws -> Bool {
                try await database.query("select errand_internal.any_batch_due()").scalar(Bool.self)
            }
            let worker = try await ManualWorker(database)
            let batch = try await database.openBatch()
            for _ in 1...3 { try await database.member(of: batch) }
            try await database.closeBatch(batch)
            try await database.checkBatches()
            #expect(try await !isDue())
            let jobs = try await worker.claim(3)
            let session = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
            try await session.execute("begin")
            _ = try await session.query("select errand.enqueue('noop')")
            try await worker.end([jobs[0]])
            for _ in 1...2 { try await database.checkBatches() }
            #expect(try await isDue())
            try await session.execute("commit")
            try await session.execute("begin")
            _ = try await session.query("select errand.enqueue('noop')")
            // Some seconds later: another transaction writes, and the one of before has ended.
            try await database.execute(
                """
                update errand.maintenance_task
                set memory = memory::jsonb || '{"at": 0}'
                where name = 'batches'
                """)
            try await database.checkBatches()
            #expect(try await !isDue())
            try await session.execute("rollback")
            await session.close()
            try await worker.end([jobs[1]])
            #expect(try await isDue())
            try await database.checkBatches()
            try await worker.end([jobs[2]])
            try await database.checkBatches()
            #expect(try await database.callbacks(of: batch) == "on_finish on_success")
        }
    }

    @Test(
        "the first job without success tells on_failure, in whichever way it ended; a retry in time lets all succeed")
    func failures() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let ways: [(state: String, more: String, end: (Int64) async throws -> Void)] = [
                ("failed", "", { _ in try await worker.end(worker.claim(1), as: { .failed($0, error: "x") }) }),
                ("cancelled", "", { _ in try await worker.end(worker.claim(1), as: { .cancelled($0, reason: "x") }) }),
                ("cancelled", "", { _ = try await database.query(Statement("select errand.cancel('{\($0)}', 'x')")) }),
                (
                    "cancelled", ", tags => '{a}'",
                    { _ in
                        _ = try await database.query(
                            #"select errand.cancel_where('{"tag": "a"}', 'x', dry_run => false)"#)
                    }
                ),
                (
                    "obsolete", ", not_after => now() + interval '1 hour'",
                    { id in
                        try await database.execute(
                            Statement("update errand.job set not_after = now() - interval '1 s' where id = \(id)"))
                        #expect(try await worker.claim(1).isEmpty)
                    }
                ),
            ]
            for way in ways {
                let batch = try await database.openBatch()
                let later = try await database.member(of: batch, more: ", run_at => now() + interval '1 hour'")
                let id = try await database.member(of: batch, more: way.more)
                try await way.end(id)
                for _ in 1...2 { try await database.checkBatches() }
                #expect(try await database.callbacks(of: batch) == "on_failure", "\(way.state)")
                let counts = ["failed", "cancelled", "obsolete"].map { $0 == way.state ? "1" : "0" }
                #expect(try await database.batch(batch) == "open - 2 1 \(counts.joined(separator: " "))")
                try await database.closeBatch(batch)
                if way.state != "obsolete" {
                    _ = try await database.query(Statement("select errand.retry('{\(id)}', run_at => now())"))
                    try await worker.end(worker.claim(1))
                }
                _ = try await database.query(Statement("select errand.retry('{\(later)}', run_at => now())"))
                try await worker.end(worker.claim(1))
                try await database.checkBatches()
                #expect(
                    try await database.callbacks(of: batch)
                        == (way.state == "obsolete" ? "on_failure on_finish" : "on_failure on_finish on_success"))
            }
        }
    }

    @Test("all jobs of a batch are cancelled, and retried; what was given up stays, and no callback comes again")
    func whole() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            let batch = try await database.openBatch()
            for _ in 1...3 { try await database.member(of: batch) }
            let failed = try await worker.claim(1)
            try await worker.end(failed, as: { .failed($0, error: "x") })
            try await database.closeBatch(batch)
            let cancel = Statement("select errand.batch_cancel(\(batch), 'x', 1)")
            let wouldCancel = "select errand.batch_cancel(\(batch), 'x', dry_run => true)::text"
            #expect(try await database.word(wouldCancel) == "2")
            #expect(try await database.batch(batch) == "closed - 3 2 1 0 0")
            for left in [1, 1, 0] { #expect(try await database.query(cancel).scalar(Int64.self) == Int64(left)) }
            _ = try await database.query(Statement("select errand.discard('{\(failed[0].id)}', 'x')"))
            try await database.checkBatches()
            #expect(try await database.batch(batch) == "ended failed 3 0 0 3 0")
            let retry = Statement("select errand.batch_retry(\(batch), 'again')")
            let wouldRetry = "select errand.batch_retry(\(batch), 'x', dry_run => true)::text"
            #expect(try await database.word(wouldRetry) == "2")
            for back in [2, 0] { #expect(try await database.query(retry).scalar(Int64.self) == Int64(back)) }
            #expect(try await database.batch(batch) == "ended failed 3 2 0 1 0")
            try await worker.end(worker.claim(2))
            try await database.checkBatches()
            #expect(try await database.batch(batch) == "ended failed 3 0 0 1 0")
            #expect(try await database.callbacks(of: batch) == "on_failure on_finish")
            #expect(
                try await database.text("select action, jobs from errand.audit where action like 'batch%' order by 1")
                    == "batch_cancel|1\nbatch_cancel|1\nbatch_retry|2")
        }
    }

    @Test("the view says how far a batch is at least, however many of its jobs wait")
    func progress() async throws {
        try await withTestDatabase { database, _ in
            let batch = try await database.openBatch()
            let seen = "select concat_ws(' ', total, waiting, progress) from errand.batches where id = \(batch)"
            #expect(try await database.word(seen) == "0 0")
            let element = #"{"kind": "noop", "batch": \#(batch)}"#
            let elements = Array(repeating: element, count: 2000).joined(separator: ", ")
            let first = try await database.enqueueMany("[\(elements)]")[0]
            #expect(try await database.word(seen) == "2000 1000 0")
            // Of those above the last counted one nobody knows.
            for ended in ["(id - \(first)) % 4 <> 0 and id < \(first) + 1000", "id = \(first) + 1999"] {
                try await database.execute(Statement("delete from errand.job where \(ended)"))
            }
            #expect(try await database.word(seen) == "2000 1000 0.375")
            try await database.execute(Statement("delete from errand.job where (id - \(first)) % 4 <> 0"))
            #expect(try await database.word(seen) == "2000 500 0.75")
            let exact = "select progress::text from errand.batch_status(\(batch))"
            #expect(try await database.word(exact) == "0.75")
        }
    }

    @Test("a login uses its own batches, and a worker all of them; explain names a job's batch")
    func rights() async throws {
        try await withTestDatabase { database, _ in
            func ask(_ login: String, _ sql: String) async throws -> String {
                var response = ""
                do {
                    try await database.transaction { transaction in
                        for statement in [
                            "create role batch_a in role errand_enqueuer",
                            "create role batch_b in role errand_enqueuer",
                            "create role batch_w in role errand_worker", "set session authorization batch_a",
                            "select set_config('test.batch', errand.batch_open('b')::text, true)",
                            "set session authorization \(login)",
                        ] { _ = try await transaction.query(Statement(statement)) }
                        do {
                            response = try await transaction.query(Statement("select \(sql)")).scalar(String.self)
                        } catch let error as PostgresError {
                            response = error.sqlState ?? ""
                        }
                        throw Undo()
                    }
                } catch is Undo {}
                return response
            }
            let own = "current_setting('test.batch')::bigint"
            for (sql, expected) in [
                ("(errand.enqueue('noop', batch => \(own))).inserted::text", "true"),
                ("(errand.batch_status(\(own))).state", "open"), ("errand.batch_close(\(own))::text", "true"),
            ] {
                #expect(try await ask("batch_a", sql) == expected)
                #expect(try await ask("batch_w", sql) == expected)
                #expect(try await ask("batch_b", sql) == "ER404")
            }
            for change in ["cancel", "retry"] {
                #expect(try await ask("batch_a", "errand.batch_\(change)(\(own), 'x')::text") == "0")
                #expect(try await ask("batch_b", "errand.batch_\(change)(\(own), 'x')::text") == "ER404")
            }
            let batch = try await database.openBatch("import")
            let job = try await database.member(of: batch)
            #expect(
                try await database.text("select detail, hint from errand.explain(\(job)) where code = 'batch'")
                    == "it is in batch \(batch) (import), which is open|select * from errand.batch_status(\(batch))")
        }
    }

    @Test("old batches are pruned, in parts; erasure blanks those whose callbacks are the user's")
    func old() async throws {
        try await withTestDatabase { database, _ in
            let batch = try await database.openBatch()
            try await database.member(of: batch)
            try await database.closeBatch(batch)
            _ = try await database.query(Statement("select errand.batch_cancel(\(batch), 'x')"))
            try await database.checkBatches()
            _ = try await database.query("select errand_internal.prune()")
            #expect(try await database.count("from errand.batch") == 1)
            try await database.execute("update errand.batch set ended_at = now() - interval '31 days'")
            _ = try await database.query("select errand_internal.prune()")
            for table in ["batch", "batch_jobs", "batch_failure", "batch_mark"] {
                #expect(try await database.count("from errand.\(table)") == 0, "\(table)")
            }
            _ = try await database.query(
                """
                select errand.batch_open(
                    'Ada', on_finish => '{"kind": "noop", "subject": "ada"}', properties => '{}')
                """)
            let owned = try await database.query("select max(id) from errand.batch").scalar(Int64.self)
            let job = try await database.member(of: owned, more: ", subject => 'ada'")
            _ = try await database.query("select errand_internal.erase_subject('ada', 'asked')")
            #expect(try await database.text("select name, on_finish, properties from errand.batch") == "erased||")
            // What a user has had erased runs for nobody any more.
            #expect(try await database.text("select errand.batch_retry(\(owned), 'again')") == "0")
            #expect(try await database.text("select now from errand.retry('{\(job)}', 'again')") == "obsolete")
        }
    }
}
