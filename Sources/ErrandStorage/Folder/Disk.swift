import Dispatch

/// Runs blocking disk calls outside of Swift's shared threads.
enum Disk {
    private static let queue = DispatchQueue(label: "errand.storage", attributes: .concurrent)

    /// Runs `body` on a thread of its own.
    static func run<T: Sendable>(
        _ body: @escaping @Sendable () throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        let result: Result<T, StorageError> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
