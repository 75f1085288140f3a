import Glibc

/// An open regular file, read in pieces of 1 MB to bound memory.
struct OpenFile: ~Copyable {
    private let descriptor: Int32
    private let name: String
    /// The size when it was opened.
    let size: Int

    private static let piece = 1 << 20

    /// Owns the descriptor. Throws `denied` if it is no regular file, and closes it.
    init(descriptor: Int32, name: String) throws(StorageError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw StorageError(.denied, "\(name) is no file")
        }
        self.descriptor = descriptor
        self.name = name
        size = Int(status.st_size)
    }

    /// Opens the caller's file for reading. Links are followed, because it is no object.
    init(reading path: String) throws(StorageError) {
        let opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { throw StorageError(errno: errno, path) }
        try self.init(descriptor: opened, name: path)
    }

    deinit { close(descriptor) }
}

// MARK: - Reading and writing
extension OpenFile {
    /// The whole file.
    func bytes() throws(StorageError) -> [UInt8] { try bytes(0..<size) }

    /// A part of the file, which must exist.
    func bytes(_ range: Range<Int>) throws(StorageError) -> [UInt8] {
        try seek(to: range.lowerBound)
        var all: [UInt8] = []
        all.reserveCapacity(range.count)
        while all.count < range.count {
            let piece = try read(atMost: range.count - all.count)
            guard !piece.isEmpty else { throw StorageError(.failed, "\(name): its file ended early") }
            all += piece
        }
        return all
    }

    /// The next piece; empty at the end.
    func piece() throws(StorageError) -> [UInt8] { try read(atMost: Self.piece) }

    /// The piece that begins at `offset`; empty behind the end.
    func piece(at offset: Int) throws(StorageError) -> [UInt8] {
        try seek(to: offset)
        return try piece()
    }

    /// Writes all of the bytes behind what was written before.
    func write(_ bytes: [UInt8]) throws(StorageError) {
        var offset = 0
        while offset < bytes.count {
            let (written, number) = bytes.withUnsafeBytes { buffer in
                (Glibc.write(descriptor, buffer.baseAddress! + offset, buffer.count - offset), errno)
            }
            if written < 0 && number == EINTR { continue }
            guard written > 0 else { throw StorageError(errno: number, name) }
            offset += written
        }
    }

    /// Writes all that is left of another file.
    func write(contentsOf other: borrowing OpenFile) throws(StorageError) {
        while true {
            let piece = try other.piece()
            if piece.isEmpty { return }
            try write(piece)
        }
    }

    /// Syncs the file to disk.
    func sync() throws(StorageError) {
        guard fsync(descriptor) == 0 else { throw StorageError(errno: errno, name) }
    }

    private func seek(to offset: Int) throws(StorageError) {
        guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw StorageError(errno: errno, name) }
    }

    private func read(atMost count: Int) throws(StorageError) -> [UInt8] {
        while true {
            var number: Int32 = 0
            var got = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
                got = Glibc.read(descriptor, buffer.baseAddress, count)
                number = errno
                length = max(0, got)
            }
            if got >= 0 { return bytes }
            if number != EINTR { throw StorageError(errno: number, name) }
        }
    }
}
