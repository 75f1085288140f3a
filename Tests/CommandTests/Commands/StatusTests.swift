import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand status --watch") struct StatusTests {
    @Test("it is shown again and again, and in a pipe without control characters")
    func watch() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await database.execute("select errand.enqueue('noop')")
            let watch = ["status", "--watch", "--every", "100ms", "--times", "3"]
            let people = try await Program.run(watch, settings: settings)
            #expect(people.code == 0)
            #expect(people.output.components(separatedBy: "QUEUE ").count == 4)
            #expect(!people.output.contains("\u{1B}"))
            let machine = try await Program.run(watch + ["--json"], settings: settings)
            let lines = machine.output.split(separator: "\n")
            #expect(lines.count == 3)
            struct Shown: Decodable { struct Trouble: Decodable { let check: String }; let trouble: [Trouble] }
            for line in lines {
                let shown = try JSONDecoder().decode(Shown.self, from: Data(line.utf8))
                #expect(Set(shown.trouble.map(\.check)).isSuperset(of: ["workers", "scheduler"]))
            }
        }
    }

    @Test("a screen is at most 100 columns wide, and an error can do nothing to a terminal")
    func width() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute(
                """
                insert into errand.failed (
                    id, created_at, run_at, priority, attempt, max_attempts, crashes, queue, kind, payload, error)
                values (1, now(), now(), 2, 3, 3, 0, 'default', 'noop', '{}', E'\\u001b[31m' || repeat('long ', 200))
                """)
            let people = try await Program.run(["status"], settings: reaching(configuration))
            #expect(people.output.contains("ERROR ID"))
            #expect(people.output.contains("  \\u{1b}[31mlong long"))
            #expect(people.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
        }
    }

    @Test("64 for an interval or a number that makes no sense", arguments: [["--every", "1ms"], ["--times", "0"]])
    func usage(arguments: [String]) async throws {
        #expect(try await Program.run(["status", "--watch"] + arguments).code == 64)
    }

    @Test("a completion script is made for each shell", arguments: ["bash", "zsh", "fish"])
    func completion(shell: String) async throws {
        let program = try await Program.run(["--generate-completion-script", shell])
        #expect(program.code == 0)
        #expect(program.output.contains("circuit") && program.output.contains("discard"))
    }
}
