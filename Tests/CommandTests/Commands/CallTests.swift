import ErrandTestKit
import Postgres
import Testing

@testable import Command

@Suite("errand call") struct CallTests {
    @Test("any function is called by name, with its rights and defaults; a typo and a wrong argument are named")
    func calls() async throws {
        try await withTestDatabase { database, configuration in
            func call(_ arguments: String..., role: String = "errand_ops") async throws -> Program {
                try await Program.run(
                    ["call"] + arguments, settings: reaching(configuration, options: "-c role=\(role)"))
            }
            let enqueued = try await call("enqueue", "kind=noop", #"payload={"a": "it's=1"}"#)
            #expect(enqueued.output.hasPrefix(#"{"#) && enqueued.output.contains(#""job_id": 1"#), "\(enqueued.errors)")
            let payload = try await database.query("select payload ->> 'a' from errand.job").scalar(String.self)
            #expect(payload == "it's=1")
            let cancelled = try await call("cancel", "ids={1,2}", "reason=it's over; drop table errand.job")
            #expect(
                cancelled.output == """
                    {"now": "cancelled", "was": "available", "job_id": 1}
                    {"now": null, "was": null, "job_id": 2}

                    """)
            #expect(try await call("errand.schema_version").output.allSatisfy { $0.isNumber || $0 == "\n" })
            #expect(try await call("put_schedule", "name=daily", "cron=@daily", "kind=noop").output == "created\n")
            #expect(try await call("drop_schedule", "name=daily").output == "done\n")
            #expect(try await call().output.contains("errand.help('retry')"))
            #expect(try await call("help", "topic=retry").output.contains(#""call": "errand.retry("#))

            let typo = try await call("cancle", "ids={1}")
            #expect(typo.code == 1)
            #expect(
                typo.error == "errand: there is no function 'cancle' that this user may call; did you mean cancel?")
            let wrong = try await call("cancel", "id=1")
            #expect(wrong.code == 1)
            #expect(wrong.error == "errand: expected errand.cancel(ids bigint[], reason text), got id=1")
            let refused = try await call("cancel", "ids={1}", "reason=x", role: "errand_enqueuer")
            #expect(
                refused.code == 1 && refused.error.hasPrefix("errand: there is no function 'cancel' that this user"))
            #expect(try await call("cancel", "1").code == 64)
            let none = try await call("cancel", "ids={1}", "reason=null")
            #expect(none.code == 1 && none.error.contains("reason: expected"))
        }
    }
}
