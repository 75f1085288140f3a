/// Keeps objects under keys: a folder, or a bucket.
package protocol ObjectStore: Sendable {
    /// Stores an object, in place of the one that the key may have had. When it returns the object is there to stay;
    /// whatever happens before, the key has the old object, or none, as before.
    func put(_ bytes: [UInt8], at key: ObjectKey) async throws(StorageError)

    /// The whole object. Throws `notFound` where there is none.
    func get(_ key: ObjectKey) async throws(StorageError) -> [UInt8]

    /// The object's size in bytes; nil where there is none.
    func size(of key: ObjectKey) async throws(StorageError) -> Int?

    /// Removes an object. Not an error where there is none.
    func delete(_ key: ObjectKey) async throws(StorageError)
}
