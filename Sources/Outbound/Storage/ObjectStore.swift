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

    /// The whole object, in memory. Throws `notFound` where there is none, and `tooLarge`, before it is read, where it has
    /// more than `limit` bytes.
    func get(_ key: ObjectKey, atMost limit: Int) async throws(StorageError) -> [UInt8]

    /// A part of the object: bytes from `range.lowerBound` on, fewer where it ends before. Throws `notFound` where there is
    /// no object, `rejected` where it has no byte there.
    func get(_ key: ObjectKey, _ range: Range<Int>) async throws(StorageError) -> [UInt8]

    /// Writes the object to a file that isn't there yet, readable by its owner only, in little memory. Throws `notFound`
    /// where there is no object; whatever is thrown, no file is left.
    func get(_ key: ObjectKey, toFile path: String) async throws(StorageError)

    /// What is known of the object without reading it; nil where there is none.
    func status(of key: ObjectKey) async throws(StorageError) -> ObjectStatus?

    /// Removes an object, every version of it. Not an error where there is none.
    func delete(_ key: ObjectKey) async throws(StorageError)

    /// Removes objects, any number. Throws where nothing is known of any of them.
    ///
    /// - Returns: what went wrong with which; those that are not here are gone.
    func delete(_ keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError]

    /// The keys that begin with `prefix`, behind `after`, in the order of their bytes, up to `count` of them. What lies
    /// there under a name that no key can have is passed over.
    func keys(beginning prefix: String, after: ObjectKey?, atMost count: Int) async throws(StorageError) -> [ObjectKey]

    /// Removes up to `count` objects below a folder, whatever their names: also those that no key can have. In a folder
    /// store the folders that are left empty go, too.
    ///
    /// - Parameter prefix: a key and a slash.
    /// - Returns: how many objects were removed: 0 when nothing is left.
    func sweep(below prefix: String, atMost count: Int) async throws(StorageError) -> Int

    /// Returns where the store can be reached and is as it has to be. Throws `unreachable`, `misconfigured` or `wrongStore`
    /// with what is the matter, such as a bucket that keeps versions.
    func check() async throws(StorageError)

    /// Lets go of connections. The store is not to be used after that.
    func stop() async
}

/// What is known of an object without reading it.
package struct ObjectStatus: Sendable, Hashable {
    /// In bytes.
    package let size: Int
    /// Of its content, where the store knows that.
    package let sha256: ContentHash?
}

extension ObjectStore {
    /// The whole object, in memory, whatever its size.
    package func get(_ key: ObjectKey) async throws(StorageError) -> [UInt8] { try await get(key, atMost: .max) }

    /// Stores bytes, in place of the object that the key may have.
    package func put(
        _ bytes: [UInt8], at key: ObjectKey, type: ContentType = .bytes
    ) async throws(StorageError) {
        try await put(.bytes(bytes), at: key, type: type, if: .always)
    }

    /// The object's size in bytes; nil where there is none.
    package func size(of key: ObjectKey) async throws(StorageError) -> Int? { try await status(of: key)?.size }

    /// Sees to it that the key has these bytes: bears repetition, by anybody, at any time.
    ///
    /// An object that is there already is compared: by its checksum where the store knows it, else by reading it.
    /// - Returns: true where it was stored now, false where it was there.
    /// - Throws: ``StorageError``; `taken` where the key has another object.
    @discardableResult
    package func putOnce(
        _ bytes: [UInt8], at key: ObjectKey, type: ContentType
    ) async throws(StorageError) -> Bool {
        if try await put(.bytes(bytes), at: key, type: type, if: .absent) { return true }
        let digest = ContentHash(of: bytes)
        guard let there = try await status(of: key) else {
            throw StorageError(.busy, "\(key): its object was removed while it was compared")
        }
        guard there.size == bytes.count else {
            throw StorageError(.taken, "\(key): expected \(bytes.count) bytes, got an object of \(there.size)")
        }
        let found: ContentHash
        if let known = there.sha256 { found = known } else { found = ContentHash(of: try await get(key)) }
        guard found == digest else {
            throw StorageError(.taken, "\(key): expected \(digest), got an object with \(found)")
        }
        return false
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
