import Foundation
import Tracing

/// The JSON of an `ExportTraceServiceRequest` of OTLP 1: identifiers in hex, 64-bit numbers as texts, enumerations as
/// numbers.
struct ExportRequest: Encodable {
    let resourceSpans: [ResourceSpans]

    struct ResourceSpans: Encodable {
        let resource: Resource
        let scopeSpans: [ScopeSpans]
    }

    struct Resource: Encodable { let attributes: [Attribute] }

    struct ScopeSpans: Encodable {
        let scope: Scope
        let spans: [OTLPSpan]
    }

    struct Scope: Encodable {
        let name: String
        let version: String
    }

    init(_ spans: [FinishedSpan], resource: [(String, String)], version: String) {
        let attributes = resource.map { Attribute(key: $0, value: .string($1)) }
        resourceSpans = [
            ResourceSpans(
                resource: Resource(attributes: attributes),
                scopeSpans: [
                    ScopeSpans(scope: Scope(name: "errand", version: version), spans: spans.map(OTLPSpan.init))
                ])
        ]
    }

    /// The body of a request.
    var body: Data {
        get throws {
            let encoder = JSONEncoder()
            // The same spans give the same bytes.
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return try encoder.encode(self)
        }
    }
}

struct OTLPSpan: Encodable {
    let traceId: String
    let spanId: String
    let parentSpanId: String?
    let name: String
    let kind: Int
    let startTimeUnixNano: String
    let endTimeUnixNano: String
    let attributes: [Attribute]
    let events: [Event]
    let links: [Link]
    let status: Status

    struct Event: Encodable {
        let timeUnixNano: String
        let name: String
        let attributes: [Attribute]
    }

    struct Link: Encodable {
        let traceId: String
        let spanId: String
        let attributes: [Attribute]
    }

    struct Status: Encodable {
        let code: Int
        let message: String?
    }

    init(_ span: FinishedSpan) {
        traceId = span.identity.traceID
        spanId = span.identity.spanID
        parentSpanId = span.parent
        name = span.name
        kind =
            switch span.kind {
            case .internal: 1
            case .server: 2
            case .client: 3
            case .producer: 4
            case .consumer: 5
            }
        startTimeUnixNano = "\(span.start)"
        endTimeUnixNano = "\(max(span.start, span.end))"
        attributes = Attribute.all(of: span.attributes)
        events = span.events.map {
            Event(
                timeUnixNano: "\($0.nanosecondsSinceEpoch)", name: $0.name, attributes: Attribute.all(of: $0.attributes)
            )
        }
        links = span.links.map {
            Link(traceId: $0.to.traceID, spanId: $0.to.spanID, attributes: Attribute.all(of: $0.attributes))
        }
        let code =
            switch span.status?.code {
            case .ok: 1
            case .error: 2
            case nil: 0
            }
        status = Status(code: code, message: span.status?.message.map { String($0.prefix(Attribute.length)) })
    }
}
