import Foundation
import Synchronization

/// The identity of the database's store: an id in the database and in a marker object of the store.
///
/// A folder whose disk isn't mounted, or a wrong bucket or prefix, looks like an empty store. So a store without the
/// database's id counts as down. Nothing but `errand storage init` writes a marker.
package final class StoreIdentity: Sendable {
    private let read: @Sendable () async throws -> UUID?
    private let known = Mutex<UUID?>(nil)

    /// - Parameter read: reads the id from the database; nil if it has none.
    package init(_ read: @escaping @Sendable () async throws -> UUID?) { self.read = read }

    /// Runs `body` with the database's id. If `body` throws `wrongStore` and the id has changed since it was read, runs
    /// it again.
    func confirmed<T: Sendable>(
        _ body: (UUID) async throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        let first: UUID
        if let id = known.withLock(\.self) { first = id } else { first = try await readAnew() }
        do throws(StorageError) {
            return try await body(first)
        } catch  where error.code == .wrongStore {
            let id = try await readAnew()
            guard id != first else { throw error }
            return try await body(id)
        }
    }

    private func readAnew() async throws(StorageError) -> UUID {
        let id: UUID?
        do {
            id = try await read()
        } catch {
            throw StorageError(.failed, "the database could not be asked which store it uses: \(error)")
        }
        guard let id else {
            throw StorageError(.wrongStore, "the database has no store yet; run `errand storage init`")
        }
        known.withLock { $0 = id }
        return id
    }
}

/// The marker object that identifies a store.
package enum StoreMarker {
    /// The most bytes of a marker.
    static let limit = 4096

    static func bytes(of id: UUID) -> [UInt8] {
        Array(
            """
            \(id.uuidString.lowercased())
            By this id an Errand database knows its object store. Without it, Errand takes the store to be down.

            """.utf8)
    }

    static func id(in bytes: [UInt8]) -> UUID? {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").first.flatMap { UUID(uuidString: String($0)) }
    }

    /// - Parameter marker: its bytes; nil if there is none.
    /// - Throws: ``StorageError`` with code `wrongStore` if its id isn't `id`.
    static func require(_ id: UUID, in marker: [UInt8]?, at location: String) throws(StorageError) {
        let found = marker.map { Self.id(in: $0)?.uuidString.lowercased() ?? "an unreadable one" }
        guard found != id.uuidString.lowercased() else { return }
        throw StorageError(
            .wrongStore,
            "\(location): expected a marker \(ObjectKey.marker) with the id \(id.uuidString.lowercased()), got "
                + "\(found ?? "none"); mount its disk, or correct STORAGE_URL; `errand storage init --adopt` takes this one"
        )
    }
}

extension ObjectStore {
    /// The id in the store's marker; nil if it has none. For a store without an identity of its own.
    package func markedID() async throws(StorageError) -> UUID? {
        do throws(StorageError) {
            return StoreMarker.id(in: try await get(.marker, atMost: StoreMarker.limit))
        } catch  where error.code == .notFound {
            return nil
        }
    }

    /// Writes the marker. Returns false if the store has one and `replacing` is false.
    package func mark(as id: UUID, replacing: Bool) async throws(StorageError) -> Bool {
        try await put(
            .bytes(StoreMarker.bytes(of: id)), at: .marker, type: ContentType(rawValue: "text/plain"),
            if: replacing ? .always : .absent)
    }
}
