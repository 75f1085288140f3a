import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand enqueue and errand status") struct EnqueueTests {
    @Test("enqueue prints the id of a job that is as it was asked for")
    func options() async throws {
        try await withTestDatabase { database, configuration in
            let program = try await Program.run(
                [
                    "enqueue", "noop", #"{"sleep_ms": 5}"#, "--queue", "mail", "--in", "10m", "--priority", "1",
                    "--max-attempts", "3", "--unique", "one",
                ], settings: reaching(configuration))
            #expect(program.code == 0)
            let id = try #require(Int64(program.output.dropLast()))
            let isAsAsked = try await database.query(
                Statement(
                    """
                    select kind = 'noop' and payload = '{"sleep_ms": 5}' and queue = 'mail' and priority = 1
                        and max_attempts = 3 and unique_key = 'one' and state = 'scheduled'
                        and run_at - created_at = interval '10 minutes'
                    from errand.job
                    where id = $1
                    """, [id]))
            #expect(try isAsAsked.scalar(Bool.self))
        }
    }

    @Test("the command has all options of SQL, with the same errors")
    func allOptions() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            let program = try await Program.run(
                [
                    "enqueue", "noop", "--not-after", "2999-01-01T00:00:00Z", "--limit", "tenant/1", "--tag", "a",
                    "--tag",
                    "b", "--traceparent", trace, "--subject", "anna", "--unique", "one", "--follow",
                ], settings: settings)
            #expect(program.code == 0)
            let isAsAsked = try await database.query(
                Statement(
                    """
                    select not_after = '2999-01-01Z' and limit_key = 'tenant/1' and tags = '{a,b}' and subject = 'anna'
                        and options ->> 'traceparent' = $1 and options ->> 'owner' = session_user
                    from errand.job
                    """, [trace]))
            #expect(try isAsAsked.scalar(Bool.self))
            let moved = try await Program.run(
                ["enqueue", "noop", "--unique", "one", "--on-conflict", "reschedule", "--in", "1h", "--json"],
                settings: settings)
            #expect(moved.output == #"{"inserted":false,"job_id":1,"state":"scheduled"}"# + "\n")
            let taken = try await Program.run(
                ["enqueue", "noop", "--unique", "one", "--on-conflict", "error"], settings: settings)
            #expect(taken.code == 1)
            #expect(taken.error.contains("unique_key: expected one that no unfinished job has, got that of job 1"))
            let flow = try await Program.run(
                [
                    "enqueue", "noop", "--after", "1", "--if-parent-fails", "go_on", "--order", "ada",
                    "--if-head-fails", "go_on", "--rate", "r", "--unique", "two", "--unique-while", "waiting",
                    "--on-conflict", "reschedule", "--no-later-than", "1h",
                ], settings: settings)
            #expect(flow.code == 0)
            let once = try await Program.run(
                ["enqueue", "noop", "--unique", "three", "--unique-for", "2h", "--not-after", "1h"], settings: settings)
            #expect(once.code == 0)
            let isInFlow = try await database.query(
                """
                select options @> '{"after": [1], "if_parent_fails": "go_on", "order_key": "ada"}'
                    and options ->> 'if_head_fails' = 'go_on' and rate_key = 'r' and waiting_key = 'two'
                    and exists (
                        select from errand.unique_period
                        where unique_key = 'three' and until > now() + interval '119 minutes')
                    and exists (
                        select from errand.job
                        where unique_key = 'three' and not_after - created_at = interval '1 hour')
                from errand.job where unique_key = 'two'
                """)
            #expect(try isInFlow.scalar(Bool.self))
            let batchless = try await Program.run(["enqueue", "noop", "--batch", "1"], settings: settings)
            #expect(batchless.code == 1 && batchless.error.contains("batch: expected the id of a batch"))
            let unknown = try await Program.run(["enqueue", "noop", "--if-head-fails", "stop"], settings: settings)
            #expect(unknown.code == 64)
            let guarded = try await Program.run(["enqueue", "noop", "--guard", "nobody"], settings: settings)
            #expect(guarded.code == 1 && guarded.error.contains("guard: expected one of errand.guard, got 'nobody'"))
        }
    }

    @Test("an enqueue with the key of an unfinished job returns that job")
    func unique() async throws {
        try await withTestDatabase { _, configuration in
            let settings = try reaching(configuration)
            let first = try await Program.run(["enqueue", "noop", "--unique", "one"], settings: settings)
            let second = try await Program.run(["enqueue", "noop", "--unique", "one"], settings: settings)
            #expect(second.code == 0)
            #expect(second.output == first.output)
            #expect(second.error == "errand: this job already had the key, and is available")
            let third = try await Program.run(["enqueue", "noop", "--unique", "one", "--json"], settings: settings)
            let id = first.output.dropLast()
            #expect(third.output == #"{"inserted":false,"job_id":\#(id),"state":"available"}"# + "\n")
        }
    }

    @Test("--at takes a time with its zone")
    func at() async throws {
        try await withTestDatabase { database, configuration in
            let time = "\(Calendar(identifier: .gregorian).component(.year, from: .now) + 1)-12-24T18:00:00+01:00"
            let program = try await Program.run(["enqueue", "noop", "--at", time], settings: reaching(configuration))
            #expect(program.code == 0)
            let isThen = try await database.query(
                Statement("select run_at = $1::text::timestamptz from errand.job", [time]))
            #expect(try isThen.scalar(Bool.self))
        }
    }

    @Test(
        "what can't be a job is refused before the database is asked",
        arguments: [
            ["noop", "{"], ["noop", "--in", "soon"], ["noop", "--in", "1m", "--at", "2999-01-01"], [],
        ])
    func usage(arguments: [String]) async throws {
        #expect(try await Program.run(["enqueue"] + arguments).code == 64)
    }

    @Test("an error of the database exits with 1 and its message")
    func refused() async throws {
        try await withTestDatabase { database, configuration in
            let program = try await Program.run(
                ["enqueue", "noop", "--priority", "9"], settings: reaching(configuration))
            #expect(program.code == 1)
            #expect(program.error.contains("priority: expected 1 (first) to 4 (last), got 9"))
            #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) == 0)
        }
    }

    @Test("status counts waiting and scheduled jobs, and shows each failure on one line")
    func status() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            for _ in 0..<3 { try await database.execute("select errand.enqueue('noop', queue => 'mail')") }
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '1 hour')")
            let people = try await Program.run(["status"], settings: settings)
            #expect(people.code == 0)
            #expect(people.output.contains("\nmail     3        0        "))
            #expect(people.output.contains("\n1 scheduled for later\n\nno worker is alive\n\nTROUBLE "))
            struct Shown: Decodable {
                struct Queue: Decodable, Equatable { let queue: String, waiting: Int, running: Int }
                let queues: [Queue]
                let scheduled: Int
            }
            let machine = try await Program.run(["status", "--json"], settings: settings)
            #expect(machine.code == 0)
            let shown = try JSONDecoder().decode(Shown.self, from: Data(machine.output.utf8))
            #expect(shown.queues.contains(Shown.Queue(queue: "mail", waiting: 3, running: 0)))
            #expect(shown.scheduled == 1)
        }
    }
}
