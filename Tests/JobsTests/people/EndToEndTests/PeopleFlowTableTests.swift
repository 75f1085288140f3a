import ErrandTestKit
import Testing

@Suite("Each flow of persons with each disturbance") struct PeopleFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.rename] : [])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    static let rename = Flow(
        name: "changed name", steps: [.push, .accepted], calls: { "select people.rename('\($0.anna)', 'Annie')" },
        delete: { "select people.erase('\($0.anna)')" },
        effect: {
            """
            people.name_of('\($0.anna)') is not null
            and \(told("partner_renamed", by: "pairing.partner_of('\($0.ben)')", to: $0))
            """
        }, undoneBy: endsPair)
}
