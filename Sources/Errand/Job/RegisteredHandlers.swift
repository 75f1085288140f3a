import Postgres
import Synchronization

/// The kinds whose handlers are registered in the database, by `errand.put_handler` and `errand.put_http_handler`. They
/// come before those of the program.
package final class RegisteredHandlers: Sendable {
    /// Nil if this program runs no SQL functions.
    private let functions: FunctionHandlers?
    /// Nil if it calls no endpoints.
    private let endpoints: EndpointHandlers?
    private let found = Mutex<[JobKind: Handlers.Entry]>([:])

    package init(functions: FunctionHandlers? = nil, endpoints: EndpointHandlers? = nil) {
        self.functions = functions
        self.endpoints = endpoints
    }

    /// The handlers by kind.
    var entries: [JobKind: Handlers.Entry] { found.withLock(\.self) }

    /// Has these kinds run from now on.
    ///
    /// - Parameters:
    ///   - timeouts: the kinds with SQL functions, each with the longest that a call may take, in milliseconds.
    ///   - endpoints: the kinds that endpoints handle.
    ///   - callbackKey: what signs callback tokens; there is one if there are endpoints.
    func set(timeouts: [String: Int64], endpoints handling: [String: Endpoint], callbackKey: Bytes?) {
        var entries: [JobKind: Handlers.Entry] = [:]
        if let functions {
            for (kind, timeout) in timeouts { entries[JobKind(rawValue: kind)] = functions.entry(timeout: timeout) }
        }
        if let endpoints, let callbackKey {
            for (kind, endpoint) in handling {
                entries[JobKind(rawValue: kind)] = endpoints.entry(endpoint, callbackKey: callbackKey)
            }
        }
        found.withLock { $0 = entries }
    }
}
