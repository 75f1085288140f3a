import AppTestKit
import Foundation
import PushKit
import StorageKit
import Synchronization

/// A step of a worker outside of the database.
enum Step: String, Sendable {
    /// A read of an object.
    case read
    /// A put, before the store has got it.
    case put
    /// A put that the store has executed, before its response.
    case stored
    /// A delete.
    case remove
    /// A push, before the service has got it.
    case push
    /// A push that the service has accepted, before its response.
    case accepted
}

/// The object store and the push services of a worker, as a test wants them: held at a step, down, or denying.
final class Outside: Sendable {
    enum Right: Sendable { case read, write, delete }

    /// A push that a service has accepted.
    struct Accepted: Sendable {
        let token: String
        let at: Date
        let what: String
        let data: [String: String]
    }

    private struct State {
        var gate: Step?
        /// Counts the gates, so that what one has held does not wait for the next.
        var gates = 0
        var held = 0
        var isStoreDown = false
        var arePushesDown = false
        var denied: Right?
        var accepted: [Accepted] = []

        /// Counts a request at the step. Returns the number of the gate that holds it, if one does.
        mutating func arrives(at step: Step) -> Int? {
            guard gate == step else { return nil }
            held += 1
            return gates
        }

        func isBlocked(by number: Int) -> Bool { gate != nil && gates == number }
    }

    private let state = Mutex(State())
    private let refusal = DeleteRefusal(oneOf: 1)

    /// The number of requests that the gate has held.
    var held: Int { state.withLock(\.held) }
    var accepted: [Accepted] { state.withLock(\.accepted) }

    /// Holds all requests of the step until ``release()``.
    func block(_ step: Step) {
        state.withLock { state in
            (state.gate, state.held) = (step, 0)
            state.gates += 1
        }
    }

    /// Lets held requests go on. A service that is down by now breaks their connections.
    func release() { state.withLock { $0.gate = nil } }

    func setStore(isDown: Bool) { state.withLock { $0.isStoreDown = isDown } }
    func setPushes(areDown: Bool) { state.withLock { $0.arePushesDown = areDown } }
    func deny(_ right: Right?) { state.withLock { $0.denied = right } }
}

// MARK: - The store
extension Outside {
    /// The script of the proxy before the store. Blocks the request's own thread while it is held.
    func fault(for request: FaultProxy.Request) -> FaultProxy.Fault {
        let right = Self.right(of: request)
        switch right {
        case .read: wait(at: .read)
        case .write: wait(at: .put)
        case .delete: wait(at: .remove)
        }
        let (isDown, isDenied, isHeldLater) = state.withLock { state in
            (state.isStoreDown, state.denied == right, right == .write && state.gate == .stored)
        }
        if isDown { return .reset }
        if isDenied {
            // A bucket refuses to delete single objects in a response with status 200.
            let fault = refusal.fault(for: request)
            if case .serve = fault { return fault }
            return .respond(403, code: "AccessDenied")
        }
        guard isHeldLater else { return .none }
        return .executeAnd { [self] in
            wait(at: .stored)
            return !state.withLock(\.isStoreDown)
        }
    }

    private func wait(at step: Step) {
        guard let gate = state.withLock({ $0.arrives(at: step) }) else { return }
        while state.withLock({ $0.isBlocked(by: gate) }) { usleep(1_000) }
    }

    private static func right(of request: FaultProxy.Request) -> Right {
        switch request.method {
        case "GET", "HEAD": .read
        case "DELETE": .delete
        case "POST" where request.path.contains("?delete"): .delete
        default: .write
        }
    }
}

// MARK: - Apple and Google
extension Outside {
    /// The script of the push services.
    func response(to request: PushRequest) -> PushResponse {
        state.withLock { state in
            if let gate = state.arrives(at: .push) {
                return later(than: gate) { state in
                    state.arePushesDown ? .close(accepting: false) : Self.accept(request, &state)
                }
            }
            let response = Self.accept(request, &state)
            guard let gate = state.arrives(at: .accepted) else { return response }
            return later(than: gate) { $0.arePushesDown ? .close(accepting: true) : .accepted }
        }
    }

    private func later(
        than gate: Int, _ decide: @escaping @Sendable (inout State) -> PushResponse
    ) -> PushResponse {
        .when { [self] in state.withLock { $0.isBlocked(by: gate) ? nil : decide(&$0) } }
    }

    private static func accept(_ request: PushRequest, _ state: inout State) -> PushResponse {
        state.accepted.append(Accepted(request))
        return .accepted
    }
}

extension Outside.Accepted {
    init(_ request: PushRequest) {
        let body = try? JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        let payload = request.message.map { $0["data"] as? [String: Any] ?? [:] } ?? body ?? [:]
        var data: [String: String] = [:]
        for (name, value) in payload {
            if let text = value as? String { data[name] = text }
        }
        let activity = (request.aps("attributes") as? [String: Any])?["activityId"] as? String
        if let activity { data["activity_id"] = activity }
        (token, at, self.data) = (request.token, request.at, data)
        what =
            request.event.isEmpty
            ? data["event"] ?? data["type"] ?? Self.names.first { data[$0.field] != nil }?.push ?? ""
            : "activity_\(request.event)"
    }

    /// The pushes that don't say their names, each with a field that only its data has.
    private static let names: [(push: String, field: String)] = AppCase.all(.truth).compactMap { truth in
        let words = truth.name.components(separatedBy: " by ")
        return words.count == 2 ? (words[0], words[1]) : nil
    }
}
