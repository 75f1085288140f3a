/// The databases of a setting: one, or several URLs with spaces or line breaks between.
///
/// A comma separates hosts of one database, so it can't separate databases.
struct DatabaseURLs {
    let all: [String]

    /// Nil for several URLs that aren't separated as expected. Together they would be one with an odd database name,
    /// which errors show, with the password of the second.
    init?(_ text: String) {
        guard Self.schemes(in: text) > 1 else {
            all = [text]
            return
        }
        let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
        guard words.allSatisfy(Self.isURL) else { return nil }
        all = words
    }

    /// Whether the text is one URL, as far as its ends tell.
    static func isURL(_ text: String) -> Bool {
        schemes(in: text) == 1 && text.hasPrefix("postgres") && !text.hasSuffix(",")
            && !text.contains(where: \.isWhitespace)
    }

    private static func schemes(in text: String) -> Int { text.matches(of: /postgres(?:ql)?:\/\//).count }
}
