import AppTestKit
import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Help from psql") struct HelpTests {
    @Test("each function and view that people may use is on the page of a topic, and each page has only such")
    func complete() async throws {
        try await withTestDatabase { database, _ in
            let callable = """
                select proname::text as name from pg_proc cross join unnest('{worker,ops,monitor,enqueuer}'::text[]) as role
                where pronamespace = 'errand'::regnamespace and proname !~ '_v\\d+$'
                    and has_function_privilege('errand_' || role, pg_proc.oid, 'execute')
                union
                select relname::text from pg_class
                where relnamespace = 'errand'::regnamespace and relkind in ('r', 'v')
                    and has_table_privilege('errand_ops', oid, 'select')
                """
            let listed = "select split_part(object, '.', 2) from errand.declaration where topics <> '{}'"
            let unlisted = try await database.text("(\(callable)) except \(listed)")
            #expect(unlisted == "", "no topic has it")
            let unknown = try await database.text("(\(listed)) except (\(callable))")
            #expect(unknown == "", "nobody may use it")
            let topics =
                "select unnest(topics) from errand.declaration except select topic from errand_internal.help_topics()"
            #expect(try await database.text(topics) == "", "errand_internal.help_topics doesn't have it")
        }
    }

    @Test("a line is a call and its comment; each role sees what it may call, and a wrong topic the right one")
    func page() async throws {
        try await withAppDatabase { database, _ in
            let page = "select * from errand.help('pause') limit 1"
            let pause = "select * from errand.help('pause') where call like 'errand.pause_queue(%'"
            let paused = try await database.text(pause, as: "errand_ops")
            #expect(
                paused == """
                    errand.pause_queue(queue, reason, [until], [force])|\
                    Pauses a queue until errand.resume_queue or the given time: no worker claims from it. Running jobs go on.
                    """)
            #expect(try await database.text(page, as: "errand_monitor").hasPrefix("errand.circuits|"))
            #expect(try await database.text(page, as: "errand_enqueuer") == "")
            // Of the apps, what operators may call and monitors may not.
            let ofApps = """
                select part || ' ' || object from errand.declaration
                where part <> 'engine' and not is_view and 'ops' = any (roles) and 'monitor' <> all (roles)
                    and object !~ '_v[0-9]+$'
                """
            for line in try await database.text(ofApps).split(separator: "\n") {
                let (app, function) = (line.prefix { $0 != " " }, line.drop { $0 != " " }.dropFirst())
                let call = "select count(*) > 0 from errand.help('\(app)') where starts_with(call, '\(function)(')"
                #expect(try await database.text(call, as: "errand_ops") == "true", "\(function)")
                #expect(try await database.text(call, as: "errand_monitor") == "false", "\(function)")
            }
            let topics = "select count(*) from errand.help() where call = 'select * from errand.help(''retry'')'"
            #expect(try await database.text(topics, as: "errand_ops") == "1")
            for (word, call) in [
                ("kill", "errand.cancel("), ("cron", "errand.put_schedule("), ("set_rate", "errand.set_rate("),
            ] {
                let found = "from errand.help('\(word)') where starts_with(call, '\(call)')"
                #expect(try await database.count(found) == 1, "\(word)")
            }
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.help('retyr')")
            }
            #expect(error?.sqlState == "ER404")
            #expect(error?.hint?.hasPrefix("Is it retry") == true)
        }
    }
}
