import Foundation
import Synchronization

/// A store that refuses some deletions: a response with status 200 has errors for single keys.
/// Refused objects still exist, and the others are deleted.
package final class DeleteRefusal: Sendable {
    private let share: Int
    private let delete: (@Sendable ([String]) async throws -> Void)?
    private let counts = Mutex((asked: 0, refused: 0))

    /// - Parameters:
    ///   - share: one of this many is refused.
    ///   - delete: really deletes names of objects, without the proxy, so that of one request some are refused. Nil:
    ///     all of a request are refused, or the server is asked.
    package init(oneOf share: Int, delete: (@Sendable ([String]) async throws -> Void)? = nil) {
        self.share = share
        self.delete = delete
    }

    /// The number of refused deletions.
    package var refused: Int { counts.withLock(\.refused) }

    /// The fate of a request. Only requests that delete many objects are refused.
    package func fault(for request: FaultProxy.Request) -> FaultProxy.Fault {
        guard request.method == "POST", request.path.contains("?delete") else { return .none }
        if delete == nil, !isRefused() { return .none }
        return .serve { [self] body in
            let names = String(decoding: body, as: UTF8.self).matches(of: /<Key>(.*?)<\/Key>/).map { String($0.1) }
            guard let delete else { return Self.respond(refusing: names, "AccessDenied") }
            let kept = Set(names.filter { _ in isRefused() })
            let gone = names.filter { !kept.contains($0) }
            return Self.respond(
                refusing: names.filter(kept.contains), "AccessDenied", Self.run(delete, gone) ? [] : gone)
        }
    }

    private func isRefused() -> Bool {
        counts.withLock { counts in
            counts.asked += 1
            let isRefused = counts.asked % share == 0
            counts.refused += isRefused ? 1 : 0
            return isRefused
        }
    }

    private static func respond(refusing refused: [String], _ code: String, _ failed: [String] = []) -> String {
        let errors =
            refused.map { "<Error><Key>\($0)</Key><Code>\(code)</Code><Message>refused</Message></Error>" }
            + failed.map { "<Error><Key>\($0)</Key><Code>InternalError</Code><Message>failed</Message></Error>" }
        return "<DeleteResult>\(errors.joined())</DeleteResult>"
    }

    /// Whether it succeeded. Blocks the proxy's own thread.
    private static func run(_ delete: @escaping @Sendable ([String]) async throws -> Void, _ names: [String]) -> Bool {
        let isDone = Mutex(false)
        let end = DispatchSemaphore(value: 0)
        Task {
            do {
                try await delete(names)
                isDone.withLock { $0 = true }
            } catch {
                print("not deleted: \(error)")
            }
            end.signal()
        }
        end.wait()
        return isDone.withLock(\.self)
    }
}
