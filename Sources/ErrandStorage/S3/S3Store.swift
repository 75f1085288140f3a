import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1

/// Objects in a bucket of Amazon S3, or of a store with its protocol: Google Cloud Storage, MinIO, Ceph, rclone.
///
/// Every request is signed, has a total and an idle deadline, and fails with an error of one of three classes. Bodies
/// carry checksums that servers verify; each object carries its SHA-256, by which it is compared and checked when it is
/// read.
public struct S3Store: ObjectStore {
    let client: S3Client
    let versioning: S3Versioning
    let confirmation: S3Confirmation

    /// Opens no connection.
    ///
    /// - Throws: ``StorageError`` with code `misconfigured` if the file of authorities can't be read.
    public init(_ configuration: S3Configuration) throws(StorageError) {
        try self.init(configuration, identity: nil)
    }

    /// - Parameter identity: which store it has to be. Nil: it may be any.
    package init(_ configuration: S3Configuration, identity: StoreIdentity?) throws(StorageError) {
        client = try S3Client(configuration)
        confirmation = S3Confirmation(identity)
        versioning = S3Versioning(configuration.versions)
    }

    @discardableResult
    public func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool {
        try await confirm()
        do throws(StorageError) {
            return try await putOnce(content, at: key, type: type, if: condition)
        } catch  where error.code == .corrupt {
            // Damaged in transit, or the file changed in between: retried from the source.
            return try await putOnce(content, at: key, type: type, if: condition)
        } catch  where error.isAboutRights {
            throw await mayWrite() ? StorageError(.forbidden, error.detail) : error
        }
    }

    public func get(_ key: ObjectKey, atMost limit: Int) async throws(StorageError) -> [UInt8] {
        let limit = min(limit, client.configuration.limits.memory)
        try await confirm()
        return try await explaining { () throws(StorageError) in try await read(key, atMost: limit) }
    }

    public func get(_ key: ObjectKey, _ range: Range<Int>) async throws(StorageError) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        try await confirm()
        let request = S3Client.Request(
            method: .GET, key: name(key), headers: [("range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")],
            what: "get \(key)")
        let client = client
        return try await client.send(request, accepting: [200, 206]) { response in
            // Servers without ranges return the whole object; rclone returns 200 for a part, too.
            let isWhole = response.headers.first(name: "content-range") == nil
            if let length = response.length { response.deadline.extend(to: client.span(of: length)) }
            let limit = isWhole ? client.configuration.limits.memory : range.count
            let bytes = try await S3Client.bytes(of: response, atMost: limit)
            return isWhole ? Array(bytes[range.clamped(to: 0..<bytes.count)]) : bytes
        }
    }

    public func get(_ key: ObjectKey, toFile path: String) async throws(StorageError) {
        try await confirm()
        let client = client
        try await client.send(.init(method: .GET, key: name(key), what: "get \(key)")) { response in
            if let length = response.length { response.deadline.extend(to: client.span(of: length)) }
            let file = try await Disk.run { () throws(StorageError) in try NewFile(path) }
            do {
                var hasher = ContentHash.Hasher()
                for try await piece in response.body {
                    let bytes = Array(piece.readableBytesView)
                    hasher.update(bytes)
                    try await Disk.run { () throws(StorageError) in try file.write(bytes) }
                }
                try Self.verify(hasher.finish(), response, "get \(key)")
                try await Disk.run { () throws(StorageError) in try file.sync() }
            } catch {
                file.remove()
                throw error
            }
        }
    }

    public func status(of key: ObjectKey) async throws(StorageError) -> ObjectStatus? {
        try await confirm()
        let request = S3Client.Request(method: .HEAD, key: name(key), what: "head \(key)")
        return try await client.send(request, accepting: [200, 404]) { response in
            guard response.status == 200 else { return nil }
            guard let size = response.length else {
                throw StorageError(.busy, "head \(key): a response without a length")
            }
            return ObjectStatus(size: size, sha256: Self.digest(response.headers))
        }
    }

    public func stop() async { await client.stop() }

    public func presignedURL(of key: ObjectKey, for span: Duration) throws(StorageError) -> String {
        let seconds = span.components.seconds
        guard (1...604_800).contains(seconds), span == .seconds(seconds) else {
            throw StorageError(.rejected, "a URL's span: expected 1 to 604800 whole seconds, got \(span)")
        }
        return client.presigned(name(key), for: Int(seconds))
    }
}

// MARK: - Reading
extension S3Store {
    /// Reads a whole object, after checking its size.
    func read(_ key: ObjectKey, atMost limit: Int, isUrgent: Bool = false) async throws(StorageError) -> [UInt8] {
        let client = client
        let request = S3Client.Request(method: .GET, key: name(key), what: "get \(key)", isUrgent: isUrgent)
        return try await client.send(request) { response in
            if let length = response.length {
                guard length <= limit else {
                    throw StorageError(.tooLarge, "\(key): expected at most \(limit) bytes, got \(length)")
                }
                response.deadline.extend(to: client.span(of: length))
            }
            let bytes = try await S3Client.bytes(of: response, atMost: limit)
            try Self.verify(ContentHash(of: bytes), response, "get \(key)")
            return bytes
        }
    }
}

// MARK: - Putting
extension S3Store {
    private func putOnce(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool {
        let isAsked = condition == .absent && client.configuration.conditions == .head
        if isAsked, try await status(of: key) != nil { return false }
        let body: S3Body
        switch content {
        case .bytes(let bytes): body = S3Body(bytes)
        case .file(let path): body = try await Disk.run { () throws(StorageError) in try S3Body(file: path) }
        }
        var request = S3Client.Request(method: .PUT, key: name(key), body: body, what: "put \(key)")
        request.headers = [
            ("content-type", type.rawValue), ("content-md5", body.md5), (Self.digestHeader, body.hash),
        ]
        let isConditional = condition == .absent && !isAsked
        if isConditional { request.headers.append(("if-none-match", "*")) }
        let status = try await client.send(request, accepting: isConditional ? [200, 412] : [200])
        return status == 200
    }

    /// The header with the SHA-256 of an object's content, in hexadecimal digits.
    static let digestHeader = "x-amz-meta-sha256"

    private static func digest(_ headers: HTTPHeaders) -> ContentHash? {
        headers.first(name: digestHeader).flatMap(ContentHash.init(hex:))
    }

    private static func verify(_ digest: ContentHash, _ response: S3Client.Response, _ what: String)
        throws(StorageError)
    {
        if let expected = Self.digest(response.headers), expected != digest {
            throw StorageError(.failed, "\(what): expected content with SHA-256 \(expected), got \(digest)")
        }
    }

    /// The name of an object in the bucket.
    func name(_ key: ObjectKey) -> String {
        let prefix = client.configuration.prefix
        return prefix.isEmpty ? key.text : "\(prefix)/\(key.text)"
    }
}
