import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Jobs whose effects have a time") struct PriorityTests {
    @Test("M5, M8, P3, Q4, E1: with other jobs waiting, removals, expiries, daily quotes and purges come first")
    func first() async throws {
        try await withService { service in
            let database = service.database
            // Once a job has run, the kinds have their priorities.
            try await database.execute("select errand.enqueue('noop')")
            #expect(try await database.becomes("not exists (select from errand.job)"))
            // Two run at a time, for half a minute in all.
            try await database.execute(
                """
                select errand.enqueue_many(jsonb_agg('{"kind": "noop", "payload": {"sleep_ms": 25}}'::jsonb))
                from generate_series(1, 2500)
                """)
            let kinds = ["daily_quote", "event_purge", "invite_expiry", "object_removal", "removal_sweep"]
            for kind in kinds { try await database.execute(Statement("select errand.enqueue($1)", [kind])) }
            #expect(
                try await database.becomes("not exists (select from errand.job where kind <> 'noop')"))
            #expect(
                try await database.lines(
                    "select distinct kind from errand.history where state = 'succeeded' order by kind")
                    == (kinds + ["noop"]).sorted())
            #expect(
                try await database.number(
                    "select count(*) from errand.job where kind = 'noop' and state = 'available'") > 1_000)
        }
    }
}
