import Subprocess

/// Reads frames from a process's output, in whatever pieces it arrives.
struct FrameReader {
    /// The output ended, or isn't that of an `errand-image`.
    struct Broken: Error {}

    private var pieces: SubprocessOutputSequence.Iterator
    private var buffer: [UInt8] = []

    init(_ output: SubprocessOutputSequence) {
        pieces = output.makeAsyncIterator()
    }

    /// The header of the next frame.
    mutating func header<Header: Decodable>(_ type: Header.Type) async throws -> Header {
        guard let length = Frame.headerLength(try await take(4)) else { throw Broken() }
        return try Frame.header(type, from: try await take(length))
    }

    /// The next `count` bytes.
    mutating func take(_ count: Int) async throws -> [UInt8] {
        while buffer.count < count {
            guard let piece = try await pieces.next() else { throw Broken() }
            piece.withUnsafeBytes { buffer.append(contentsOf: $0) }
        }
        let taken = Array(buffer.prefix(count))
        buffer.removeFirst(count)
        return taken
    }
}
