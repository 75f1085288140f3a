import Foundation

extension Duration {
    /// `250ms`, `20s`, `5m`, `1h`, `7d`; nil for anything else, negative ones too.
    init?(setting text: String) {
        let units: [(String, Duration)] = [
            ("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60)), ("h", .seconds(3600)),
            ("d", .seconds(86_400)),
        ]
        guard let (suffix, unit) = units.first(where: { text.hasSuffix($0.0) }),
            let count = Int(text.dropLast(suffix.count)), count >= 0, count < 1_000_000
        else { return nil }
        self = unit * count
    }

    /// Likewise; nil also for less than `minimum`.
    init?(setting text: String, atLeast minimum: Duration) {
        self.init(setting: text)
        if self < minimum { return nil }
    }
}

/// `512MB`, `2GB`, of 1024 and not 1000 each; nil for anything else, and for 0.
func parseBytes(_ text: String) -> Int? {
    let units = [("KB", 10), ("MB", 20), ("GB", 30)]
    guard let (suffix, bits) = units.first(where: { text.hasSuffix($0.0) }),
        let count = Int(text.dropLast(suffix.count)),
        (1..<1_000_000).contains(count)
    else { return nil }
    return count << bits
}

/// `default=10,images=2`; nil for anything else.
func parseQueues(_ text: String) -> [String: Int]? {
    var queues: [String: Int] = [:]
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
        let halves = part.split(separator: "=", omittingEmptySubsequences: false)
        guard halves.count == 2, let slots = Int(halves[1].trimmingCharacters(in: .whitespaces)), slots > 0,
            slots <= 10_000
        else { return nil }
        let name = halves[0].trimmingCharacters(in: .whitespaces)
        guard !name.isEmpty, queues[name] == nil else { return nil }
        queues[name] = slots
    }
    return queues
}

extension Collection where Element == String {
    /// The most similar name; nil if none is similar.
    func closest(to word: String) -> String? {
        let distances = map { ($0, $0.lowercased().distance(to: word.lowercased())) }
        guard let (name, distance) = distances.min(by: { $0.1 < $1.1 }), distance <= Swift.max(2, word.count / 4) else {
            return nil
        }
        return name
    }
}

extension String {
    /// How many letters have to be changed, added or left out to get from one to the other (Levenshtein).
    func distance(to other: String) -> Int {
        let other = Array(other)
        var row = Array(0...other.count)
        for (index, letter) in enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for column in other.indices {
                let cost = diagonal + (letter == other[column] ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = Swift.min(cost, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[other.count]
    }

    /// One line without control characters, for terminals and logs.
    var printable: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case _ where scalar == "\t": text += " "
            case .control, .lineSeparator, .paragraphSeparator, .format:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// A JSON text with `\u` escapes in place of what a terminal would obey: controls, also of the writing direction.
    ///
    /// The document means the same. It is in one line: outside of its strings it has no such character.
    var controlsEscaped: String { unicodeScalars.map(\.escapedControl).joined() }
}

extension Unicode.Scalar {
    /// As JSON may write it, where encoders leave it as it is.
    fileprivate var escapedControl: String {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator:
            String(self).utf16.map { String(format: "\\u%04x", $0) }.joined()
        default: String(self)
        }
    }
}
