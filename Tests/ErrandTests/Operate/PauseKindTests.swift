import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("The pause of a kind") struct PauseKindTests {
    private static let kinds = """
        [{"name": "noop", "queue": "default", "max_attempts": 3, "priority": 2},
         {"name": "mail", "queue": "default", "max_attempts": 3, "priority": 2}]
        """

    @Test("its jobs park and those of others run; after resume_kind they come back", arguments: [3, 200])
    func parks(jobs: Int) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: jobs))
            try await database.execute("select errand.enqueue('mail')")
            let pause = "select errand.pause_kind('noop', 'the text is wrong')"
            #expect(try await database.refusal(of: pause, as: "errand_ops") == nil)
            let reason = "select code, hint from errand.explain(1)"
            #expect(try await database.text(reason) == "kind_paused|select errand.resume_kind('noop')")
            var claimed: [ClaimedJob] = []
            for _ in 1...3 { claimed += try await worker.claim(10, kinds: ["noop", "mail"]) }
            #expect(claimed.map(\.kind) == ["mail"])
            let parked = "from errand.job where state = 'parked' and parked_for = 'circuit:kind:noop'"
            #expect(try await database.count(parked) == jobs)
            #expect(try await database.text(reason) == "kind_paused|select errand.resume_kind('noop')")
            try await database.execute("select errand.resume_kind('noop', reason => 'it is right')")
            try await database.execute("select errand.resume_kind('noop')")
            // As if it was long ago, so that many are released at once.
            try await database.execute(
                "update errand.circuit set closed_at = now() - interval '1 hour', released_at = null")
            try await database.execute("select errand_internal.release_parked()")
            #expect(try await database.count(parked) == 0)
            #expect(try await worker.claim(jobs, kinds: ["noop", "mail"]).count == jobs)
            let audit = "select action, reason, target from errand.audit order by id"
            #expect(
                try await database.text(audit) == """
                    pause_kind|the text is wrong|{"kind": "noop"}
                    resume_kind|it is right|{"kind": "noop"}
                    """)
        }
    }

    @Test("a circuit with nearly the name of a pause parks no job of that kind")
    func isNoCircuit() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(Noop())
            try await database.execute("select errand.circuit_open('kind.noop', 'a name that somebody chose')")
            let pause = "select errand.circuit_open('kind:noop', 'no name for a circuit')"
            #expect(try await database.refusal(of: pause, as: "errand_ops") == "ER422")
            #expect(try await worker.claim(1).count == 1)
        }
    }

    @Test("it ends at its time without a probe, and a wrong name is rejected with the right one")
    func ends() async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database, kinds: Self.kinds)
            try await Queue(database: database).enqueue(all: [Noop](repeating: Noop(), count: 3))
            try await database.execute("select errand.pause_kind('noop', 'x', until => now() + interval '1 hour')")
            #expect(try await worker.claim(3).isEmpty)
            try await database.execute("select errand_internal.release_parked()")
            #expect(try await database.count("from errand.job where state = 'parked'") == 3)
            try await database.execute("update errand.circuit set until = now()")
            try await database.execute("select errand_internal.release_parked()")
            try await database.execute("update errand.circuit set closed_at = now() - interval '1 hour'")
            try await database.execute("select errand_internal.release_parked()")
            #expect(try await worker.claim(3).count == 3)
            #expect(try await database.count("from errand.circuit where opened_at is not null") == 0)
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.pause_kind('nop', 'x')")
            }
            #expect(error?.sqlState == "ER404")
            #expect(error?.hint?.hasPrefix("Is it noop") == true)
            #expect(try await database.refusal(of: "select errand.pause_kind('nop', 'x', force => true)") == nil)
            for call in ["'noop', ' '", "'No kind', 'x'", "'noop', 'x', until => now()"] {
                #expect(try await database.refusal(of: "select errand.pause_kind(\(call))") == "ER422", "\(call)")
            }
        }
    }
}
