import ErrandTestKit
import Testing

@Suite("Each flow of numbers with each disturbance") struct NumberFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.number] : [])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    static let number = Flow(
        name: "number",
        calls: { "select identity.assign('\($0.ben)'), errand.enqueue('number_pool')" },
        delete: { "select identity.erase_person('\($0.ben)')" },
        effect: {
            "identity.number_of('\($0.ben)') is not null and (select free >= pool_target from identity.pool_status)"
        }, undoneBy: ["erase receiver"])
}
