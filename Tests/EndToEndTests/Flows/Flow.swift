/// A flow of an app: a call, the jobs that follow, and their effect.
struct Flow: Sendable, CustomStringConvertible {
    let name: String
    /// The steps at which its worker can be held.
    var steps: [Step] = []
    /// Keys of originals that a phone has put into the store before.
    var originals: @Sendable (Cast) -> [String] = { _ in [] }
    /// Calls whose effects are complete before the flow begins.
    var before: @Sendable (Cast) -> String? = { _ in nil }
    /// The calls of the flow, in one transaction.
    let calls: @Sendable (Cast) -> String
    /// The calls that take its effect back.
    let delete: @Sendable (Cast) -> String
    /// A condition: its effect is there.
    let effect: @Sendable (Cast) -> String
    /// The names of disturbances after which its effect may be missing, beside ``Disturbance/delete``.
    var undoneBy: Set<String> = []

    /// The services that its jobs may wait for.
    var services: [Disturbance] {
        (steps.contains { [.read, .put, .remove].contains($0) } ? [.storeDown] : [])
            + (steps.contains(.push) ? [.pushesDown] : [])
    }

    var description: String { name }
}

extension Flow {
    /// The bytes of a photo in SQL.
    static let image = "'\\x\(smallImage.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())'"
}
