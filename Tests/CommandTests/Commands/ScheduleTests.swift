import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand schedule") struct ScheduleTests {
    @Test("preview shows both clocks at clock changes, and refuses what is no schedule")
    func preview() async throws {
        try await withTestDatabase { _, configuration in
            try await preview(settings: reaching(configuration))
        }
    }

    private func preview(settings: [String: String]) async throws {
        let arguments = [
            "schedule", "preview", "--cron", "30 2 * * *", "--time-zone", "Europe/Paris", "--after",
            "2026-10-24T00:00:00Z",
            "--count", "3",
        ]
        let machine = try await Program.run(arguments + ["--json"], settings: settings)
        #expect(machine.code == 0)
        struct Tick: Decodable, Equatable { let utc: String, local: String }
        #expect(
            try JSONDecoder().decode([Tick].self, from: Data(machine.output.utf8)) == [
                Tick(utc: "2026-10-24T00:30:00Z", local: "2026-10-24T02:30:00+02:00"),
                Tick(utc: "2026-10-25T00:30:00Z", local: "2026-10-25T02:30:00+02:00"),
                Tick(utc: "2026-10-26T01:30:00Z", local: "2026-10-26T02:30:00+01:00"),
            ])
        let people = try await Program.run(arguments, settings: settings)
        #expect(
            people.output == """
                UTC                   LOCAL                      NOTE
                2026-10-24T00:30:00Z  2026-10-24T02:30:00+02:00  -
                2026-10-25T00:30:00Z  2026-10-25T02:30:00+02:00  clocks go back: 02:30 comes twice, this is the first
                2026-10-26T01:30:00Z  2026-10-26T02:30:00+01:00  -

                """)
        let fraction = ["schedule", "preview", "--cron", "every 1500 ms", "--time-zone", "America/St_Johns"]
        let halves = try await Program.run(
            fraction + ["--after", "2026-11-28T00:00:00Z", "--count", "2", "--json"], settings: settings)
        #expect(
            halves.output
                == #"[{"utc":"2026-11-28T00:00:01.500000Z","local":"2026-11-27T20:30:01.500000-03:30"},"#
                + #"{"utc":"2026-11-28T00:00:03Z","local":"2026-11-27T20:30:03-03:30"}]"# + "\n")
        for (arguments, reason) in [
            (["--cron", "0 25 * * *"], "hour: expected * or 0 to 23, got 25"),
            (["--cron", "@daily", "--time-zone", "Mars/Olympus"], "time zone: expected an IANA name"),
        ] {
            let program = try await Program.run(["schedule", "preview"] + arguments, settings: settings)
            #expect(program.code == 1)
            #expect(program.error.contains(reason))
        }
    }

    @Test(
        "wrong arguments end with 64, and the error says what was expected and what came",
        arguments: [
            (
                ["--cron", "@daily", "--after", "soon"],
                "--after: expected a time such as 2026-10-24T00:00:00Z, got 'soon'"
            ),
            (["--cron", "@daily", "--count", "0"], "--count: expected 1 to 1000, got 0"),
            ([], "NAME, --cron: expected one of them, got none"),
            (["nightly", "--cron", "@daily"], "NAME, --cron: expected one of them, got both"),
        ])
    func usage(arguments: [String], reason: String) async throws {
        let program = try await Program.run(["schedule", "preview"] + arguments)
        #expect(program.code == 64)
        #expect(program.errors.contains(reason))
    }

    @Test("run, pause, resume, drop, list and ticks do the same as the SQL functions")
    func commands() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["schedule"] + arguments, settings: settings)
            }
            #expect(try await errand("list").output == "there are no schedules\n")
            #expect(try await errand("list", "--json").output == "[]\n")
            try await database.execute(
                "select errand.put_schedule('nightly', '30 2 * * *', 'noop', time_zone => 'Europe/Paris')")
            let run = try await errand("run", "nightly", "--reason", "the disk was full")
            #expect(run.code == 0)
            let id = try #require(Int64(run.output.dropLast()))
            #expect(try await database.query("select id from errand.job").scalar(Int64.self) == id)
            let ticks = try await errand("ticks", "nightly")
            #expect(ticks.output.hasPrefix("TICK (UTC) "))
            #expect(ticks.output.contains("by hand  \(id) "))
            #expect(ticks.output.hasSuffix("the disk was full\n"))
            #expect(try await errand("pause", "nightly", "--reason", "try").output == "nightly: paused\n")
            let paused = try await errand("list")
            #expect(paused.output.contains("nightly  30 2 * * *  Europe/Paris"))
            #expect(paused.output.hasSuffix("paused: try\n"))
            let resumed = try await errand("resume", "nightly", "--json")
            #expect(resumed.output == #"{"done":"resumed","schedule":"nightly"}"# + "\n")
            let preview = try await errand(
                "preview", "nightly", "--after", "2026-10-24T00:00:00Z", "--count", "1", "--json")
            #expect(preview.output == #"[{"utc":"2026-10-24T00:30:00Z","local":"2026-10-24T02:30:00+02:00"}]"# + "\n")
            struct Line: Decodable {
                let name: String, last_outcome: String?, last_job_id: Int64?, paused_reason: String?
            }
            let lines = try JSONDecoder().decode(
                [Line].self, from: Data(try await errand("list", "--json").output.utf8))
            try #require(lines.map(\.name) == ["nightly"])
            #expect(lines[0].last_outcome == "by hand")
            #expect(lines[0].last_job_id == id)
            #expect(lines[0].paused_reason == nil)
            #expect(try await errand("drop", "nightly").output == "nightly: dropped\n")
            for command in [["drop", "nightly"], ["resume", "nightly"], ["preview", "nightly"]] {
                let unknown = try await Program.run(["schedule"] + command, settings: settings)
                #expect(unknown.code == 1)
                #expect(unknown.error.contains("there is no schedule 'nightly'"))
            }
        }
    }
    @Test("put creates a schedule, changes it, and leaves the same one as it is")
    func put() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            func put(_ arguments: String...) async throws -> Program {
                try await Program.run(["schedule", "put", "nightly"] + arguments, settings: settings)
            }
            let given = ["0 3 * * *", "noop", #"{"sleep_ms": 5}"#, "--missed", "skip"]
            #expect(try await put(given[0], given[1], given[2], given[3], given[4]).output == "nightly: created\n")
            let stored = "select cron, kind, payload ->> 'sleep_ms', missed, time_zone from errand.schedule"
            let row = try await database.query(Statement(stored))[0]
            let (cron, kind, pause, missed, zone) = try row.decode(
                String.self, String.self, String.self, String.self, String.self)
            #expect([cron, kind, pause, missed, zone] == ["0 3 * * *", "noop", "5", "skip", "UTC"])
            let again = try await put(given[0], given[1], given[2], given[3], given[4], "--json")
            #expect(again.output == #"{"done":"unchanged","schedule":"nightly"}"# + "\n")
            #expect(try await put("0 3 * * *", "noop", "--time-zone", "Europe/Paris").output == "nightly: changed\n")
            let refused = try await put("0 3 * *", "noop")
            #expect(refused.code == 1)
            #expect(refused.error.contains("expected five fields"))
            #expect(try await put("0 3 * * *", "noop", "{").code == 64)
        }
    }
}
