/// Keeps objects under keys: a folder, or a bucket.
package protocol ObjectStore: Sendable {
    /// Stores an object. When it returns the object is there to stay; whatever happens before, the key has the old object,
    /// or none, as before.
    ///
    /// - Parameters:
    ///   - type: what a reader is told that it is. A store that has no place for it, such as a folder, leaves it out.
    ///   - condition: whether an object that the key may have is replaced.
    /// - Returns: whether it was stored; false where the condition didn't hold.
    /// - Throws: ``StorageError``.
    @discardableResult
    func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool

    /// The whole object, in memory. Throws `notFound` where there is none.
    func get(_ key: ObjectKey) async throws(StorageError) -> [UInt8]

    /// Writes the object to a file that isn't there yet, readable by its owner only, in little memory. Throws `notFound`
    /// where there is no object; whatever is thrown, no file is left.
    func get(_ key: ObjectKey, toFile path: String) async throws(StorageError)

    /// The object's size in bytes; nil where there is none.
    func size(of key: ObjectKey) async throws(StorageError) -> Int?

    /// Removes an object. Not an error where there is none.
    func delete(_ key: ObjectKey) async throws(StorageError)
}

extension ObjectStore {
    /// Stores bytes, in place of the object that the key may have.
    package func put(
        _ bytes: [UInt8], at key: ObjectKey, type: ContentType = .bytes
    ) async throws(StorageError) {
        try await put(.bytes(bytes), at: key, type: type, if: .always)
    }
}

/// What is stored.
package enum ObjectContent: Sendable {
    case bytes([UInt8])
    /// A file, read in pieces while it is stored.
    case file(path: String)
}

/// When something is stored.
package enum PutCondition: Sendable {
    /// Whatever the key has: the later one counts.
    case always
    /// Only where the key has no object. Of two that try at once, one is told that it did.
    case absent
}

/// What an object is, as HTTP says it: `image/jpeg`.
package struct ContentType: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    /// Anything.
    package static let bytes = ContentType(rawValue: "application/octet-stream")
    package static let jpeg = ContentType(rawValue: "image/jpeg")
}
