import AppTestKit
import ErrandTestKit
import Logging
import Postgres
import Testing

@testable import Errand

/// In Turkish the small letter of I is another than i, and the capital of i another than I.
@Suite("No locale decides what a text means") struct LocaleTests {
    private static let questions = [
        ("errand.seems_secret('API_KEY')", "true"), ("errand.seems_secret('SIGNING.KEY')", "true"),
        (#"errand.mask_secrets('{"API_KEY": 1, "PIN": 2}') ->> 'API_KEY'"#, "••••••••"),
        ("(errand_internal.cron_read('0 9 * * FRI')).weekdays", "[5]"),
        ("(errand_internal.cron_read('@MIDNIGHT')).hours", "[0]"),
        ("errand_internal.schedule_interval('EVERY 5 MINUTES')", "00:05:00"),
        ("errand.enqueue('image_compression', queue => 'images') is null", "false"),
        // In its order a semicolon comes before a colon.
        ("errand.set_limit('a', 0) is null", "false"), ("(errand.enqueue('noop', limit_key => 'a')).state", "parked"),
        ("errand.set_limit('a', 1) is null", "false"), ("errand_internal.limits_with_room()", #"["a"]"#),
    ]

    @Test("secrets are masked, and schedules and kinds are read, in a database whose locale is Turkish")
    func turkish() async throws {
        try await withAppDatabase { database, configuration in
            let name = "errand_test_turkish_\(UInt32.random(in: 0...UInt32.max))"
            let locale = "encoding utf8 locale_provider icu icu_locale 'tr-TR' locale 'C'"
            try await database.execute(Statement("create database \(name) template template0 \(locale)"))
            do {
                try await ask(configuration.with(database: name))
            } catch {
                try await database.execute(Statement("drop database \(name) with (force)"))
                throw error
            }
            try await database.execute(Statement("drop database \(name) with (force)"))
        }
    }

    private func ask(_ configuration: PostgresConfiguration) async throws {
        let configuration = try PostgresConfiguration(url: TestServer.url(of: configuration, directly: true))
        let connection = try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
        do {
            try await Migrator.errand.run(on: connection)
            let small = try await connection.query("select lower('I')").scalar(String.self)
            #expect(small == "\u{131}", "it is the locale that this is about")
            for (question, expected) in Self.questions + AppCase.statements(.locale).map({ ($0, "true") }) {
                let row = try await connection.query(Statement("select to_json(\(question)) #>> '{}'"))
                #expect(try row.scalar(String.self) == expected, "\(question)")
            }
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    @Test("every function that ignores case says by which letters")
    func collations() async throws {
        try await withAppDatabase { database, _ in
            let loose = """
                select oid::regprocedure || ': ' || btrim(line)
                from pg_proc
                cross join lateral string_to_table(prosrc, chr(10)) as line
                where pronamespace = any (errand_internal.namespaces())
                    and line ~ '\\m(lower|upper|initcap)\\(|~\\*|\\milike\\M' and line !~ 'collate "C"'
                    -- The bounds of a range.
                    and line !~ '(lower|upper)\\(existing\\.qualities\\)'
                """
            let found = try await database.text(loose)
            #expect(found == "")
        }
    }
}
