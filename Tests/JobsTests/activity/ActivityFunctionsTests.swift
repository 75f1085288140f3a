import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Live Activities in SQL") struct ActivityFunctionsTests {
    @Test(
        "A1: a start commits with the job for its end: due 60 s before its 8 hours are over, never started later, guarded"
    )
    func starts() async throws {
        try await withAppDatabase { database, _ in
            let activity = try await database.startActivity()
            #expect(
                try await database.lines(
                    """
                    select ends_at - status.started_at as life, ends_at - due_at as margin, job.run_at = due_at as due,
                        job.not_after = ends_at as last, job.guard, job.queue, status.state
                    from activity.activity_status as status
                    join errand.job on job.id = end_job_id
                    where status.id = '\(activity)'
                    """) == ["08:00:00|00:01:00|true|true|activity_wants_end|pushes|live"])
            // After the rollback, neither exists.
            await #expect(throws: PostgresError.self) {
                try await database.transaction { transaction in
                    try await transaction.execute("select activity.start('u', 'a', 'b', token => repeat('ab', 32))")
                    try await transaction.execute("select 1 / 0")
                }
            }
            #expect(try await database.number("select count(*) from activity.activity_status") == 1)
            #expect(try await database.number("select count(*) from errand.job") == 1)
            // The margin is a setting, for activities that start later.
            try await database.execute("select activity.set_margin('5 minutes', 'slow today')")
            let later = try await database.startActivity()
            #expect(
                try await database.lines(
                    "select ends_at - due_at from activity.activity_status where id = '\(later)'") == ["00:05:00"])
            #expect(
                try await database.lines("select reason from errand.audit where action = 'activity.set_margin'")
                    == ["slow today"])
        }
    }

    @Test("A2, A4: each call returns its outcome and the reason")
    func replies() async throws {
        try await withAppDatabase { database, _ in
            let activity = try await database.startActivity("start_token => repeat('cd', 32)")
            let unknown = UUID()
            func reply(_ call: String) async throws -> String {
                try await database.lines("select ok, reason from activity.\(call)")[0]
            }
            #expect(try await reply("update('\(unknown)', 'x')") == "false|unknown")
            #expect(try await reply("end_now('\(unknown)')") == "false|unknown")
            #expect(try await reply("set_token('\(unknown)', repeat('ab', 32))") == "false|unknown")
            #expect(try await reply("start('u', 'a', 'b', started_at => now() - interval '8 hours')") == "false|over")
            #expect(try await reply("set_token('\(activity)', repeat('AB', 32))") == "true|")
            #expect(
                try await reply("update('\(activity)', 'On my way', who => 'anna', why => 'she wrote')") == "true|")
            let due = try await database.lines("select due_at, ends_at from activity.activity_status")
            #expect(try await reply("update('\(activity)', 'Soon')") == "true|")
            #expect(try await database.lines("select due_at, ends_at from activity.activity_status") == due)
            #expect(try await reply("end_now('\(activity)', why => 'read')") == "true|")
            #expect(try await reply("end_now('\(activity)')") == "true|", "a second time does no harm")
            #expect(try await reply("update('\(activity)', 'Late')") == "false|ending")
            #expect(
                try await database.lines(
                    "select who, reason from activity.change_record where what = 'updated' limit 1")
                    == ["anna|she wrote"])
            try await database.age(activity, by: "8 hours")
            #expect(try await reply("end_now('\(activity)')") == "false|over")
            #expect(try await reply("set_token('\(activity)', repeat('12', 32))") == "false|over")
        }
    }

    @Test("A2: when a phone has another user, the activities of the one before end on it, and no others")
    func movedPhone() async throws {
        try await withAppDatabase { database, _ in
            let phone = "start_token => repeat('cd', 32)"
            let unsent = try await database.startActivity(phone)
            let shown = try await database.startActivity("\(phone), dismiss_after => null")
            try await database.execute(Statement("select activity.set_token($1, repeat('12', 32))", [shown]))
            let elsewhere = try await database.startActivity("start_token => repeat('ef', 32)")
            try await database.execute(Statement("select activity.start_demo(\(phone))"))
            // The same user again.
            let again = try await database.startActivity(phone)
            let states = "select id, state from activity.activity where user_id = 'ben' order by started_at"
            #expect(
                try await database.lines(states)
                    == [
                        "\(unsent)|starting", "\(shown)|live", "\(elsewhere)|starting", "\(again)|starting",
                    ].map { $0.lowercased() })
            try await database.execute(
                "select activity.start('carl', 'Dora', 'Hello', start_token => repeat('CD', 32))")
            #expect(
                try await database.lines(states)
                    == [
                        "\(unsent)|ended", "\(shown)|ending", "\(elsewhere)|starting", "\(again)|ended",
                    ].map { $0.lowercased() })
            #expect(
                try await database.lines(
                    "select dismiss_after, due_at <= clock_timestamp() from activity.activity where state = 'ending'")
                    == ["00:00:00|true"])
            #expect(
                try await database.lines("select user_id from activity.activity where state = 'live'") == ["demo"])
        }
    }

    @Test("with a user's id an activity of another user is unknown, and stays as it is")
    func owners() async throws {
        try await withAppDatabase { database, _ in
            let activity = try await database.startActivity()
            let before = try await database.lines("select activity::text from activity.activity")
            for call in [
                "update('\(activity)', 'x', ", "set_token('\(activity)', repeat('cd', 32), ", "end_now('\(activity)', ",
            ] {
                #expect(
                    try await database.lines("select ok, reason from activity.\(call) user_id => 'eve')")
                        == ["false|unknown"])
                #expect(try await database.lines("select activity::text from activity.activity") == before)
            }
            for call in [
                "update('\(activity)', 'x', ", "set_token('\(activity)', repeat('cd', 32), ", "end_now('\(activity)', ",
            ] {
                #expect(
                    try await database.lines("select ok, reason from activity.\(call) user_id => 'ben')") == ["true|"])
            }
        }
    }

    @Test(
        "A2: an early end moves the 8-hour job forward; if nothing was sent yet, that job and the start are cancelled")
    func endsEarly() async throws {
        try await withAppDatabase { database, _ in
            let sent = try await database.startActivity()
            try await database.execute(Statement("select activity.end_now($1)", [sent]))
            #expect(
                try await database.lines("select kind, state, run_at <= now() from errand.job")
                    == ["activity_end|available|true"])
            try await database.execute("delete from errand.job")
            let unsent = try await database.startActivity("start_token => repeat('cd', 32)")
            #expect(try await database.number("select count(*) from errand.job") == 2)
            try await database.execute(Statement("select activity.end_now($1, why => 'a mistake')", [unsent]))
            #expect(try await database.number("select count(*) from errand.job") == 0)
            #expect(try await database.state(of: unsent) == "ended|ended before it was started")
            #expect(try await database.number("select count(*) from errand.history where state = 'cancelled'") == 2)
        }
    }

    @Test("the last reported token counts, and an invalid one is rejected")
    func tokens() async throws {
        try await withAppDatabase { database, _ in
            let activity = try await database.startActivity("start_token => repeat('cd', 32)")
            for token in ["aa", "bb"] {
                try await database.execute(
                    Statement("select activity.set_token($1, repeat($2, 32))", [activity, token]))
            }
            #expect(
                try await database.lines("select token from activity.activity") == [String(repeating: "bb", count: 32)])
            for (call, state) in [
                ("set_token('\(activity)', 'xyz')", "ER422"), ("set_token('\(activity)', null)", "ER422"),
                ("start('', 'a', 'b')", "ER422"), ("start('u', null, 'b')", "ER422"), ("start('u', 'a', '')", "ER422"),
                ("start('u', 'a', 'b', token => 'abc')", "ER422"),
                ("start('u', 'a', 'b', attributes => '[]')", "ER422"),
                ("start('u', 'a', 'b', attributes_type => 'a b')", "ER422"),
                ("start('u', 'a', 'b', dismiss_after => '5 hours')", "ER422"),
                ("start('u', 'a', 'b', started_at => 'infinity')", "ER422"),
                ("start('u', 'a', 'b', content_state => jsonb_build_object('a', repeat('x', 3600)))", "ER413"),
                ("update('\(activity)', 'x', who => repeat('x', 201))", "ER422"),
                ("update('\(activity)', 'x', why => repeat('x', 100000))", "ER422"),
                ("end_now('\(activity)', why => repeat('x', 100000))", "ER422"),
                ("set_token('\(activity)', repeat('ab', 32), who => repeat('x', 100000))", "ER422"),
                ("start('u', 'a', 'b', who => repeat('x', 100000))", "ER422"),
                ("start(repeat('u', 201), 'a', 'b')", "ER422"), ("start('u', repeat('a', 100000), 'b')", "ER422"),
                ("start('u', 'a', 'b', started_at => '-infinity')", "ER422"),
                ("update('\(activity)')", "ER422"), ("start_demo(ends_in => '8 hours')", "ER422"),
                ("set_margin('0 s', 'why')", "ER422"), ("set_margin('60 s', '')", "ER422"),
            ] {
                let error = await #expect(throws: PostgresError.self, "\(call)") {
                    try await database.execute(Statement("select activity.\(call)"))
                }
                #expect(error?.sqlState == state, "\(call)")
            }
        }
    }

    @Test(
        "an activity that has lost its job gets another one, once; one whose 8 hours are over is ended with the reason")
    func repairs() async throws {
        try await withAppQueue([]) { test in
            let database = test.database
            let soon = try await database.startActivity()
            let late = try await database.startActivity()
            let over = try await database.startActivity()
            let ended = try await database.startActivity()
            try await database.execute("delete from errand.job")
            try await database.age(soon, by: "7 hours 50 minutes")
            try await database.age(over, by: "8 hours")
            try await database.execute(
                Statement(
                    """
                    update activity.activity
                    set state = 'ended', ended_at = now() - interval '30 days', end_reason = 'x'
                    where id = $1
                    """, [ended]))
            let run = try await test.run("activity_cleanup")
            #expect(run.output?.text == #"{"fixed": 1, "closed": 1, "pruned": 1}"#)
            #expect(
                try await database.lines(
                    "select unique_key, run_at > now() + interval '8 minutes' from errand.job where kind = 'activity_end'"
                )
                    == ["activity_end/\(soon.uuidString.lowercased())|true"])
            #expect(try await database.state(of: over) == "ended|its 8 hours were over: no push was answered")
            #expect(try await database.changes(of: soon) == ["started", "fixed"])
            #expect(try await database.changes(of: late) == ["started"])
            let again = try await test.run("activity_cleanup")
            #expect(again.output?.text == #"{"fixed": 0, "closed": 0, "pruned": 0}"#)
        }
    }

    @Test("E5: a user's export has their activities, and those that show a message of theirs")
    func exported() async throws {
        try await withAppDatabase { database, _ in
            for own in AppCase.all(.person) where own.app == "activity" {
                for statement in own.statements { try await database.execute(Statement(statement)) }
            }
            let activities = "activity.export_person('user-4711') -> 'activities'"
            #expect(
                try await database.lines(
                    "select existing ->> 'message' from jsonb_array_elements(\(activities)) as existing order by 1")
                    == ["Hello", "Hello from Zoe"])
        }
    }
}
