import Dispatch
import Glibc

/// Objects as files below a folder: for one host, for development, and for who needs no bucket.
///
/// A file is written under a temporary name, brought to disk and renamed, then the folder is brought to disk: a crash at
/// any point leaves the old state or the new one. No symbolic link below the root is followed. Files are readable by their
/// owner only.
package struct FolderStore: ObjectStore {
    private let root: String
    /// Disks make callers wait, and Swift's shared threads must not.
    private let queue = DispatchQueue(label: "errand.storage", attributes: .concurrent)

    /// Makes the folder where there is none, and removes what a crash left half written.
    ///
    /// - Throws: ``StorageError`` where that can't be done.
    package init(root: String) throws(StorageError) {
        self.root = root
        try Self.makeFolder(root)
        Self.removeLeftovers(in: root)
    }

    package func put(_ bytes: [UInt8], at key: ObjectKey) async throws(StorageError) {
        try await onDisk { () throws(StorageError) in try write(bytes, at: key) }
    }

    package func get(_ key: ObjectKey) async throws(StorageError) -> [UInt8] {
        try await onDisk { () throws(StorageError) in
            let file = open(path(of: key), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
            guard file >= 0 else { throw Self.error(key.text) }
            defer { close(file) }
            var status = stat()
            guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw StorageError(.denied, "\(key) is no file")
            }
            return try Self.read(file, count: Int(status.st_size), key: key)
        }
    }

    package func size(of key: ObjectKey) async throws(StorageError) -> Int? {
        try await onDisk { () throws(StorageError) in
            var status = stat()
            if lstat(path(of: key), &status) == 0 {
                return status.st_mode & S_IFMT == S_IFREG ? Int(status.st_size) : nil
            }
            guard [ENOENT, ENOTDIR].contains(errno) else { throw Self.error(key.text) }
            return nil
        }
    }

    package func delete(_ key: ObjectKey) async throws(StorageError) {
        try await onDisk { () throws(StorageError) in
            guard unlink(path(of: key)) == 0 || errno == ENOENT else { throw Self.error(key.text) }
            Self.sync(folder: folder(of: key))
        }
    }
}

// MARK: - How
extension FolderStore {
    /// What temporary names begin with; no key can, because no part of a key begins with a dot.
    private static let leftover = ".put-"

    private func write(_ bytes: [UInt8], at key: ObjectKey) throws(StorageError) {
        let folder = folder(of: key)
        try makeFolders(for: key)
        var name = Array("\(folder)/\(Self.leftover)XXXXXX".utf8CString)
        let file = mkstemp(&name)
        guard file >= 0 else { throw Self.error(key.text) }
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        do throws(StorageError) {
            defer { close(file) }
            try Self.write(bytes, to: file, key: key)
            guard fsync(file) == 0, rename(name, path(of: key)) == 0 else { throw Self.error(key.text) }
        } catch {
            unlink(name)
            throw error
        }
        Self.sync(folder: folder)
    }

    private static func write(_ bytes: [UInt8], to file: Int32, key: ObjectKey) throws(StorageError) {
        var offset = 0
        while offset < bytes.count {
            let written = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress! + offset, $0.count - offset) }
            guard written > 0 else {
                if errno == EINTR { continue }
                throw error(key.text)
            }
            offset += written
        }
    }

    private static func read(_ file: Int32, count: Int, key: ObjectKey) throws(StorageError) -> [UInt8] {
        var isWhole = true
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, length in
            while length < count {
                let got = Glibc.read(file, buffer.baseAddress! + length, count - length)
                if got < 0 && errno == EINTR { continue }
                guard got > 0 else {
                    isWhole = false
                    return
                }
                length += got
            }
        }
        guard isWhole else { throw StorageError(.failed, "\(key): its file ended early") }
        return bytes
    }

    private func path(of key: ObjectKey) -> String { "\(root)/\(key)" }

    private func folder(of key: ObjectKey) -> String {
        let parts = key.text.split(separator: "/").dropLast()
        return ([root] + parts.map(String.init)).joined(separator: "/")
    }

    private func makeFolders(for key: ObjectKey) throws(StorageError) {
        var folder = root
        for part in key.text.split(separator: "/").dropLast() {
            folder += "/\(part)"
            try Self.makeFolder(folder)
        }
    }

    private static func makeFolder(_ path: String) throws(StorageError) {
        var prefix = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            prefix += "/\(part)"
            if mkdir(prefix, 0o700) != 0 && errno != EEXIST { throw error(prefix) }
        }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw error(path) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw StorageError(.denied, "\(path) is no folder") }
    }

    private static func removeLeftovers(in folder: String) {
        guard let entries = opendir(folder) else { return }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name.hasPrefix(leftover) {
                // One that is younger may be another process's that is being written now.
                var status = stat()
                if lstat("\(folder)/\(name)", &status) == 0, time(nil) - status.st_mtim.tv_sec > 3600 {
                    unlink("\(folder)/\(name)")
                }
            } else if !name.hasPrefix("."), entry.pointee.d_type == UInt8(DT_DIR) {
                removeLeftovers(in: "\(folder)/\(name)")
            }
        }
    }

    /// Brings a folder's entries to disk. A file system that can't do that has no better to offer.
    private static func sync(folder: String) {
        let file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard file >= 0 else { return }
        fsync(file)
        close(file)
    }

    private static func error(_ what: String) -> StorageError {
        let reason = String(cString: strerror(errno))
        return switch errno {
        case ENOENT, ENOTDIR: StorageError(.notFound, "\(what): \(reason)")
        case ENOSPC, EDQUOT: StorageError(.full, "\(what): \(reason)")
        case EACCES, EPERM, EROFS, ELOOP: StorageError(.denied, "\(what): \(reason)")
        default: StorageError(.failed, "\(what): \(reason)")
        }
    }

    private func onDisk<T: Sendable>(
        _ body: @escaping @Sendable () throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        let result: Result<T, StorageError> = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
