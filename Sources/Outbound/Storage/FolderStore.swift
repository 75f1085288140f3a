import Dispatch
import Glibc

/// Objects as files below a folder: for one host, for development, and for who needs no bucket.
///
/// A file is written under a temporary name, brought to disk and renamed, then the folder is brought to disk: a crash at
/// any point leaves the old state or the new one. No symbolic link below the root is followed, neither as an object nor
/// on the way to one. Files are readable by their owner only.
package struct FolderStore: ObjectStore {
    private let root: String
    /// Disks make callers wait, and Swift's shared threads must not.
    private let queue = DispatchQueue(label: "errand.storage", attributes: .concurrent)

    /// Makes the folder where there is none, and removes what a crash left half written more than an hour ago.
    ///
    /// - Throws: ``StorageError`` where that can't be done.
    /// - Complexity: reads the names of all objects, once.
    package init(root: String) throws(StorageError) {
        self.root = root
        try Self.makeRoot(root)
        Self.removeLeftovers(in: try Folder(at: root))
    }

    @discardableResult
    package func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool {
        try await onDisk { () throws(StorageError) in
            let folder = try folder(of: key, making: true)
            let temporary = Self.leftover + String(UInt64.random(in: .min ... .max), radix: 36)
            do throws(StorageError) {
                let file = try folder.create(temporary)
                try Self.write(content, to: file)
                let isStored = try Self.name(temporary, key.name, in: folder, if: condition)
                try folder.sync()
                return isStored
            } catch {
                // The first error is the one to tell; what can't be removed now goes at a later start.
                _ = try? folder.remove(temporary)
                throw error
            }
        }
    }

    package func get(_ key: ObjectKey) async throws(StorageError) -> [UInt8] {
        try await onDisk { () throws(StorageError) in try folder(of: key).open(key.name).bytes() }
    }

    package func get(_ key: ObjectKey, toFile path: String) async throws(StorageError) {
        try await onDisk { () throws(StorageError) in
            let object = try folder(of: key).open(key.name)
            let opened = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard opened >= 0 else { throw StorageError(errno: errno, path) }
            do throws(StorageError) {
                let file = try OpenFile(descriptor: opened, name: path)
                try file.write(contentsOf: object)
                try file.sync()
            } catch {
                unlink(path)
                throw error
            }
        }
    }

    package func size(of key: ObjectKey) async throws(StorageError) -> Int? {
        try await onDisk { () throws(StorageError) in
            do throws(StorageError) {
                let status = try folder(of: key).status(of: key.name)
                return status.flatMap { $0.st_mode & S_IFMT == S_IFREG ? Int($0.st_size) : nil }
            } catch  where error.code == .notFound {
                return nil
            }
        }
    }

    package func delete(_ key: ObjectKey) async throws(StorageError) {
        try await onDisk { () throws(StorageError) in
            do throws(StorageError) {
                let folder = try folder(of: key)
                if try folder.remove(key.name) { try folder.sync() }
            } catch  where error.code == .notFound {
                return
            }
        }
    }
}

// MARK: - How
extension FolderStore {
    /// What temporary names begin with; no key can, because no part of a key begins with a dot.
    private static let leftover = ".put-"

    private static func write(_ content: ObjectContent, to file: borrowing OpenFile) throws(StorageError) {
        switch content {
        case .bytes(let bytes): try file.write(bytes)
        case .file(let path): try file.write(contentsOf: OpenFile(reading: path))
        }
        try file.sync()
    }

    private static func name(
        _ temporary: String, _ name: String, in folder: borrowing Folder, if condition: PutCondition
    ) throws(StorageError) -> Bool {
        switch condition {
        case .always:
            try folder.rename(temporary, to: name)
            return true
        case .absent:
            let isStored = try folder.link(temporary, to: name)
            try folder.remove(temporary)
            return isStored
        }
    }

    private func folder(of key: ObjectKey, making: Bool = false) throws(StorageError) -> Folder {
        var folder = try Folder(at: root)
        for part in key.folders { folder = try folder.folder(part, making: making) }
        return folder
    }

    private static func makeRoot(_ path: String) throws(StorageError) {
        var prefix = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            let above = prefix.isEmpty ? "/" : prefix
            prefix += "/\(part)"
            if mkdir(prefix, 0o700) == 0 {
                // The dot, because a link is well on the way to the root.
                try Folder(at: above + "/.").sync()
            } else if errno != EEXIST {
                throw StorageError(errno: errno, prefix)
            }
        }
    }

    /// What can't be looked at or removed now is left for a later start: the store works with it there.
    private static func removeLeftovers(in folder: borrowing Folder) {
        for name in (try? folder.names()) ?? [] {
            guard let status = try? folder.status(of: name) else { continue }
            if name.hasPrefix(leftover) {
                // One that is younger may be another process's that is being written now.
                if time(nil) - status.st_mtim.tv_sec > 3600 { _ = try? folder.remove(name) }
            } else if status.st_mode & S_IFMT == S_IFDIR, let below = try? folder.folder(name) {
                removeLeftovers(in: below)
            }
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
