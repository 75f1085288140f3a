import Glibc

/// Stores objects as files below a folder, for one host and for development.
///
/// A file is written under a temporary name, synced and renamed, and then its folder is synced: a crash leaves the old
/// object or the new one. No symbolic link below the root is followed. Files are readable by their owner only.
public struct FolderStore: ObjectStore {
    private let root: String
    private let identity: StoreIdentity?

    /// Creates the folder if needed, and deletes what a crash left half written more than an hour ago.
    ///
    /// - Parameter root: an absolute path.
    /// - Throws: ``StorageError`` if the folder can't be used.
    /// - Complexity: reads the names of all objects, once.
    public init(root: String) throws(StorageError) { try self.init(root: root, identity: nil) }

    /// - Parameter identity: the expected store, checked with each operation. Nil accepts any store, and creates a
    ///   missing folder.
    package init(root: String, identity: StoreIdentity?) throws(StorageError) {
        self.root = root
        self.identity = identity
        if identity == nil { try Self.makeRoot(root) }
        if let folder = try? Folder(at: root) { Self.removeLeftovers(in: folder) }
    }

    @discardableResult
    public func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool {
        try await inRoot { root throws(StorageError) in
            let temporary = Self.temporaryName()
            let new = try Self.create(temporary, for: key, in: root)
            do throws(StorageError) {
                try Self.write(content, to: new.file)
                let isStored = try Self.name(temporary, key.name, in: new.folder, if: condition)
                try new.folder.sync()
                return isStored
            } catch {
                // The first error is reported. A file that can't be removed now is removed at a later start.
                _ = try? new.folder.remove(temporary)
                throw error
            }
        }
    }

    public func writer(of key: ObjectKey, type: ContentType) async throws(StorageError) -> any ObjectWriter {
        try await inRoot { root throws(StorageError) in
            let temporary = Self.temporaryName()
            let new = try Self.create(temporary, for: key, in: root)
            return FolderWriter(folder: new.folder, file: new.file, temporary: temporary, name: key.name)
        }
    }

    public func get(_ key: ObjectKey, atMost limit: Int) async throws(StorageError) -> [UInt8] {
        try await reading(key) { file throws(StorageError) in
            guard file.size <= limit else {
                throw StorageError(.tooLarge, "\(key): expected at most \(limit) bytes, got \(file.size)")
            }
            return try file.bytes()
        }
    }

    public func get(_ key: ObjectKey, _ range: Range<Int>) async throws(StorageError) -> [UInt8] {
        try await reading(key) { file throws(StorageError) in
            guard range.lowerBound < file.size else {
                throw StorageError(.rejected, "\(key): has \(file.size) bytes and none at \(range.lowerBound)")
            }
            return try file.bytes(range.clamped(to: 0..<file.size))
        }
    }

    public func get(_ key: ObjectKey, toFile path: String) async throws(StorageError) {
        try await reading(key) { object throws(StorageError) in
            let new = try NewFile(path)
            do throws(StorageError) {
                try new.write(contentsOf: object)
                try new.sync()
            } catch {
                new.remove()
                throw error
            }
        }
    }

    public func status(of key: ObjectKey) async throws(StorageError) -> ObjectStatus? {
        try await inRoot { root throws(StorageError) in
            do throws(StorageError) {
                let found = try Self.folder(of: key, in: root).status(of: key.name)
                guard let status = found, status.st_mode & S_IFMT == S_IFREG else { return nil }
                return ObjectStatus(size: Int(status.st_size), sha256: nil)
            } catch  where error.code == .notFound {
                return nil
            }
        }
    }

    public func delete(_ key: ObjectKey) async throws(StorageError) {
        try await inRoot { root throws(StorageError) in try Self.delete(key, in: root) }
    }

    public func delete(_ keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError] {
        try await inRoot { root throws(StorageError) in
            var failed: [ObjectKey: StorageError] = [:]
            for key in keys {
                do throws(StorageError) { try Self.delete(key, in: root) } catch { failed[key] = error }
            }
            return failed
        }
    }

    public func keys(
        beginning prefix: String, after: ObjectKey?, atMost count: Int
    ) async throws(StorageError) -> [ObjectKey] {
        try await inRoot { root throws(StorageError) in
            var found: [ObjectKey] = []
            try Self.collect(in: root, below: "", beginning: prefix, into: &found)
            let behind = found.filter { after?.text.utf8.lexicographicallyPrecedes($0.text.utf8) ?? true }
            return Array(behind.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }.prefix(count))
        }
    }

    public func deleteAll(below prefix: String, atMost count: Int) async throws(StorageError) -> Int {
        let key = try ObjectKey(folder: prefix)
        return try await inRoot { root throws(StorageError) in
            do throws(StorageError) {
                let above = try Self.folder(of: key, in: root)
                let removed = try above.folder(key.name).deleteAll(atMost: count)
                if removed < count { try above.removeFolder(Array(key.name.utf8CString)) }
                return removed
            } catch  where error.code == .notFound {
                return 0
            }
        }
    }

    public func check() async throws(StorageError) { try await inRoot { _ throws(StorageError) in } }

    public func stop() async {}
}

// MARK: - Helpers
extension FolderStore {
    /// The prefix of temporary names. No part of a key begins with a dot.
    private static let leftover = ".put-"

