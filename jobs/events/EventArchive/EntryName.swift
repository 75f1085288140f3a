/// The name of a photo in an archive: `0001 Anna.jpg`.
///
/// The number makes it unique, and sorts it. Of a person's name it has letters, digits and spaces only: no slash, no
/// dot, no control character and nothing that changes the direction of writing.
struct EntryName {
    let text: String

    /// Most characters of a person's name.
    private static let limit = 40

    /// - Parameters:
    ///   - number: the photo's, from 1 on.
    ///   - count: the number of all photos.
    ///   - person: the name of its owner in the event, as that person has entered it.
    ///   - key: the photo's key, which has the extension.
    init(number: Int, of count: Int, person: String?, key: String) {
        let digits = String(number)
        let width = max(4, String(count).count)
        let padded = String(repeating: "0", count: max(0, width - digits.count)) + digits
        text = ([padded] + Self.words(person ?? "")).joined(separator: " ") + "." + Self.ending(key)
    }

    private static func words(_ name: String) -> [String] {
        var plain = ""
        for scalar in name.unicodeScalars {
            let properties = scalar.properties
            switch properties.generalCategory {
            case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
                .nonspacingMark, .spacingMark:
                plain.unicodeScalars.append(scalar)
            default: plain.unicodeScalars.append(" ")
            }
        }
        var words = plain.split(separator: " ").map(String.init)
        // A character may have any number of marks, and some file systems take names of 255 bytes at most.
        while words.joined(separator: " ").count > limit || words.joined(separator: " ").utf8.count > 4 * limit {
            let last = String(words.removeLast().dropLast())
            if !last.isEmpty { words.append(last) }
        }
        return words
    }

    private static func ending(_ key: String) -> String {
        let ending = key.split(separator: "/").last?.split(separator: ".").dropFirst().last ?? ""
        let isPlain = (1...5).contains(ending.count) && ending.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        return isPlain ? ending.lowercased() : "jpg"
    }
}
