import Foundation

/// What a service's header `Retry-After` asks for.
package enum RetryAfter {
    /// A longer delay is a mistake of the service's clock or ours.
    package static let longest: Duration = .seconds(24 * 3600)

    /// A delay in seconds, or until a date as HTTP writes it (RFC 9110, 10.2.3), of 0 to 24 h. Nil for anything else.
    package static func delay(_ text: String, at now: Date) -> Duration? {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let seconds = Int(text) { return min(.seconds(max(0, seconds)), longest) }
        // A number beyond an Int.
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return longest }
        return date(text).map { date in
            // A Date of these years is exact to 0.1 us: unrounded, a delay of 30 s can come out as 29.9999999.
            let milliseconds = (max(0, date.timeIntervalSince(now)) * 1000).rounded()
            return min(.milliseconds(milliseconds), longest)
        }
    }

    /// The form of today, and the two that recipients have to take too.
    private static let formats = [
        "EEE, dd MMM yyyy HH:mm:ss 'GMT'", "EEEE, dd-MMM-yy HH:mm:ss 'GMT'", "EEE MMM d HH:mm:ss yyyy",
    ]

    private static func date(_ text: String) -> Date? {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        return formats.lazy.compactMap { format in
            formatter.dateFormat = format
            return formatter.date(from: text)
        }.first
    }
}
