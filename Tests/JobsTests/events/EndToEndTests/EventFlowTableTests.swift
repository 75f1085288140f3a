import ErrandTestKit
import Testing

@Suite("Each flow of events with each disturbance") struct EventFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.eventPhoto, .reveal, .archive, .code, .purge] : [])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    private static let endsEvent: Set<String> = ["erase sender", "purge"]
    /// Ben hears nothing of the event any more.
    private static let leavesEvent = endsEvent.union(["erase receiver", "leave", "exclude"])

    /// The key of an original below the event's folder.
    private static func eventOriginal(_ cast: Cast) -> String { "events/\(cast["event"])/\(cast.number).png" }

    private static let addPhoto: @Sendable (Cast) -> String = {
        """
        select events.add_photo('\($0["event"])', '\($0.ben)', '\(eventOriginal($0))',
            variants => '[{"name": "thumb", "max_edge": 16, "max_bytes": 40000}]')
        """
    }

    private static let show: @Sendable (Cast) -> String = {
        "select events.edit('\($0["event"])', '\($0.anna)', without_reveal => true)"
    }

    static let eventPhoto = Flow(
        name: "photo of an event", steps: [.read, .put, .stored, .remove], originals: { [eventOriginal($0)] },
        calls: addPhoto,
        delete: { "select events.delete_photo(photo, user_id) from events.photo where event_id = '\($0["event"])'" },
        effect: { "exists (select from events.photos_of('\($0["event"])', '\($0.ben)') where state = 'delivered')" },
        undoneBy: leavesEvent)

    static let reveal = Flow(
        name: "reveal", steps: [.push, .accepted],
        calls: { "select events.edit('\($0["event"])', '\($0.anna)', reveal_at => now())" },
        delete: { "select events.delete('\($0["event"])', '\($0.anna)')" },
        effect: {
            """
            exists (select from events.event where id = '\($0["event"])' and revealed_at is not null)
            and \(told("event_reveal", by: "events.event", to: $0))
            """
        }, undoneBy: leavesEvent)

    static let archive = Flow(
        name: "archive", steps: [.read, .put, .stored], originals: { [eventOriginal($0)] },
        before: { addPhoto($0) + ";" + show($0) },
        calls: { "select events.archive('\($0["event"])', '\($0.ben)')" },
        delete: { "select events.delete_photo(photo, user_id) from events.photo where event_id = '\($0["event"])'" },
        effect: { "exists (select from events.archive where event_id = '\($0["event"])' and made_at is not null)" },
        undoneBy: leavesEvent.union(["reveal moved"]))

    static let code = Flow(
        name: "QR code", steps: [.put, .stored],
        calls: { "select events.code('\($0["event"])', 'https://example.com/\($0.number)')" },
        delete: { "select events.delete('\($0["event"])', '\($0.anna)')" },
        effect: { "exists (select from events.code_status where event_id = '\($0["event"])' and state = 'stored')" },
        undoneBy: endsEvent)

    static let purge = Flow(
        name: "purge of an event", steps: [.remove], originals: { [eventOriginal($0)] },
        before: { addPhoto($0) + ";" + show($0) + ";" + archive.calls($0) },
        calls: { Disturbance.named("purge").calls($0, delete: "") ?? "" },
        delete: { "select events.erase_person('\($0.ben)')" },
        effect: { "not exists (select from events.event where id = '\($0["event"])')" })
}
