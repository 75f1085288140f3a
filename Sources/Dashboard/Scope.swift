/// Which of several databases a page is about.
///
/// Each cell has its pages at an address of its own, so that a form never acts on another cell than the one that its
/// page showed.
enum Scope: Sendable {
    /// The only database.
    case only
    /// One of several, at `/cells/1` and so on.
    case cell(String, base: String)
    /// All of several, at the root.
    case all

    /// What the addresses of its pages begin with.
    var base: String { if case .cell(_, let base) = self { base } else { "" } }

    var cell: String? { if case .cell(let name, _) = self { name } else { nil } }

    /// The page with addresses below the base. Texts are escaped, so none has these quotes. Addresses in single quotes
    /// stay as they are: they lead out of the cell.
    func placed(_ html: String) -> String {
        guard !base.isEmpty else { return html }
        return ["href", "action", "src"].reduce(html) { $0.replacing("\($1)=\"/", with: "\($1)=\"\(base)/") }
    }

    /// The address below the base. One that begins with it, such as that of a page before the log-in, stays as it is.
    func placed(address: String) -> String {
        address == base || address.hasPrefix(base + "/") ? address : base + address
    }
}
