import CLibpq

/// The parts of a database URL that say why libpq can't use it. None of them is a part of a password.
struct DatabaseURL {
    private let scheme: Substring
    /// What follows the user and the password, up to the `?`.
    private let location: Substring
    private let query: Substring

    /// Nil for a text that is no URL.
    init?(_ text: String) {
        guard let colon = text.firstRange(of: "://") else { return nil }
        scheme = text[..<colon.lowerBound]
        guard scheme.wholeMatch(of: /(jdbc:)?[A-Za-z][A-Za-z0-9+.-]*/) != nil else { return nil }
        let rest = text[colon.upperBound...]
        // As libpq does: the first @ ends the password, unless a / comes before it.
        let end = rest.firstIndex { $0 == "@" || $0 == "/" }
        let behind = end.map { rest[$0] == "@" ? rest[rest.index(after: $0)...] : rest } ?? rest
        location = behind.prefix { $0 != "?" }
        query = behind.dropFirst(location.count + 1)
    }

    /// Whether the host or the database has an @. Then the password has an @ or a / that is not in percent form, and
    /// errors and logs would show the rest of it as the host or the database.
    var hasStrayAt: Bool { isOfLibpq && location.contains("@") }

    /// The scheme, if it is another client's.
    var foreignScheme: Substring? { isOfLibpq ? nil : scheme }

    /// The first parameter that libpq doesn't know; nil if it may be a part of a password.
    var foreignParameter: Substring? {
        guard !query.contains("@") else { return nil }
        let known = Self.keywords
        for parameter in query.split(separator: "&") {
            let name = parameter.prefix { $0 != "=" }
            if known.contains(String(name)) {
                if name.hasSuffix("password") { return nil }
            } else {
                return name.wholeMatch(of: /[A-Za-z_]{1,40}/) == nil ? nil : name
            }
        }
        return nil
    }

    private var isOfLibpq: Bool { ["postgresql", "postgres"].contains(scheme) }

    private static var keywords: Set<String> {
        // Of JDBC, and libpq takes it in a URL too.
        var keywords: Set = ["ssl"]
        guard let options = PQconndefaults() else { return keywords }
        defer { PQconninfoFree(options) }
        var option = options
        while let keyword = option.pointee.keyword {
            keywords.insert(String(cString: keyword))
            option += 1
        }
        return keywords
    }
}
