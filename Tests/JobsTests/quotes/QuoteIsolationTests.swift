import Testing

@Suite("Isolation levels of quotes") struct QuoteIsolationTests {
    @Test(
        "no limit is broken by a transaction with an older snapshot: it is told, or fails with 40001",
        arguments: Race.levels)
    func race(level: String) async throws { try await Race.run(Self.races, at: level, reading: "quotes.quote") }

    private static let races = [
        Race(
            "a daily push that is moved right after a push",
            given: [
                "select quotes.set_subscription('anna', '08:00', 'UTC', '2026-11-24 00:00+00')",
                "update quotes.subscription set next_at = now(), next_day = (now() at time zone 'UTC')::date",
            ],
            "select pushed from quotes.send_due_v1()",
            "select (quotes.subscribe('anna', '23:59:59', 'UTC') at time zone 'UTC')::date - last_day || ' day'"
                + " from quotes.subscription", "1 day",
            holds: "(select next_day > last_day from quotes.subscription)"),
        Race(
            "the last two quotes",
            given: [
                """
                update quotes.quote set retired_at = now()
                where id not in (select id from quotes.quote order by id limit 2)
                """, "select quotes.rotate_v1()",
            ],
            retire("min"), retire("max"), "ER409",
            holds: "(select count(*) from quotes.quote where retired_at is null) = 1"),
    ]

    private static func retire(_ which: String) -> String {
        "select quotes.retire(\(which)(id), 'a test')::text from quotes.quote where retired_at is null"
    }
}
