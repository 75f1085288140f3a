/// Holds ended spans until they are exported, up to a number. Further spans are dropped.
struct SpanQueue {
    private let capacity: Int
    private var spans: [FinishedSpan] = []
    /// How many of the first ones are being sent. They stay until the collector has taken or refused them.
    private var sending = 0

    init(capacity: Int) { self.capacity = capacity }

    var count: Int { spans.count }

    /// Returns whether there was room.
    mutating func add(_ span: FinishedSpan) -> Bool {
        guard spans.count < capacity else { return false }
        spans.append(span)
        return true
    }

    /// The first spans, up to `limit`, which are sent now.
    mutating func begin(_ limit: Int) -> [FinishedSpan] {
        sending = min(limit, spans.count)
        return Array(spans[..<sending])
    }

    /// Removes the spans that were sent.
    mutating func complete() {
        spans.removeFirst(sending)
        sending = 0
    }
}
