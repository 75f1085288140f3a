/// An object that is being written in pieces, of any size in all, in little memory.
///
/// ```swift
/// let writer = try await store.writer(of: key, type: ContentType(rawValue: "application/zip"))
/// do {
///     for try await piece in pieces { try await writer.write(piece) }
///     try await writer.commit()
/// } catch {
///     await writer.abort()
///     throw error
/// }
/// ```
/// The key keeps its old object, or none, until ``commit()`` returns, whatever fails. Call the functions one after the
/// other, and end with one of the last two.
public protocol ObjectWriter: Sendable {
    /// Adds a piece to the object. Returns when the piece is stored, or waits in a buffer of 8 MiB for others.
    ///
    /// - Throws: ``StorageError``. The writer can only be aborted then.
    func write(_ bytes: [UInt8]) async throws(StorageError)

    /// Stores what is buffered, and makes all pieces the object, in place of an existing one. Durable when it returns.
    ///
    /// - Throws: ``StorageError``; `busy` if somebody else has begun to write the same object, or has deleted it.
    func commit() async throws(StorageError)

    /// Removes the pieces, even if the task is cancelled. No error is reported: what can't be removed now is removed by
    /// the next writer of the key and by ``ObjectStore/deleteAll(below:atMost:)``.
    func abort() async
}
