import ErrandTestKit
import Testing

@Suite("Each flow of invites with each disturbance") struct InviteFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.invites] : [])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    static let endsPair: Set<String> = ["disconnect", "erase sender", "erase receiver"]

    static let invites = Flow(
        name: "expiry of an invite",
        calls: {
            """
            select pairing.create_invite('\($0.carl)');
            update pairing.invite
            set created_at = created_at - interval '25 hours', expires_at = expires_at - interval '25 hours'
            where inviter = '\($0.carl)';
            select errand.enqueue('invite_expiry')
            """
        },
        delete: { "select pairing.erase_person('\($0.carl)')" },
        effect: { "exists (select from pairing.invite where inviter = '\($0.carl)' and state = 'expired')" })
}