    private static func temporaryName() -> String { leftover + String(UInt64.random(in: .min ... .max), radix: 36) }

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

    /// A new file, and the folder that it is in.
    private struct New: ~Copyable {
        let folder: Folder
        let file: OpenFile
    }

    /// Creates a file in the folder of a key. A delete may remove that in between: then it is made again.
    private static func create(
        _ name: String, for key: ObjectKey, in root: borrowing Folder
    ) throws(StorageError) -> New {
        for _ in 1...10 {
            do throws(StorageError) {
                let folder = try folder(of: key, in: root, making: true)
                let file = try folder.create(name)
                return New(folder: folder, file: file)
            } catch  where error.code == .notFound {
                continue
            }
        }
        throw StorageError(.busy, "\(key): its folder was removed ten times while it was put")
    }

    private static func folder(
        of key: ObjectKey, in root: borrowing Folder, making: Bool = false
    ) throws(StorageError) -> Folder {
        var folder = try root.same()
        for part in key.folders { folder = try folder.folder(part, making: making) }
        return folder
    }

    private static func delete(_ key: ObjectKey, in root: borrowing Folder) throws(StorageError) {
        do throws(StorageError) {
            try remove(key.name, below: key.folders[...], in: root)
        } catch  where error.code == .notFound {
            return
        }
    }

    /// Removes a file below a folder, and the folders on the way to it that are empty then.
    private static func remove(
        _ name: String, below parts: ArraySlice<String>, in folder: borrowing Folder
    ) throws(StorageError) {
        guard let part = parts.first else {
            if try folder.remove(name) { try folder.sync() }
            return
        }
        try remove(name, below: parts.dropFirst(), in: folder.folder(part))
        // The object is gone: an empty folder that can't be removed, such as a disk's, is no failure.
        _ = try? folder.removeFolder(Array(part.utf8CString))
    }

    /// Runs `body` with an open object.
    private func reading<T: Sendable>(
        _ key: ObjectKey, _ body: @escaping @Sendable (borrowing OpenFile) throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        try await inRoot { root throws(StorageError) in
            let file: OpenFile
            do throws(StorageError) {
                file = try Self.folder(of: key, in: root).open(key.name)
            } catch  where error.code == .notFound {
                throw StorageError(.notFound, "\(key): no such object")
            }
            return try body(file)
        }
    }

    /// Runs `body` with the open root, after checking that it is the database's store. Even if a disk is mounted or
    /// unmounted in between, `body` works where the marker was read.
    private func inRoot<T: Sendable>(
        _ body: @escaping @Sendable (borrowing Folder) throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        let root = root
        guard let identity else {
            return try await Disk.run { () throws(StorageError) in try body(try Self.open(root)) }
        }
        return try await identity.confirmed { id throws(StorageError) in
            try await Disk.run { () throws(StorageError) in
                let folder = try Self.open(root)
                try StoreMarker.require(id, in: try Self.marker(in: folder), at: root)
                return try body(folder)
            }
        }
    }

    private static func marker(in root: borrowing Folder) throws(StorageError) -> [UInt8]? {
        do throws(StorageError) {
            let file = try root.open(ObjectKey.marker.name)
            return try file.bytes(0..<min(file.size, StoreMarker.limit))
        } catch  where error.code == .notFound {
            return nil
        }
    }

    /// A missing root, such as a disk that isn't mounted, is an unreachable store, not an empty one.
    private static func open(_ root: String) throws(StorageError) -> Folder {
        do throws(StorageError) {
            return try Folder(at: root)
        } catch  where error.code == .notFound {
            throw StorageError(.unreachable, "the folder \(root) is not there")
        }
    }

    /// The keys of a folder and of those below it, no further than they can begin with `prefix`.
    private static func collect(
        in folder: borrowing Folder, below path: String, beginning prefix: String, into found: inout [ObjectKey]
    ) throws(StorageError) {
        for name in try folder.names() {
            let text = path + name
            guard text.hasPrefix(prefix) || prefix.hasPrefix(text + "/"), let key = try? ObjectKey(text) else {
                continue
            }
            switch try folder.type(of: name) {
            case S_IFDIR: try collect(in: try folder.folder(name), below: text + "/", beginning: prefix, into: &found)
            case S_IFREG: if text.hasPrefix(prefix) { found.append(key) }
            default: continue
            }
        }
    }

    private static func makeRoot(_ path: String) throws(StorageError) {
        var prefix = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            let above = prefix.isEmpty ? "/" : prefix
            prefix += "/\(part)"
            if mkdir(prefix, 0o700) == 0 {
                // With the dot, because links on the way to the root are allowed.
                try Folder(at: above + "/.").sync()
            } else if errno != EEXIST {
                throw StorageError(errno: errno, prefix)
            }
        }
    }

    /// Files that can't be removed now are left for a later start. They do no harm.
    private static func removeLeftovers(in folder: borrowing Folder) {
        for name in (try? folder.names()) ?? [] {
            guard let status = try? folder.status(of: name) else { continue }
            if name.hasPrefix(leftover) {
                // A younger file may still be written by another process.
                if time(nil) - status.st_mtim.tv_sec > 3600 { _ = try? folder.remove(name) }
            } else if status.st_mode & S_IFMT == S_IFDIR, let below = try? folder.folder(name) {
                removeLeftovers(in: below)
            }
        }
    }
}
