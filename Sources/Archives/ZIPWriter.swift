import CArchive
import Foundation
import Glibc

/// Writes a ZIP file piece by piece: what it returns is the file, in order. Holds its list of names, and no content.
///
/// ```swift
/// var writer = try ZIPWriter()
/// var file = try writer.entry("0001 anna.jpg", size: bytes.count, modified: date)
/// file += try writer.content(bytes)
/// file += try writer.finish()
/// ```
/// Entries are stored as they are, since photos are compressed already. Files of more than 4 GB, or 65,535 entries, are
/// written as ZIP64. An instance is for one task at a time.
package final class ZIPWriter {
    private let archive: OpaquePointer
    /// What libarchive has written and nobody has taken yet.
    private let output = Output()
    /// The bytes that the current entry is still to get.
    private var missing = 0
    private var isFinished = false

    private final class Output {
        var bytes: [UInt8] = []
    }

    /// Where names are UTF-8, whatever the process's own locale. libarchive marks them so by the thread's locale.
    private static let utf8 = Locale()

    private final class Locale: Sendable {
        // Never freed, and never changed.
        nonisolated(unsafe) let pointer = newlocale(LC_CTYPE_MASK, "C.UTF-8", nil)
    }

    package init() throws(ZIPError) {
        guard let archive = archive_write_new() else { throw ZIPError("no memory for a ZIP file") }
        self.archive = archive
        try check(archive_write_set_format_zip(archive))
        try check(archive_write_zip_set_compression_store(archive))
        // Nothing is collected to blocks, and nothing is filled up to one.
        try check(archive_write_set_bytes_per_block(archive, 0))
        try check(
            archive_write_open(
                archive, Unmanaged.passUnretained(output).toOpaque(), nil,
                { _, output, bytes, count in
                    guard let output, let bytes else { return -1 }
                    Unmanaged<Output>.fromOpaque(output).takeUnretainedValue().bytes
                        .append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: count))
                    return count
                }, nil))
    }

    deinit {
        // Closing it would write the rest, which nobody wants now.
        if !isFinished { archive_write_fail(archive) }
        archive_write_free(archive)
    }

    /// Begins an entry. Its content follows, in one piece or more.
    ///
    /// - Parameters:
    ///   - name: the entry's name, unique in the file.
    ///   - size: the exact size of its content, in bytes.
    ///   - modified: its time.
    package func entry(_ name: String, size: Int, modified: Date) throws(ZIPError) -> [UInt8] {
        guard missing == 0 else { throw ZIPError("an entry: expected \(missing) more bytes, got the next entry") }
        guard let entry = archive_entry_new() else { throw ZIPError("no memory for an entry") }
        defer { archive_entry_free(entry) }
        archive_entry_set_pathname(entry, name)
        archive_entry_set_size(entry, la_int64_t(size))
        archive_entry_set_filetype(entry, UInt32(CArchive.S_IFREG))
        archive_entry_set_perm(entry, 0o644)
        archive_entry_set_mtime(entry, time_t(modified.timeIntervalSince1970.rounded(.down)), 0)
        let previous = Self.utf8.pointer.flatMap { uselocale($0) }
        let code = archive_write_header(archive, entry)
        if let previous { uselocale(previous) }
        try check(code)
        missing = size
        return taken()
    }

    /// Adds a piece to the content of the entry.
    package func content(_ bytes: [UInt8]) throws(ZIPError) -> [UInt8] {
        guard bytes.count <= missing else {
            throw ZIPError("an entry: expected at most \(missing) more bytes, got \(bytes.count)")
        }
        var offset = 0
        while offset < bytes.count {
            let written = bytes.withUnsafeBytes { buffer in
                archive_write_data(archive, buffer.baseAddress! + offset, buffer.count - offset)
            }
            guard written > 0 else { throw error() }
            offset += written
        }
        missing -= bytes.count
        return taken()
    }

    /// Ends the file: the list of its entries. Nothing may follow.
    package func finish() throws(ZIPError) -> [UInt8] {
        guard missing == 0 else { throw ZIPError("an entry: expected \(missing) more bytes, got the file's end") }
        isFinished = true
        try check(archive_write_close(archive))
        return taken()
    }

    private func taken() -> [UInt8] {
        defer { output.bytes.removeAll() }
        return output.bytes
    }

    private func check(_ code: Int32) throws(ZIPError) {
        // A warning, such as for a name that could not be converted, leaves a file that is not the wanted one.
        if code != ARCHIVE_OK { throw error() }
    }

    private func error() -> ZIPError {
        ZIPError("libarchive: \(archive_error_string(archive).map { String(cString: $0) } ?? "an unknown error")")
    }
}

/// A ZIP file could not be written.
package struct ZIPError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
