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

    @Test("a key that an unfinished job has answers with that job")
    func unique() async throws {
        try await withTestDatabase { _, configuration in
            let settings = try reaching(configuration)
            let first = try await Program.run(["enqueue", "noop", "--unique", "one"], settings: settings)
            let second = try await Program.run(["enqueue", "noop", "--unique", "one"], settings: settings)
            #expect(second.code == 0)
            #expect(second.output == first.output)
            #expect(second.error == "errand: this job had the key already, and is available")
            let third = try await Program.run(["enqueue", "noop", "--unique", "one", "--json"], settings: settings)
            let id = first.output.dropLast()
            #expect(third.output == #"{"inserted":false,"job_id":\#(id),"state":"available"}"# + "\n")
        }
    }

    @Test("--at takes a time with its zone")
    func at() async throws {
        try await withTestDatabase { database, configuration in
            let time = "2999-12-24T18:00:00+01:00"
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

    @Test("what the database refuses ends with 1 and its reason")
    func refused() async throws {
        try await withTestDatabase { database, configuration in
            let program = try await Program.run(
                ["enqueue", "noop", "--priority", "9"], settings: reaching(configuration))
            #expect(program.code == 1)
            #expect(program.error.contains("priority: expected 1 (first) to 4 (last), got 9"))
            #expect(try await database.query("select count(*) from errand.job").scalar(Int.self) == 0)
        }
    }

    @Test("status counts what waits, what is scheduled, and shows failures in one line each")
    func status() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            for _ in 0..<3 { try await database.execute("select errand.enqueue('noop', queue => 'mail')") }
            try await database.execute("select errand.enqueue('noop', run_at => now() + interval '1 hour')")
            let people = try await Program.run(["status"], settings: settings)
            #expect(people.code == 0)
            #expect(people.output.contains("mail            3        0 "))
            #expect(people.output.contains("\n1 scheduled for later\n\nno worker is alive\n"))
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
