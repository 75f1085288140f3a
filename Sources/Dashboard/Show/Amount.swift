import Foundation

/// Numbers and durations as people read them.
enum Amount {
    /// Thousands apart by a narrow space: `1 234 567`.
    static func count(_ number: Int) -> String {
        let digits = Array(String(number.magnitude))
        let groups = digits.indices.map { index in
            let isFirstOfGroup = index > 0 && (digits.count - index).isMultiple(of: 3)
            return (isFirstOfGroup ? "\u{202F}" : "") + String(digits[index])
        }
        return (number < 0 ? "−" : "") + groups.joined()
    }

    /// A number that was counted up to `most`: `10 000 or more`.
    static func count(_ number: Int, most: Int) -> String {
        count(number) + (number < most ? "" : " or more")
    }

    /// A rate: whole from 10 on, below with one digit; `0` is `0`.
    static func rate(_ number: Double) -> String {
        switch number {
        case 0: "0"
        case ..<0.1: "<0.1"
        case ..<10: String(format: "%.1f", number)
        default: count(Int(number.rounded()))
        }
    }

    /// In one unit: `850 ms`, `12 s`, `5 min`, `3 h`, `4 d`.
    static func duration(_ seconds: Double) -> String {
        switch seconds {
        case ..<1: String(format: "%.0f ms", max(0, seconds) * 1000)
        case ..<120: String(format: "%.0f s", seconds.rounded(.down))
        case ..<7200: String(format: "%.0f min", (seconds / 60).rounded(.down))
        case ..<172_800: String(format: "%.0f h", (seconds / 3600).rounded(.down))
        default: "\(count(Int(seconds / 86_400))) d"
        }
    }
}
