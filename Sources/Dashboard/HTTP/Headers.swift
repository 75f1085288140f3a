import HTTPTypes

extension HTTPFields {
    /// The value of a header that is there once; nil if it isn't, or if it is there several times.
    func only(_ name: String) -> String? {
        guard let name = HTTPField.Name(name) else { return nil }
        let values = self[values: name]
        return values.count == 1 ? values[0] : nil
    }

    /// The last element of a list: what the nearest proxy has added.
    func last(_ name: String) -> String? {
        guard let name = HTTPField.Name(name), let last = self[values: name].last else { return nil }
        return last.split(separator: ",").last.map { $0.drop { $0 == " " } }.map { String($0) }
    }

    /// The headers of every response of the page.
    ///
    /// Scripts and styles come from files of this server, and nothing else does. Nobody may frame the page, cache it,
    /// or learn its address.
    static func ofPage(type: String, request: String) -> HTTPFields {
        var fields: HTTPFields = [
            .contentType: type,
            .cacheControl: "no-store",
            .contentSecurityPolicy:
                "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
                + "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
            .xContentTypeOptions: "nosniff",
        ]
        for (name, value) in [
            ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"),
            ("Cross-Origin-Opener-Policy", "same-origin"), ("Cross-Origin-Resource-Policy", "same-origin"),
            ("X-Request-Id", request),
        ] {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }
}
