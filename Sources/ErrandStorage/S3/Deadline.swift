import Synchronization

/// A deadline that may be extended during the operation, such as when a size becomes known.
final class Deadline: Sendable {
    private let moment: Mutex<ContinuousClock.Instant>

    init(in span: Duration) { moment = Mutex(.now + span) }

    /// Extends it to `span` from now, unless it is already later.
    func extend(to span: Duration) { moment.withLock { $0 = max($0, .now + span) } }

    /// Runs `body` until the deadline, and cancels it then.
    ///
    /// - Throws: what `body` throws; ``StorageError`` with code `timedOut` at the deadline.
    func watch<T: Sendable>(
        _ what: String, _ body: @escaping @Sendable () async throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        let result = await withTaskGroup(of: Result<T, StorageError>?.self) { group in
            group.addTask {
                do throws(StorageError) { return .success(try await body()) } catch { return .failure(error) }
            }
            group.addTask {
                while !Task.isCancelled {
                    let until = self.moment.withLock { $0 }
                    if until <= .now { return .failure(StorageError(.timedOut, "\(what): not done in time")) }
                    try? await Task.sleep(until: until, clock: .continuous)
                }
                return nil
            }
            var first: Result<T, StorageError>?
            while first == nil, let next = await group.next() { first = next }
            group.cancelAll()
            return first ?? .failure(StorageError(.failed, "\(what): cancelled"))
        }
        return try result.get()
    }
}
