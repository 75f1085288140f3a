import ErrandTestKit
import Testing

@Suite("Each flow of avatars with each disturbance") struct AvatarFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.avatar] : [])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    static let avatar = Flow(
        name: "avatar", steps: [.put, .stored],
        before: { "select media.submit_upload('avatars/\($0.anna).png', '\\x01', 'image/png', '\($0.anna)', true)" },
        calls: { "select media.submit_upload('avatars/\($0.anna).png', '\\x02', 'image/png', '\($0.anna)', true)" },
        delete: { "select media.erase_person('\($0.anna)')" },
        effect: { "exists (select from media.upload where owner = '\($0.anna)' and delivered_at is not null)" },
        undoneBy: ["erase sender"])
}
