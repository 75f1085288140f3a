import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Jobs whose effects have a time") struct PriorityTests {
    @Test("M5, M8, P3, Q4, E1: with other jobs waiting, jobs whose effects have a time come first")
    func first() async throws {
        try await withService { service in
            let database = service.database
            // Once a job has run, the kinds have their priorities.
            try await database.execute("select errand.enqueue('noop')")
            #expect(try await database.becomes("not exists (select from errand.job)"))
            // In one transaction: no claim sees the first of them alone.
            let kinds = AppCase.statements(.first)
            #expect(!kinds.isEmpty)
            try await database.execute(
                Statement(
                    """
                    select errand.enqueue_many(jsonb_agg(job))
                    from (
                        select '{"kind": "noop", "payload": {"sleep_ms": 25}}'::jsonb as job
                        from generate_series(1, 2500)
                        union all
                        select jsonb_build_object('kind', kind) from unnest($1::text[]) as kind
                    ) as given
                    """, [kinds]))
            #expect(
                try await database.becomes("not exists (select from errand.job where kind <> 'noop')"))
            #expect(
                try await database.lines(
                    "select distinct kind from errand.history where state = 'succeeded' order by kind")
                    == (kinds + ["noop"]).sorted())
            // Those that the worker had prefetched run first.
            let before = """
                select count(*)
                from errand.jobs
                where kind = 'noop' and started_at < (select max(started_at) from errand.history where kind <> 'noop')
                """
            #expect(try await database.number(before) < 500)
        }
    }
}
