import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Erasure and export of a person") struct EraseTests {
    private static let person = "user-4711"

    @Test("E5: after an erasure no row names the person, others' rows stay, and the receipt has counts only")
    func erases() async throws {
        try await withTestDatabase { database, _ in
            try await fill(database)
            #expect(try await found("user-4711", in: database).count > 10)
            let exported = try await database.lines(
                "select app from jsonb_object_keys(people.export('user-4711')) as app order by app")
            #expect(Set(exported).isSuperset(of: ["activity", "devices", "moments", "pairing", "people"]))
            let receipt = try await database.lines(
                "select app, rows > 0 from people.erase('user-4711', 'request 1') order by app")
            #expect(
                Set(receipt).isSuperset(of: [
                    "activity|true", "devices|true", "errand|true", "moments|true", "pairing|true", "people|true",
                ]))
            #expect(try await found("user-4711", in: database) == ["errand.job: 1"])
            #expect(try await found("Zoe", in: database) == [])
            // Of another person, whose id begins alike.
            #expect(
                try await database.lines("select state, payload from errand.job where kind = 'letter'")
                    == [#"available|{"user": "user-47110"}"#])
            #expect(try await database.lines("select people.name_of('ben'), people.export('user-4711')") == ["Ben|{}"])
            #expect(
                try await database.lines("select reason, rows_in_all > 5 from people.erasure_status")
                    == ["request 1|true"])
            #expect(try await database.lines("select sum(rows) from people.erase('user-4711')") == ["0"])
        }
    }

    @Test("E5: a person is erased while their photo is under way: no row and no object stays")
    func whileJobsRun() async throws {
        try await withService(uploads: false) { service in
            let database = service.database
            try await database.pair("anna", "ben")
            for number in 1...8 {
                let key = "moments/\(number).png"
                try await service.store.put(Samples.small, at: ObjectKey(key))
                try await database.execute(
                    Statement("select status from moments.send('anna', media.submit($1, 'anna'))", [key]))
            }
            try await database.execute("select people.erase('anna')")
            #expect(try await database.becomes("not exists (select from errand.job where queue <> 'pushes')"))
            // Results that may be on their way are removed once more when no upload can still run.
            try await database.ageRemovals()
            try await database.execute("select media.enqueue_removals_v1()")
            #expect(try await database.becomes("not exists (select from media.removal)"))
            #expect(try await service.store.all() == [])
            #expect(try await database.number("select count(*) from media.photo") == 0)
            #expect(try await found("anna", in: database) == [])
        }
    }

    @Test("E5: no role may call an app's own erasure, and a reason must not name the person")
    func closed() async throws {
        try await withTestDatabase { database, _ in
            let callable = """
                select oid::regprocedure::text
                from pg_proc
                cross join unnest('{errand_worker,errand_enqueuer,errand_ops,errand_monitor}'::text[]) as role
                where proname ~ '^(erase|export)_' and has_function_privilege(role, oid, 'EXECUTE')
                """
            let found = try await database.lines(callable)
            #expect(found == [])
            for call in ["'user-4711', 'asked by user-4711'", "'', 'x'", "'user-4711', repeat('x', 1001)"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select people.erase(\(call))"))
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
        }
    }

    /// Rows about the person in each app, in jobs in each state, in errors and in the audit.
    private func fill(_ database: Database) async throws {
        try await database.registerDevices(of: Self.person, "ben")
        try await database.execute("select people.rename('user-4711', 'Zoe'), people.rename('ben', 'Ben')")
        try await database.pair(Self.person, "ben")
        try await database.storeMoment(from: Self.person)
        try await database.execute("select pairing.redeem_invite('AAAAAA', 'user-4711')")
        try await database.execute(
            """
            select activity.start('ben', 'user-4711', 'Hello from user-4711', token => repeat('ab', 32)),
                activity.start('user-4711', 'Ben', 'Hello', token => repeat('cd', 32))
            """)
        for job in [
            #"'{"user": "user-47110"}'"#, #"'{"user": "user-4711"}'"#, "'{}', unique_key => 'letter/user-4711'",
            "'{}', tags => '{user-4711}'",
            "jsonb_build_object('to', jsonb_build_array('user-4711'), 'text', repeat('x', 3000))",
        ] {
            try await database.execute(Statement("select errand.enqueue('letter', \(job))"))
        }
        try await database.execute(
            "select errand.cancel(array[job_id], 'user-4711 has left') from errand.enqueue('noop')")
        try await database.execute(
            """
            insert into errand.failed (
                id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error, attempts)
            values
                (900001, now(), now(), 2, 1, 1, 0, 'default', 'noop', '{}', 'no mail for user-4711', '[{"error": "user-4711"}]'),
                (900002, now(), now(), 2, 1, 1, 0, 'default', 'noop', '{"user_id": "user-4711"}', 'late', null)
            """)
    }

    /// The tables with rows that have the text, and the number of these.
    private func found(_ text: String, in database: Database) async throws -> [String] {
        let tables = try await database.query(
            """
            select oid::regclass::text from pg_class
            where relkind in ('r', 'p') and not relispartition
                and relnamespace::regnamespace::text in (select name from errand.app union select 'errand')
            order by 1
            """
        ).column(0, as: String.self)
        var found: [String] = []
        for table in tables {
            let count = try await database.query(
                Statement("select count(*) from \(table) as held where strpos(held::text, $1) > 0", [text])
            ).scalar(Int.self)
            if count > 0 { found.append("\(table): \(count)") }
        }
        return found
    }
}
