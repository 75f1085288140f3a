import NIOHTTP1
import Synchronization

/// When a bucket was last confirmed to be the database's store.
final class S3Confirmation: Sendable {
    /// How long one read of the marker is valid. A missing object is believed only after a new read.
    private static let span: Duration = .seconds(10)

    let identity: StoreIdentity?
    private let lastAt = Mutex<ContinuousClock.Instant?>(nil)

    init(_ identity: StoreIdentity?) { self.identity = identity }

    var isFresh: Bool { lastAt.withLock { $0.map { .now - $0 < Self.span } ?? false } }

    func succeeded() { lastAt.withLock { $0 = .now } }
}

// MARK: - Which store it is
extension S3Store {
    /// Returns if the bucket is the database's store, confirmed within the last 10 s.
    ///
    /// - Throws: ``StorageError`` with code `wrongStore` if it isn't.
    func confirm() async throws(StorageError) {
        if !confirmation.isFresh { try await confirmAnew() }
    }

    func confirmAnew() async throws(StorageError) {
        guard let identity = confirmation.identity else { return }
        try await identity.confirmed { id throws(StorageError) in
            try StoreMarker.require(id, in: try await marker(), at: location)
        }
        confirmation.succeeded()
    }

    /// Runs `body`, which reads an object. If it finds none, confirms that it is the right store. A refusal while the
    /// marker can be read is about that object alone.
    func explaining<T: Sendable>(
        _ body: () async throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        do throws(StorageError) {
            return try await body()
        } catch  where error.code == .notFound {
            try await confirmAnew()
            throw error
        } catch  where error.isAboutRights && confirmation.identity != nil {
            guard (try? await marker(isUrgent: true)) != nil else { throw error }
            throw StorageError(.forbidden, error.detail)
        }
    }

    /// Whether the marker could be written. Nothing is: it is there, and would not be replaced.
    func mayWrite() async -> Bool {
        guard confirmation.identity != nil, client.configuration.conditions != .head else { return false }
        let request = S3Client.Request(
            method: .PUT, key: name(.marker), headers: [("if-none-match", "*")], what: "put \(ObjectKey.marker)",
            isUrgent: true)
        return (try? await client.send(request, accepting: [412])) != nil
    }

    private func marker(isUrgent: Bool = false) async throws(StorageError) -> [UInt8]? {
        do throws(StorageError) {
            return try await read(.marker, atMost: StoreMarker.limit, isUrgent: isUrgent)
        } catch  where error.code == .notFound {
            return nil
        }
    }

    private var location: String {
        let prefix = client.configuration.prefix
        return "bucket \(client.configuration.bucket)" + (prefix.isEmpty ? "" : ", \(prefix)")
    }
}
