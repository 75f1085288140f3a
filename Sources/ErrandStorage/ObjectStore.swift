/// Stores objects under keys: a ``FolderStore`` or an ``S3Store``.
///
/// ```swift
/// let key = try ObjectKey("receipts/17.pdf")
/// try await store.put(bytes, at: key, type: ContentType(rawValue: "application/pdf"))
/// let same = try await store.get(key)
/// ```
public protocol ObjectStore: Sendable {
    /// Stores an object durably. Until it returns, the key has its old object, or none.
    ///
    /// - Parameters:
    ///   - content: the bytes, in memory or in a file.
    ///   - key: the object's name.
    ///   - type: the media type for readers. A folder doesn't store it.
    ///   - condition: whether an existing object is replaced.
    /// - Returns: whether the object was stored. False if the condition didn't hold.
    /// - Throws: ``StorageError``.
    @discardableResult
    func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool

    /// Begins to write an object in pieces, for one whose bytes are not all in memory or in a file.
    ///
    /// In a bucket, the parts that a killed writer of the same key has left are deleted, and a writer of it that still
    /// runs can't commit any more. In a folder, the last writer that commits wins; files of killed ones are deleted at
    /// a later start.
    ///
    /// - Throws: ``StorageError``.
    func writer(of key: ObjectKey, type: ContentType) async throws(StorageError) -> any ObjectWriter

    /// Reads the whole object into memory.
    ///
    /// - Parameters:
    ///   - key: the object's name.
    ///   - limit: most bytes.
    /// - Throws: ``StorageError``: `notFound` if there is no object, and `tooLarge`, before it is read, where the
    ///   object has more than `limit` bytes.
    func get(_ key: ObjectKey, atMost limit: Int) async throws(StorageError) -> [UInt8]

    /// Reads a part of the object: the bytes from `range.lowerBound` on, fewer if the object ends before.
    ///
    /// - Throws: ``StorageError``: `notFound` if there is no object, `rejected` if it has no byte there.
    func get(_ key: ObjectKey, _ range: Range<Int>) async throws(StorageError) -> [UInt8]

    /// Writes the object to a new file, readable by its owner only, in little memory.
    ///
    /// - Throws: ``StorageError``: `notFound` if there is no object. No file is left after an error.
    func get(_ key: ObjectKey, toFile path: String) async throws(StorageError)

    /// Returns the object's size and checksum without reading it. Nil if there is no object.
    func status(of key: ObjectKey) async throws(StorageError) -> ObjectStatus?

    /// Deletes an object and every version of it. No error if there is none.
    func delete(_ key: ObjectKey) async throws(StorageError)

    /// Deletes any number of objects.
    ///
    /// - Returns: the error of each object that was not deleted. All others are gone.
    /// - Throws: ``StorageError`` if the outcome of all of them is unknown.
    func delete(_ keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError]

    /// Lists up to `count` keys that begin with `prefix`, from behind `after` on, in byte order. Names that no
    /// ``ObjectKey`` can have are skipped.
    func keys(beginning prefix: String, after: ObjectKey?, atMost count: Int) async throws(StorageError) -> [ObjectKey]

    /// Deletes up to `count` objects below a prefix, whatever their names. A folder store deletes empty folders too.
    ///
    /// When no object is left, pieces of objects that were never completed are deleted too.
    ///
    /// - Parameters:
    ///   - prefix: a key and a slash, such as `events/17/`.
    ///   - count: most objects.
    /// - Returns: how many objects were deleted. 0 means that nothing is left.
    func deleteAll(below prefix: String, atMost count: Int) async throws(StorageError) -> Int

    /// Returns a URL by which anyone may read the object, without credentials, until `span` is over. Sends nothing: an
    /// object that doesn't exist has a URL too.
    ///
    /// The URL is a secret: keep it out of logs, errors and jobs. Deleting or replacing the object is the only way to
    /// end it early, beside changing the store's keys.
    ///
    /// - Parameters:
    ///   - key: the object's name.
    ///   - span: 1 s to 7 days, in whole seconds.
    /// - Throws: ``StorageError`` with code `rejected` for another span, and by a store that has no URLs: a folder.
    func presignedURL(of key: ObjectKey, for span: Duration) throws(StorageError) -> String

    /// Returns if the store can be reached and used.
    ///
    /// - Throws: ``StorageError``: `unreachable`, `misconfigured`, `keepsVersions` or `wrongStore`, with the reason.
    func check() async throws(StorageError)

    /// Closes all connections. The store can't be used after that.
    func stop() async
}

/// An object's size and checksum.
public struct ObjectStatus: Sendable, Hashable {
    /// In bytes.
    public let size: Int
    /// The content's checksum, where the store has it: a folder doesn't.
    public let sha256: ContentHash?

    public init(size: Int, sha256: ContentHash?) {
        self.size = size
        self.sha256 = sha256
    }
}

extension ObjectStore {
    /// Reads the whole object into memory, whatever its size.
    public func get(_ key: ObjectKey) async throws(StorageError) -> [UInt8] { try await get(key, atMost: .max) }

    /// Returns a URL by which anyone may read the object for 15 minutes. It is a secret.
    ///
    /// - Throws: ``StorageError`` with code `rejected` by a store that has no URLs: a folder.
    public func presignedURL(of key: ObjectKey) throws(StorageError) -> String {
        try presignedURL(of: key, for: .seconds(900))
    }

    /// Throws: only a bucket has URLs.
    public func presignedURL(of key: ObjectKey, for span: Duration) throws(StorageError) -> String {
        throw StorageError(
            .rejected, "URLs: expected a bucket, got a store whose objects have no URLs, such as a folder")
    }

    /// Stores bytes. An existing object is replaced.
    public func put(
        _ bytes: [UInt8], at key: ObjectKey, type: ContentType = .bytes
    ) async throws(StorageError) {
        try await put(.bytes(bytes), at: key, type: type, if: .always)
    }

    /// The object's size in bytes; nil if there is none.
    public func size(of key: ObjectKey) async throws(StorageError) -> Int? { try await status(of: key)?.size }

    /// Stores bytes under a key that has no object, or has the same bytes already. Idempotent.
    ///
    /// An existing object is compared by its checksum, or by reading it where the store has no checksum.
    /// - Returns: true if the object was stored now, false if it existed.
    /// - Throws: ``StorageError``; `taken` if the key has another object.
    @discardableResult
    public func putOnce(
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

/// The source of an object's bytes.
public enum ObjectContent: Sendable {
    /// Bytes in memory.
    case bytes([UInt8])
    /// A file, read in pieces while it is stored.
    case file(path: String)
}

/// Whether a put replaces an existing object.
public enum PutCondition: Sendable {
    /// An existing object is replaced. The last put wins.
    case always
    /// Nothing is stored where the key has an object. Of two concurrent puts, one succeeds.
    case absent
}

/// An object's media type, such as `image/jpeg`.
public struct ContentType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// `application/octet-stream`.
    public static let bytes = ContentType(rawValue: "application/octet-stream")
    /// `image/jpeg`.
    public static let jpeg = ContentType(rawValue: "image/jpeg")
}
