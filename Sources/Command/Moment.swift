import ArgumentParser
import Foundation
import Postgres

/// A time argument: a date and time with zone, or a time from now such as `10m`.
enum Moment: Sendable {
    case at(Timestamp)
    case after(Duration)

    /// - Throws: `ValidationError` that says what was expected.
    init(argument text: String) throws {
        if let delay = Duration(setting: text) {
            self = .after(delay)
        } else if let time = Self.time(text) {
            self = .at(time)
        } else {
            throw Self.unreadable(text, or: "10m or 24h from now")
        }
    }

    /// A time with its zone: `2026-12-24T18:00:00Z`, `2026-12-24T18:00:00+01:00`; nil for anything else.
    fileprivate static func time(_ text: String) -> Timestamp? {
        guard text.firstMatch(of: /T\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/) != nil else { return nil }
        return (try? Date(text, strategy: .iso8601)).map(Timestamp.init)
    }

    fileprivate static func unreadable(_ text: String, or other: String) -> ValidationError {
        let isZoneless = text.firstMatch(of: /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?$/) != nil
        return ValidationError(
            "expected a time with its zone, such as 2026-12-24T18:00:00Z or 2026-12-24T18:00:00+01:00, or \(other), got "
                + "'\(text.prefix(100).description.printable)'\(isZoneless ? ", which has no zone" : "")")
    }

    /// Its two statement parameters: `coalesce($1, now() + $2 * interval '1 microsecond')`, by the server's clock.
    static func parameters(_ moment: Moment?) -> [any PostgresEncodable] {
        switch moment {
        case nil: [Timestamp?.none, Int64?.none]
        case .at(let time): [Optional(time), Int64?.none]
        case .after(let delay): [Timestamp?.none, Optional(delay.wholeMicroseconds)]
        }
    }
}

/// A time argument that lies in the past: a date and time with zone, or a time before now such as `2h`.
struct Since: Sendable {
    private let moment: Moment

    /// - Throws: `ValidationError` that says what was expected.
    init(argument text: String) throws {
        if let past = Duration(setting: text) {
            moment = .after(.zero - past)
        } else if let time = Moment.time(text) {
            moment = .at(time)
        } else {
            throw Moment.unreadable(text, or: "10m or 24h before now")
        }
    }

    /// As ``Moment/parameters(_:)``.
    static func parameters(_ since: Since?) -> [any PostgresEncodable] { Moment.parameters(since?.moment) }
}

/// A length of time as an argument: `90s`, `10m`, `2h`, `7d`.
struct Span: Sendable {
    /// As it was given.
    let text: String
    let microseconds: Int64

    /// - Throws: `ValidationError` that says what was expected.
    init(argument text: String) throws {
        guard let duration = Duration(setting: text), duration > .zero else {
            throw ValidationError(
                "expected a length of time, such as 90s, 10m, 2h or 7d, got '\(text.prefix(100).description.printable)'"
            )
        }
        (self.text, microseconds) = (text, duration.wholeMicroseconds)
    }
}

/// A time for people: whole seconds, in UTC. What is no time of the calendar (infinity) stays as it is.
func inSeconds(_ time: String) -> String { time.hasSuffix("infinity") ? time : time.prefix(19) + "Z" }

/// How long, for people: in one unit, `12s`, `5m`, `3h`, `4d`.
func age(_ seconds: String) -> String {
    switch Double(seconds) ?? 0 {
    case let seconds where seconds < 120: String(format: "%.0fs", max(0, seconds))
    case let seconds where seconds < 7200: String(format: "%.0fm", seconds / 60)
    case let seconds where seconds < 172_800: String(format: "%.0fh", seconds / 3600)
    case let seconds: String(format: "%.0fd", seconds / 86_400)
    }
}
