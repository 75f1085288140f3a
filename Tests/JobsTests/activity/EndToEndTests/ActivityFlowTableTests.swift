import ErrandTestKit
import Testing

@Suite("Each flow of lock screens with each disturbance") struct ActivityFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.activityStart, .activityUpdate, .activityEnd] : [])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    private static func start(_ cast: Cast, _ token: String) -> String {
        "select activity.start('\(cast.ben)', 'Anna', 'Hi', \(token), who => '\(cast.anna)')"
    }

    private static func live(_ cast: Cast, _ condition: String) -> String {
        "exists (select from activity.activity where user_id = '\(cast.ben)' and \(condition))"
    }

    private static let end: @Sendable (Cast) -> String = {
        "select activity.end_now(id, message => 'Bye') from activity.activity where user_id = '\($0.ben)'"
    }

    private static let isErased: Set<String> = ["erase sender", "erase receiver"]

    static let activityStart = Flow(
        name: "activity: start", steps: [.push, .accepted],
        calls: { start($0, "start_token => '\($0.startToken)'") }, delete: end,
        effect: { live($0, "start_accepted_at is not null") }, undoneBy: isErased)

    static let activityUpdate = Flow(
        name: "activity: update", steps: [.push, .accepted],
        before: { start($0, "token => '\($0.token)'") },
        calls: {
            "select activity.update(id, message => 'Oh') from activity.activity where user_id = '\($0.ben)'"
        },
        delete: end, effect: { live($0, "sent_version = 2") }, undoneBy: isErased)

    static let activityEnd = Flow(
        name: "activity: end", steps: [.push, .accepted],
        before: { start($0, "token => '\($0.token)'") }, calls: end,
        delete: { "select activity.erase_person('\($0.ben)')" },
        effect: { live($0, "state = 'ended' and end_reason = 'ended by a push'") }, undoneBy: isErased)
}
