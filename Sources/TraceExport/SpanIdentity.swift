import Tracing

/// The trace and the span that a context belongs to, as W3C Trace Context has them.
struct SpanIdentity: Sendable, Hashable {
    /// 32 hex digits.
    let traceID: String
    /// 16 hex digits.
    let spanID: String
    /// Whether the trace is recorded. Spans of a trace that its origin doesn't record aren't exported.
    let isSampled: Bool

    /// A new span: in the trace of `parent`, or else in a trace of its own.
    init(childOf parent: SpanIdentity?) {
        traceID = parent?.traceID ?? Self.digits() + Self.digits()
        spanID = Self.digits()
        isSampled = parent?.isSampled ?? true
    }

    /// Nil unless the text is `VERSION-TRACE-SPAN-FLAGS` with identifiers that aren't zero.
    init?(traceparent text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 4, parts[..<4].map(\.utf8.count) == [2, 32, 16, 2], parts[..<4].allSatisfy(Self.isHex),
            parts[0] != "ff", parts[0] != "00" || parts.count == 4,
            parts[1...2].allSatisfy({ $0.contains { $0 != "0" } }),
            let flags = UInt8(parts[3], radix: 16)
        else { return nil }
        traceID = String(parts[1])
        spanID = String(parts[2])
        isSampled = flags & 1 == 1
    }

    var traceparent: String { "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")" }

    private static func isHex(_ text: Substring) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// 16 hex digits that aren't all zero.
    private static func digits() -> String {
        let text = String(UInt64.random(in: 1 ... .max), radix: 16)
        return String(repeating: "0", count: 16 - text.utf8.count) + text
    }
}

extension InstrumentationContext {
    private enum Key: InstrumentationContextKey {
        typealias Value = SpanIdentity
        static let nameOverride: String? = "span"
    }

    var span: SpanIdentity? {
        get { self[Key.self] }
        set { self[Key.self] = newValue }
    }
}
