import Logging
import Postgres

extension Dashboard {
    /// Calls a function as errand_ops for the caller, and logs that without its arguments.
    ///
    /// - Returns: the first column of its first row.
    @discardableResult
    func act(_ visit: Visit, _ call: String, _ arguments: [any PostgresEncodable]) async throws -> String? {
        try await act(visit, [Statement(call, arguments)])
    }

    /// The same for several calls in one transaction: the result is that of the last one.
    @discardableResult
    func act(_ visit: Visit, _ calls: [Statement]) async throws -> String? {
        guard let person = visit.caller.person else { throw Problem.readOnly }
        let result = try await store.act(as: visit.caller, request: visit.requestID, calls)
        logger.info(
            "acted for an operator",
            metadata: [
                "person": "\(person)", "request": "\(visit.requestID)",
                "path": "\(visit.address.prefix { $0 != "?" })", "action": "\(visit.form["action"] ?? "-")",
            ])
        return result
    }

    /// A time of a form: `2026-12-24T18:00` in UTC, as browsers send it, or `10 min` from now.
    static func time(_ text: String?) -> String? {
        guard let text else { return nil }
        if text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?/) != nil { return text + "+00" }
        return text
    }
}
