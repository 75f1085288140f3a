/// Writes an object to a temporary file in its folder, and renames the file at the end.
final class FolderWriter: ObjectWriter {
    private let folder: Folder
    private let file: OpenFile
    private let temporary: String
    private let name: String

    init(folder: consuming Folder, file: consuming OpenFile, temporary: String, name: String) {
        self.folder = folder
        self.file = file
        self.temporary = temporary
        self.name = name
    }

    func write(_ bytes: [UInt8]) async throws(StorageError) {
        try await Disk.run { () throws(StorageError) in try self.file.write(bytes) }
    }

    func commit() async throws(StorageError) {
        try await Disk.run { () throws(StorageError) in
            try self.file.sync()
            do throws(StorageError) {
                try self.folder.rename(self.temporary, to: self.name)
            } catch  where error.code == .notFound {
                // `deleteAll` has removed it.
                throw StorageError(.busy, error.detail)
            }
            try self.folder.sync()
        }
    }

    func abort() async {
        // A file that can't be removed now is removed at a later start.
        _ = try? await Disk.run { () throws(StorageError) in try self.folder.remove(self.temporary) }
    }
}
