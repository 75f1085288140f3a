import Glibc

/// An open folder of a store.
///
/// Every operation uses a single name in an open folder, and never a path. So a symbolic link on the way is refused and
/// not followed, whenever it was made.
struct Folder: ~Copyable {
    private let descriptor: Int32
    /// The prefix of names in errors: the folders below the root, each with a slash.
    private let path: String

    /// Opens the folder at the path, which the operator has chosen.
    init(at root: String) throws(StorageError) {
        let opened = Glibc.open(root, Self.flags | O_NOFOLLOW)
        guard opened >= 0 else { throw StorageError(errno: errno, root) }
        descriptor = opened
        path = ""
    }

    private init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(descriptor) }

    /// The same folder, opened once more.
    func same() throws(StorageError) -> Folder {
        let opened = openat(descriptor, ".", Self.flags)
        guard opened >= 0 else { throw StorageError(errno: errno, path + "folder") }
        return Folder(descriptor: opened, path: path)
    }

    private static let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
}

// MARK: - Folders below it
extension Folder {
    /// Opens a subfolder. With `making`, creates a missing one, which is on disk when this returns.
    func folder(_ name: String, making: Bool = false) throws(StorageError) -> Folder {
        if making {
            if mkdirat(descriptor, name, 0o700) != 0 && errno != EEXIST {
                throw StorageError(errno: errno, path + name)
            }
            // Also if it existed: another process may have just created it, and not synced it yet.
            try sync()
        }
        let opened = openat(descriptor, name, Self.flags | O_NOFOLLOW)
        if opened >= 0 { return Folder(descriptor: opened, path: "\(path)\(name)/") }
        let number = errno
        // A folder: it was removed after the mkdir, and another task has made it again.
        if let type = try type(of: name), type == S_IFLNK || making && type != S_IFDIR {
            throw StorageError(.denied, "\(path)\(name) is no folder")
        }
        throw StorageError(errno: number, path + name)
    }

    /// The names in the folder, in no order, without `.` and `..`.
    func names() throws(StorageError) -> [String] { try rawNames().map(Self.text) }

    /// The same as bytes: a name need not be UTF-8.
    private func rawNames() throws(StorageError) -> [[CChar]] {
        let opened = openat(descriptor, ".", Self.flags)
        guard opened >= 0 else { throw StorageError(errno: errno, path + "folder") }
        guard let entries = fdopendir(opened) else {
            let number = errno
            close(opened)
            throw StorageError(errno: number, path + "folder")
        }
        defer { closedir(entries) }
        var names: [[CChar]] = []
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) {
                    Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
                }
            }
            if strcmp(name, ".") != 0 && strcmp(name, "..") != 0 { names.append(name) }
        }
        return names
    }

    private static func text(_ raw: [CChar]) -> String {
        String(decoding: raw.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Removes up to `count` files of the folder, links but not their targets, and empty folders.
    ///
    /// - Returns: how many files: fewer than `count` if nothing is left.
    func deleteAll(atMost count: Int) throws(StorageError) -> Int {
        var removed = 0
        for name in try rawNames() where removed < count {
            if unlinkat(descriptor, name, 0) == 0 {
                removed += 1
            } else if errno == EISDIR {
                let text = Self.text(name)
                let opened = openat(descriptor, name, Self.flags | O_NOFOLLOW)
                guard opened >= 0 else { throw StorageError(errno: errno, path + text) }
                removed += try Folder(descriptor: opened, path: "\(path)\(text)/").deleteAll(atMost: count - removed)
                if removed < count { try removeFolder(name) }
            } else if errno != ENOENT {
                throw StorageError(errno: errno, path + Self.text(name))
            }
        }
        try sync()
        return removed
    }

    /// Removes a subfolder. Does nothing if it is missing or not empty.
    func removeFolder(_ name: [CChar]) throws(StorageError) {
        guard unlinkat(descriptor, name, AT_REMOVEDIR) != 0, errno != ENOENT, errno != ENOTEMPTY else { return }
        throw StorageError(errno: errno, path + Self.text(name))
    }

    /// `S_IFREG`, `S_IFDIR`, `S_IFLNK` or another; nil if nothing has the name.
    func type(of name: String) throws(StorageError) -> mode_t? {
        try status(of: name).map { $0.st_mode & S_IFMT }
    }

    /// The status of a name, for a link its own and not its target's; nil if the name doesn't exist.
    func status(of name: String) throws(StorageError) -> stat? {
        var status = stat()
        if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        guard errno == ENOENT else { throw StorageError(errno: errno, path + name) }
        return nil
    }
}

// MARK: - Files in it
extension Folder {
    /// Opens a file to read.
    func open(_ name: String) throws(StorageError) -> OpenFile {
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let opened = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { throw StorageError(errno: errno, path + name) }
        return try OpenFile(descriptor: opened, name: path + name)
    }

    /// Creates a new file, readable by its owner only.
    func create(_ name: String) throws(StorageError) -> OpenFile {
        let opened = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw StorageError(errno: errno, path + name) }
        return try OpenFile(descriptor: opened, name: path + name)
    }

    /// Renames a file, and replaces an existing one.
    func rename(_ old: String, to name: String) throws(StorageError) {
        guard renameat(descriptor, old, descriptor, name) == 0 else { throw StorageError(errno: errno, path + name) }
    }

    /// Links a file to a second name, unless the name exists. Returns whether it did.
    func link(_ old: String, to name: String) throws(StorageError) -> Bool {
        if linkat(descriptor, old, descriptor, name, 0) == 0 { return true }
        guard errno == EEXIST else { throw StorageError(errno: errno, path + name) }
        return false
    }

    /// Removes a name. Returns whether it existed.
    @discardableResult
    func remove(_ name: String) throws(StorageError) -> Bool {
        if unlinkat(descriptor, name, 0) == 0 { return true }
        guard errno == ENOENT else { throw StorageError(errno: errno, path + name) }
        return false
    }

    /// Syncs the names to disk. Some file systems don't support that for folders, which is ignored.
    func sync() throws(StorageError) {
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw StorageError(errno: errno, path + "folder") }
    }
}
