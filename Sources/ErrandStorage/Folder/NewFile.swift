import Glibc

/// A new file for an object, readable by its owner only.
final class NewFile: Sendable {
    private let file: OpenFile
    private let path: String

    /// Makes the file. Throws if something has that name.
    init(_ path: String) throws(StorageError) {
        let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw StorageError(errno: errno, path) }
        file = try OpenFile(descriptor: opened, name: path)
        self.path = path
    }

    func write(_ bytes: [UInt8]) throws(StorageError) { try file.write(bytes) }

    func write(contentsOf other: borrowing OpenFile) throws(StorageError) { try file.write(contentsOf: other) }

    func sync() throws(StorageError) { try file.sync() }

    /// Removes the file.
    func remove() { unlink(path) }
}
