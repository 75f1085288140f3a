import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand job") struct JobTests {
    /// Job 1 has failed, 2 and 3 wait.
    private func fill(_ database: Database) async throws {
        for kind in ["mail", "mail", "photo"] {
            try await database.execute(Statement("select errand.enqueue($1)", [kind]))
        }
        try await database.execute(
            """
            with gone as (
                delete from errand.job where id = 1 returning *
            )
            insert into errand.failed (
                id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, payload, attempts, error)
            select id, created_at, run_at, priority, 3, 3, 0, queue, kind, '{"big": 9007199254740993}',
                '[{"attempt": 3, "outcome": "failed", "worker": "host:1", "error": "no route\\u001b[31m"}]',
                E'no route\\u001b[31m'
            from gone
            """)
    }

    @Test("list shows the selected jobs, as a table that fits and as JSON")
    func list() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            let people = try await Program.run(["job", "list", "--state", "failed"], settings: settings)
            #expect(people.code == 0)
            let lines = people.output.split(separator: "\n")
            try #require(lines.count == 2)
            #expect(lines[0].hasPrefix("ID  KIND  QUEUE    STATE   ATTEMPT  TIME "))
            #expect(lines[1].hasPrefix("1   mail  default  failed  3/3      2"))
            #expect(lines[1].hasSuffix("  no route\\u{1b}[31m"))
            let machine = try await Program.run(["job", "list", "--json"], settings: settings)
            struct Line: Decodable { let id: Int, kind: String, state: String, reason: String? }
            let jobs = try JSONDecoder().decode([Line].self, from: Data(machine.output.utf8))
            #expect(jobs.map(\.id) == [3, 2, 1])
            #expect(jobs.map(\.state) == ["available", "available", "failed"])
            let one = try await Program.run(
                ["job", "list", "--count", "1", "--kind", "mail", "--json"], settings: settings)
            #expect(try JSONDecoder().decode([Line].self, from: Data(one.output.utf8)).map(\.id) == [2])
        }
    }

    @Test("show brings all that is on record, and JSON keeps a payload's numbers as they are")
    func show() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            let people = try await Program.run(["job", "show", "1"], settings: settings)
            #expect(
                people.output.hasPrefix(
                    "id            1\nkind          mail\nqueue         default\nstate         failed\n"))
            #expect(people.output.contains("payload       {\"big\": 9007199254740993}\n"))
            #expect(
                people.output.contains(
                    "\n\nATTEMPT  OUTCOME  ENDED  WORKER  ERROR\n3        failed   -      host:1  no route\\u{1b}[31m\n"
                ))
            let machine = try await Program.run(["job", "show", "1", "--json"], settings: settings)
            #expect(machine.output.contains("9007199254740993"))
            #expect(machine.output.contains("\"state\": \"failed\""))
        }
    }

    @Test("show brings how far a job is, and the last lines of its log, one below the other")
    func progress() async throws {
        try await withTestDatabase { database, configuration in
            try await fill(database)
            try await database.execute(
                """
                insert into errand.progress (job_id, queue_position, attempt, fraction, message, output, log)
                values (1, 1, 3, 0.5, 'page 2 of 4', '{"pages": 2}', array['info begun', E'info \\u001b[31mpage 2'])
                """)
            let people = try await Program.run(["job", "show", "1"], settings: reaching(configuration))
            #expect(
                people.output.contains("\nprogress          0.5\nprogress message  page 2 of 4\nprogress at       2"))
            #expect(people.output.contains("\noutput            {\"pages\": 2}\n"))
            #expect(people.output.hasSuffix("\n\nLOG\ninfo begun\ninfo \\u{1b}[31mpage 2\n"))
        }
    }

    @Test("JSON has all that a terminal obeys as escapes, and means the same")
    func controls() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            let hostile = "a\u{9B}31m\u{7F}\u{202E}b\u{2066}c\u{61C}\u{200F}\u{2028}"
            try await database.execute(Statement("update errand.failed set error = $1", [hostile]))
            try await database.execute(
                Statement("update errand.failed set payload = jsonb_build_object('k', $1)", [hostile]))
            struct Line: Decodable { let reason: String? }
            for command in [["job", "list", "--state", "failed", "--json"], ["job", "show", "1", "--json"]] {
                let text = try await Program.run(command, settings: settings).output
                #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || (0x20..<0x7F).contains($0.value) }, "\(command)")
                let data = Data(text.utf8)
                let reason =
                    try (try? JSONDecoder().decode([Line].self, from: data).first?.reason)
                    ?? JSONDecoder().decode(Line.self, from: data).reason
                #expect(reason == hostile)
            }
            let people = try await Program.run(["job", "show", "1"], settings: settings)
            #expect(people.output.contains("a\\u{9b}31m\\u{7f}\\u{202e}b\\u{2066}c\\u{61c}\\u{200f}\\u{2028}"))
        }
    }

    @Test("the dry run of a filter prints how many more jobs match than one call changes")
    func beyond() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            let dryRun = try await Program.run(
                ["job", "cancel", "--queue", "default", "--max-jobs", "1", "--reason", "x"], settings: settings)
            #expect(
                dryRun.error == "errand: nothing was changed: --no-dry-run does it to this job; "
                    + "1 more match: call it again for them, or see --max-jobs")
        }
    }

    @Test("explain shows the first reason that blocks a job, with the call that fixes it")
    func explain() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            try await database.execute("select errand.pause_queue('default', 'storage moves')")
            let people = try await Program.run(["job", "explain", "2"], settings: settings)
            #expect(people.code == 0)
            #expect(people.output.hasPrefix("1. paused: the queue default is paused since "))
            #expect(people.output.contains("\n   select errand.resume_queue('default')\n"))
            #expect(people.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
            let machine = try await Program.run(["job", "explain", "2", "--json"], settings: settings)
            struct Line: Decodable { let rank: Int, code: String, detail: String, hint: String? }
            let reasons = try JSONDecoder().decode([Line].self, from: Data(machine.output.utf8))
            #expect(reasons.first?.code == "paused")
            #expect(reasons.map(\.rank) == Array(1...reasons.count))
        }
    }

    @Test("retry, cancel and discard change jobs by id, and print each result")
    func change() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            let retried = try await Program.run(["job", "retry", "1", "--reason", "it is back"], settings: settings)
            #expect(retried.output == "JOB  WAS     NOW\n1    failed  available\n")
            let cancelled = try await Program.run(
                ["job", "cancel", "2", "3", "--reason", "wrong", "--json"], settings: settings)
            #expect(
                cancelled.output == #"[{"job_id":2,"now":"cancelled","was":"available"},"#
                    + #"{"job_id":3,"now":"cancelled","was":"available"}]"# + "\n")
            let discarded = try await Program.run(
                ["job", "discard", "2", "99", "--reason", "gone"], settings: settings)
            #expect(discarded.code == 1)
            #expect(discarded.errors == "errand: job 2 stays cancelled\nerrand: there is no job 99 (any more)\n")
            let actions = try await database.query("select action from errand.audit order by id").column(
                0, as: String.self)
            #expect(actions == ["retry", "cancel"])
            let nobody = try await Program.run(["job", "retry", "98", "99"], settings: settings)
            #expect(nobody.code == 1)
            #expect(nobody.output == "")
            #expect(nobody.error == "errand: there is no job 98, 99 (any more)")
            let later = try await Program.run(["job", "retry", "2", "--at", "1h"], settings: settings)
            #expect(later.output.hasSuffix("2    cancelled  scheduled\n"))
        }
    }

    @Test("with a filter, retry and cancel are dry runs until --no-dry-run")
    func filter() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            let arguments = ["job", "retry", "--kind", "mail", "--error", "no route", "--per-minute", "60"]
            let dryRun = try await Program.run(arguments, settings: settings)
            #expect(dryRun.output.contains("\n1    failed  available  2"))
            #expect(dryRun.error == "errand: nothing was changed: --no-dry-run does it to this job")
            #expect(try await database.query("select errand_internal.state_of(1)").scalar(String.self) == "failed")
            let done = try await Program.run(arguments + ["--no-dry-run"], settings: settings)
            #expect(done.errors == "")
            #expect(try await database.query("select errand_internal.state_of(1)").scalar(String.self) == "available")
            let cancel = ["job", "cancel", "--kind", "photo", "--reason", "wrong text"]
            _ = try await Program.run(cancel, settings: settings)
            #expect(try await database.query("select errand_internal.state_of(3)").scalar(String.self) == "available")
            _ = try await Program.run(cancel + ["--no-dry-run"], settings: settings)
            #expect(try await database.query("select errand_internal.state_of(3)").scalar(String.self) == "cancelled")
            try await database.execute(
                "insert into errand.kind (name, queue, max_attempts, priority) values ('photo', 'images', 4, 2)")
            let typo = try await Program.run(["job", "retry", "--kind", "fhoto"], settings: settings)
            #expect(typo.output == "no such job exists\n")
            #expect(typo.error == "errand: there is no kind 'fhoto'; did you mean photo?")
        }
    }

    @Test("edit replaces a payload; reschedule shows the jobs to move, and moves them on request")
    func move() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await fill(database)
            let edited = try await Program.run(
                ["job", "edit", "2", "{\"photo\": 7}", "--reason", "wrong photo"], settings: settings)
            #expect(edited.output == "job 2: edited, available\n")
            let payload = "select payload ->> 'photo' from errand.jobs where id = 2"
            #expect(try await database.query(Statement(payload)).scalar(String.self) == "7")
            let move = ["job", "reschedule", "--kind", "photo", "--to-priority", "1", "--reason", "a customer waits"]
            let shown = try await Program.run(move, settings: settings)
            #expect(shown.output.contains("available  available"))
            #expect(shown.error.hasPrefix("errand: nothing was changed: --no-dry-run does it to"))
            let urgent: Statement = "select count(*) from errand.jobs where priority = 1 and kind = 'photo'"
            #expect(try await database.query(urgent).scalar(Int.self) == 0)
            _ = try await Program.run(move + ["--no-dry-run"], settings: settings)
            #expect(try await database.query(urgent).scalar(Int.self) > 0)
        }
    }

    @Test(
        "what can't be read ends with 64 and says what was expected",
        arguments: [
            (["list", "--state", "faild"], "got 'faild'; did you mean failed?"),
            (["list", "--count", "0"], "--count: expected 1 to 100000, got 0"),
            (["retry"], "expected ids or what they have in common, got neither"),
            (["cancel", "1", "--kind", "noop", "--reason", "x"], "expected ids or what they have in common, got both"),
            (
                ["retry", "1", "--at", "soon"],
                "or 10m or 24h from now, got 'soon'"
            ),
            (
                ["cancel", "1", "--dry-run", "--reason", "x"],
                "--dry-run: expected with a filter such as --kind, got ids"
            ),
            (
                ["retry", "1", "--per-minute", "60"], "--per-minute: expected with a filter such as --kind, got ids"
            ),
            (["retry", "--kind", "noop", "--at", "1h"], "--at: expected with ids, got a filter"),
            (["discard", "1"], "Missing expected argument '--reason <reason>'"),
            (["edit", "1", "{", "--reason", "x"], "payload: expected JSON, got 1 characters that are none"),
            (
                ["reschedule", "--kind", "noop", "--reason", "x"],
                "expected --to-queue, --to-priority, --at or --per-minute, got none of them"
            ),
        ])
    func usage(arguments: [String], reason: String) async throws {
        let program = try await Program.run(["job"] + arguments)
        #expect(program.code == 64)
        #expect(program.errors.contains(reason))
    }

    @Test("a job that isn't there ends with 1 and one line; so does a reason that is empty")
    func unknown() async throws {
        try await withTestDatabase { _, configuration in
            let settings = try reaching(configuration)
            for command in ["show", "explain"] {
                let program = try await Program.run(["job", command, "99"], settings: settings)
                #expect(program.code == 1)
                #expect(
                    program.error
                        == "errand: there is no job 99 (any more); ended jobs stay for 7 days, failed ones for 30")
            }
            let blank = try await Program.run(["job", "cancel", "1", "--reason", " "], settings: settings)
            #expect(blank.code == 1)
            #expect(blank.error.contains("cancel: reason: expected 1 to 1000 characters, got 0"))
        }
    }

    @Test("the error of a missing right names the role that has it")
    func rights() async throws {
        try await withTestDatabase { _, configuration in
            // Without the pooler, which rejects `options`.
            var settings = ["DATABASE_URL": try TestServer.url(of: configuration, directly: true)]
            var url = try #require(URLComponents(string: settings["DATABASE_URL"] ?? ""))
            url.queryItems = (url.queryItems ?? []) + [URLQueryItem(name: "options", value: "-c role=errand_monitor")]
            settings["DATABASE_URL"] = url.string
            let program = try await Program.run(["job", "cancel", "1", "--reason", "x"], settings: settings)
            #expect(program.code == 1)
            #expect(program.error.contains("permission denied for function cancel; errand_enqueuer may enqueue, "))
            #expect(try await Program.run(["queue", "list"], settings: settings).code == 0)
        }
    }
}
