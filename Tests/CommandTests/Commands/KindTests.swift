import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand kind, rate, retention, times, compare, sizes and health") struct KindTests {
    private func errand(_ configuration: PostgresConfiguration, _ line: String) async throws -> Program {
        // Words, of which none has a space.
        try await Program.run(line.split(separator: " ").map(String.init), settings: reaching(configuration))
    }

    private func rows(_ program: Program) throws -> [[String: Cell]] {
        try JSONDecoder().decode([[String: Cell]].self, from: Data(program.output.utf8))
    }

    @Test("a kind is listed, paused for a time and resumed, and for a typo the most similar one is named once")
    func kind() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("select errand.enqueue('noop')")
            try await database.execute("select errand.refresh_statistics()")
            #expect(
                try await errand(configuration, "kind pause noop --reason moves --unused --until 2h").output
                    == "noop: paused\n")
            let paused = try rows(try await errand(configuration, "kind list --json"))
            #expect(paused.map { $0["kind"] } == ["noop"] && paused[0]["paused_reason"] == "moves")
            let table = try await errand(configuration, "kind list").output.split(separator: "\n")
            #expect(table[0].hasPrefix("KIND ") && table[1].hasPrefix("noop ") && table[1].hasSuffix(" moves"))
            #expect(try await errand(configuration, "kind resume noop").output == "noop: resumed\n")
            #expect(try rows(try await errand(configuration, "kind list --json"))[0]["paused_at"] == nil)
            let typo = try await errand(configuration, "kind resume nop")
            #expect(typo.code == 1 && typo.error.contains("(Is it noop?)"), "\(typo.error)")
        }
    }

    @Test("rates of keys and of queues are set, listed and cleared")
    func rate() async throws {
        try await withTestDatabase { database, configuration in
            #expect(try await errand(configuration, "rate list").output == "no rate is set\n")
            #expect(
                try await errand(configuration, "rate set tenant/* 20 --per 1m --burst 5").output
                    == "tenant/*: set to 20 in 1m\n")
            #expect(
                try await errand(configuration, "rate set mail 100 --per 1h --queue --json").output
                    == #"{"done":"set","queue":"mail"}"# + "\n")
            let rates = try rows(try await errand(configuration, "rate list --json"))
            #expect(Set(rates.map { $0["name"] }) == ["tenant/*", "mail"])
            #expect(rates.first { $0["what"] == "key" }?["burst"] == 5)
            #expect(rates.first { $0["what"] == "queue" }?["per"] == "01:00:00")
            #expect(try await errand(configuration, "rate set mail 100 --per 1h --queue --burst 2").code == 64)
            #expect(try await errand(configuration, "rate set mail 100 --per soon").code == 64)
            #expect(try await errand(configuration, "rate clear tenant/*").output == "tenant/*: no rate\n")
            #expect(try await errand(configuration, "rate clear mail --queue").output == "mail: no rate\n")
            #expect(try await errand(configuration, "rate clear mail --queue").code == 1)
            let actions = try await database.query("select action from errand.audit order by id").column(
                0, as: String.self)
            #expect(actions == ["set_key_rate", "set_rate", "set_key_rate", "set_rate"])
        }
    }

    @Test("a retention is set for a kind and a state, and returns to the default")
    func retention() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("select errand.put_kind('noop')")
            let set = try await errand(configuration, "retention set noop failed 90d --reason audit")
            #expect(set.output == "noop: set, failed ones stay for 90d\n", "\(set.error)")
            let all = try rows(try await errand(configuration, "retention list --json"))
            #expect(all.count == 5 && all.last?["keep_seconds"] == 7_776_000 && all.last?["reason"] == "audit")
            #expect(try await errand(configuration, "retention clear noop failed --reason over").code == 0)
            #expect(try rows(try await errand(configuration, "retention list --json")).count == 4)
            #expect(try await errand(configuration, "retention set noop faled 90d --reason audit").code == 1)
        }
    }

    @Test("what ran is listed by kind, also as CSV, and sizes and health of the database")
    func times() async throws {
        try await withTestDatabase { database, configuration in
            #expect(try await errand(configuration, "times").output == "nothing ended within that time\n")
            try await database.execute(
                """
                insert into errand.failed (id, kind, queue, payload, created_at, run_at, error, attempt, max_attempts, crashes, priority)
                values (1, 'noop', 'default', '{}', now(), now(), E'one, "two"\\nthree', 1, 1, 0, 2)
                """)
            let csv = try await errand(configuration, "job list --state failed --ended-since 1h --csv")
            #expect(csv.output.hasPrefix("id,queue,kind,state,"), "\(csv.error)")
            #expect(csv.output.hasSuffix(",\"one, \"\"two\"\"\nthree\"\n"), "\(csv.output)")
            #expect(try await errand(configuration, "job list --ended-since 1h --csv --json").code == 64)
            #expect(try await errand(configuration, "errors --csv").output.hasPrefix("kind,queue,fingerprint,"))
            #expect(try await errand(configuration, "health --csv").output.hasPrefix("check,ok,detail,hint\n"))
            try await database.execute("update errand.failed set finished_at = now() - interval '2 hours'")
            #expect(try await errand(configuration, "job list --ended-since 1h").output == "no such job exists\n")
            #expect(try await errand(configuration, "compare --span 10m --back 10m").code == 0)
            #expect(
                try rows(try await errand(configuration, "sizes --json")).contains { $0["table_name"] == "errand.job" })
            let health = try await errand(configuration, "health")
            #expect(health.code == 1 && health.output.contains("start `errand worker`"), "\(health.output)")
        }
    }
}

/// A value of a listing, as text.
private struct Cell: Decodable, Hashable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    let text: String

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        let number = try? value.decode(Int.self)
        let word = number.map(String.init) ?? (try? value.decode(String.self))
        text = try word ?? (try? value.decode(Bool.self)).map(String.init) ?? "\(value.decode(Double.self))"
    }
    init(stringLiteral value: String) { text = value }
    init(integerLiteral value: Int) { text = "\(value)" }
}
