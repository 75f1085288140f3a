import Testing

@Suite("Isolation levels of activities") struct ActivityIsolationTests {
    @Test(
        "no limit is broken by a transaction with an older snapshot: it is told, or fails with 40001",
        arguments: Race.levels)
    func race(level: String) async throws { try await Race.run(Self.races, at: level, reading: "activity.activity") }

    private static let races = [
        Race(
            "an update after an end",
            given: ["select activity.start('ben', 'Anna', 'Hello', token => repeat('ab', 32))"],
            "select activity.end_now(id) from activity.activity",
            "select reason from activity.activity, activity.update(id, 'Late')", "ending",
            holds: "(select message from activity.activity) = 'Hello'")
    ]
}
