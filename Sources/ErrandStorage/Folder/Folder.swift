import Glibc

/// An open folder of a store.
///
/// Everything is done by a single name in an open folder, and never by a path: a symbolic link that somebody lays on the
/// way, at whatever moment, is refused and not followed.
struct Folder: ~Copyable {
    private let descriptor: Int32
    /// What errors put before a name in it: the folders below the root, each with a slash.
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
    /// Opens a folder in this one; with `making`, makes it where there is none, on disk when this returns.
    func folder(_ name: String, making: Bool = false) throws(StorageError) -> Folder {
        if making {
            if mkdirat(descriptor, name, 0o700) != 0 && errno != EEXIST {
                throw StorageError(errno: errno, path + name)
            }
            // Also where it was there: whoever made it a moment ago may not have come this far.
            try sync()
        }
        let opened = openat(descriptor, name, Self.flags | O_NOFOLLOW)
        if opened >= 0 { return Folder(descriptor: opened, path: "\(path)\(name)/") }
        let number = errno
        if let type = try type(of: name), type == S_IFLNK || making {
            throw StorageError(.denied, "\(path)\(name) is no folder")
        }
        throw StorageError(errno: number, path + name)
    }

    /// What the folder holds, in no order, without `.` and `..`.
    func names() throws(StorageError) -> [String] { try rawNames().map(Self.text) }

    /// Likewise, byte for byte: a name need not be UTF-8.
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

    /// Removes what lies in the folder: links and not what they lead to, folders that are left empty, and up to `count`
    /// files.
    ///
    /// - Returns: how many files: fewer than `count` where nothing is left.
    func sweep(atMost count: Int) throws(StorageError) -> Int {
        var removed = 0
        for name in try rawNames() where removed < count {
            if unlinkat(descriptor, name, 0) == 0 {
                removed += 1
            } else if errno == EISDIR {
                let text = Self.text(name)
                let opened = openat(descriptor, name, Self.flags | O_NOFOLLOW)
                guard opened >= 0 else { throw StorageError(errno: errno, path + text) }
                removed += try Folder(descriptor: opened, path: "\(path)\(text)/").sweep(atMost: count - removed)
                if removed < count { try removeFolder(name) }
            } else if errno != ENOENT {
                throw StorageError(errno: errno, path + Self.text(name))
            }
        }
        try sync()
        return removed
    }

    /// Removes a folder in this one. Nothing happens where there is none, and where somebody has put something into it.
    func removeFolder(_ name: [CChar]) throws(StorageError) {
        guard unlinkat(descriptor, name, AT_REMOVEDIR) != 0, errno != ENOENT, errno != ENOTEMPTY else { return }
        throw StorageError(errno: errno, path + Self.text(name))
    }

    /// `S_IFREG`, `S_IFDIR`, `S_IFLNK` or another; nil where nothing has the name.
    func type(of name: String) throws(StorageError) -> mode_t? {
        try status(of: name).map { $0.st_mode & S_IFMT }
    }

    /// What is known of a name, of a link itself and not of what it leads to; nil where nothing has it.
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
        // Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
        let opened = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { throw StorageError(errno: errno, path + name) }
        return try OpenFile(descriptor: opened, name: path + name)
    }

    /// Makes a file that nobody else has, for its owner alone.
    func create(_ name: String) throws(StorageError) -> OpenFile {
        let opened = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw StorageError(errno: errno, path + name) }
        return try OpenFile(descriptor: opened, name: path + name)
    }

    /// Gives a file its name, in place of the one that had it.
    func rename(_ old: String, to name: String) throws(StorageError) {
        guard renameat(descriptor, old, descriptor, name) == 0 else { throw StorageError(errno: errno, path + name) }
    }

    /// Gives a file a second name, unless something has it; says whether it did.
    func link(_ old: String, to name: String) throws(StorageError) -> Bool {
        if linkat(descriptor, old, descriptor, name, 0) == 0 { return true }
        guard errno == EEXIST else { throw StorageError(errno: errno, path + name) }
        return false
    }

    /// Removes a name; says whether there was one.
    @discardableResult
    func remove(_ name: String) throws(StorageError) -> Bool {
        if unlinkat(descriptor, name, 0) == 0 { return true }
        guard errno == ENOENT else { throw StorageError(errno: errno, path + name) }
        return false
    }

    /// Brings the names to disk. A file system that can't do that for folders has no better to offer.
    func sync() throws(StorageError) {
        guard fsync(descriptor) == 0 || errno == EINVAL else { throw StorageError(errno: errno, path + "folder") }
    }
}
