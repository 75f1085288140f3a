import AppTestKit
import ErrandTestKit
import Testing

@Suite("Each flow of couples with each disturbance") struct MomentFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.moment, .replacement, .withdrawal, .pair, .separation, .erasure] : [.moment])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    private static func pairing(_ cast: Cast) -> String {
        "select pairing.redeem_invite(code, '\(cast.ben)') from pairing.create_invite('\(cast.anna)')"
    }

    static let moment = Flow(
        name: "moment", steps: [.read, .put, .stored, .push, .accepted, .remove], originals: { [$0.original] },
        calls: { "select moments.send('\($0.anna)', media.submit('\($0.original)', '\($0.anna)'))" },
        delete: { "select moments.withdraw('\($0.anna)', id) from moments.moment where sender = '\($0.anna)'" },
        effect: { told("new_moment", by: "moments.current('\($0.ben)')", to: $0) }, undoneBy: endsPair)

    static let replacement = Flow(
        name: "moment in place of another", steps: [.put, .stored, .push, .accepted, .remove],
        originals: { [$0.original] },
        before: { "select moments.send('\($0.anna)', media.submit('\($0.original)', '\($0.anna)'))" },
        calls: {
            """
            select media.submit_upload('\($0.original)2', \(image), 'image/png', '\($0.anna)');
            select moments.send('\($0.anna)', media.submit('\($0.original)2', '\($0.anna)'))
            """
        },
        delete: { "select media.remove(id) from moments.moment where sender = '\($0.anna)'" },
        effect: {
            """
            (select count(*) from media.photo where owner = '\($0.anna)') = 1
            and exists (select from media.photo where source_key = '\($0.original)2')
            and \(told("new_moment", by: "moments.current('\($0.ben)')", to: $0, times: 2))
            """
        }, undoneBy: endsPair)

    static let withdrawal = Flow(
        name: "moment taken back", steps: [.push, .accepted, .remove], originals: { [$0.original] },
        before: { moment.calls($0) },
        calls: { moment.delete($0) }, delete: { "select pairing.disconnect('\($0.ben)')" },
        effect: {
            """
            not exists (select from moments.current('\($0.ben)'))
            and \(told("moment_withdrawn", by: "pairing.partner_of('\($0.ben)')", to: $0))
            """
        }, undoneBy: endsPair)

    static let pair = Flow(
        name: "pair", steps: [.push, .accepted], before: { "select pairing.disconnect('\($0.anna)')" },
        calls: pairing,
        delete: { "select pairing.disconnect('\($0.ben)')" },
        effect: { told("paired", by: "pairing.partner_of('\($0.ben)')", to: $0, times: 2) }, undoneBy: endsPair)

    static let separation = Flow(
        name: "end of a pair", steps: [.push, .accepted, .remove], originals: { [$0.original] },
        before: { moment.calls($0) },
        calls: { "select pairing.disconnect('\($0.anna)')" }, delete: { "select people.erase('\($0.anna)')" },
        effect: {
            """
            not exists (select from media.photo where owner = '\($0.anna)')
            and \(told("pair_ended", by: "(select) as always", to: $0))
            """
        }, undoneBy: ["erase receiver"])

    static let erasure = Flow(
        name: "erasure", steps: [.push, .accepted, .remove],
        before: { cast in AppCase.all(.own).flatMap { $0.statements(with: cast.values) }.joined(separator: ";") },
        calls: { "select people.erase('\($0.anna)')" },
        delete: { "select people.erase('\($0.ben)')" },
        effect: { "people.export('\($0.anna)') = '{}' and \(told("pair_ended", by: "(select) as always", to: $0))" },
        undoneBy: ["disconnect", "erase receiver", "rename"])
}
