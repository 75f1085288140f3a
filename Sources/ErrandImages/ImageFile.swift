import FoundationEssentials
import SystemPackage

#if canImport(Glibc)
import Glibc
#endif

/// Reads photos from disk, and writes results so that nobody ever sees half of one.
package enum ImageFile {
    /// The bytes of a regular file, `limit` at most.
    ///
    /// - Throws: ``ImageError/Code/tooLargeInput``, or ``ImageError/Code/fileAccess`` with the system's reason.
    package static func read(_ path: String, atMost limit: Int) throws(ImageError) -> [UInt8] {
        do {
            let file = try FileDescriptor.open(FilePath(path), .readOnly, options: [.closeOnExec, .nonBlocking])
            return try file.closeAfter {
                var status = stat()
                guard fstat(file.rawValue, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                    throw ImageError(.fileAccess, "\(path) is no regular file")
                }
                guard status.st_size <= limit else {
                    throw ImageError(.tooLargeInput, "\(status.st_size) bytes, at most \(limit)")
                }
                let size = Int(status.st_size)
                return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
                    while count < size {
                        let part = UnsafeMutableRawBufferPointer(
                            rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
                        let read = try file.read(into: part)
                        if read == 0 { break }
                        count += read
                    }
                }
            }
        } catch let error as ImageError {
            throw error
        } catch {
            throw ImageError(.fileAccess, "cannot read \(path): \(error)")
        }
    }

    /// Writes a file through a temporary one in the same folder, which is put on disk and then takes the name. Mode
    /// 0600.
    ///
    /// - Throws: ``ImageError/Code/fileAccess`` with the system's reason. Then what was at `path` before is still
    ///   there.
    package static func write(_ bytes: [UInt8], to path: String) throws(ImageError) {
        let destination = FilePath(path)
        let folder = destination.removingLastComponent()
        var template = Array((folder.isEmpty ? FilePath(".") : folder).appending(".errand-XXXXXX").string.utf8CString)
        let descriptor = mkstemp(&template)
        let reason = errno
        guard descriptor >= 0 else {
            throw ImageError(.fileAccess, "cannot write to \(folder): \(Errno(rawValue: reason))")
        }
        do {
            let file = FileDescriptor(rawValue: descriptor)
            try file.closeAfter {
                _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
                try file.writeAll(bytes)
                guard fsync(descriptor) == 0 else { throw Errno(rawValue: errno) }
            }
            guard rename(template, path) == 0 else { throw Errno(rawValue: errno) }
        } catch {
            unlink(template)
            throw ImageError(.fileAccess, "cannot write \(path): \(error)")
        }
    }
}
