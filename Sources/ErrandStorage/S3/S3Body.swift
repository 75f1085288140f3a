import AsyncHTTPClient
import Cryptography
import Foundation
import NIOCore

/// The body of a request, with its hashes.
struct S3Body: Sendable {
    private enum Source: Sendable {
        case bytes([UInt8])
        case file(path: String)
    }

    private let source: Source
    let size: Int
    /// SHA-256 in hexadecimal digits: part of the signature, so a server that gets other bytes refuses them.
    let hash: String
    /// MD5 in base 64, a checksum that every server supports.
    let md5: String

    static let none = S3Body([])

    init(_ bytes: [UInt8]) {
        source = .bytes(bytes)
        size = bytes.count
        hash = SHA256.hash(bytes).hex
        md5 = Data(MD5.hash(bytes)).base64EncodedString()
    }

    /// Reads the file once for its hashes; it is read again when it is sent. Call it where blocking is allowed.
    init(file path: String) throws(StorageError) {
        let file = try OpenFile(reading: path)
        var sha256 = SHA256()
        var md5 = MD5()
        var size = 0
        while true {
            let piece = try file.piece()
            if piece.isEmpty { break }
            sha256.update(piece)
            md5.update(piece)
            size += piece.count
        }
        source = .file(path: path)
        self.size = size
        hash = sha256.finalize().hex
        self.md5 = Data(md5.finalize()).base64EncodedString()
    }

    /// A new body for each attempt; nil for none.
    func httpBody() throws(StorageError) -> HTTPClientRequest.Body? {
        switch source {
        case .bytes(let bytes): size == 0 ? nil : .bytes(ByteBuffer(bytes: bytes))
        case .file(let path): .stream(FilePieces(path: path), length: .known(Int64(size)))
        }
    }
}

/// A file in pieces, each read on a thread that may block.
private struct FilePieces: AsyncSequence, Sendable {
    typealias Element = ByteBuffer
    let path: String

    func makeAsyncIterator() -> Iterator { Iterator(path: path) }

    struct Iterator: AsyncIteratorProtocol {
        let path: String
        private var offset = 0

        init(path: String) { self.path = path }

        mutating func next() async throws -> ByteBuffer? {
            let (path, offset) = (path, offset)
            let piece = try await Disk.run { () throws(StorageError) in
                try OpenFile(reading: path).piece(at: offset)
            }
            self.offset += piece.count
            return piece.isEmpty ? nil : ByteBuffer(bytes: piece)
        }
    }
}
