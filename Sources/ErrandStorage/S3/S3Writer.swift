import NIOHTTP1
import Synchronization

/// Writes an object by a multipart upload, with one part in memory at a time.
final class S3Writer: ObjectWriter {
    /// All parts but the last one have this size. S3 wants 5 MiB at least and 10,000 parts at most: 80 GB in all.
    static let partSize = 8 << 20

    private let store: S3Store
    private let key: ObjectKey
    private let upload: String
    private let progress = Mutex(Progress())

    /// What was written so far.
    private struct Progress {
        var buffer: [UInt8] = []
        /// The parts that the store has, each by its tag.
        var parts: [String] = []
        /// In bytes, without the buffer.
        var size = 0

        /// The next part; nil if the buffer is too small for one.
        mutating func part(isLast: Bool) -> (number: Int, bytes: [UInt8])? {
            // An object has at least one part, even if it is empty.
            guard buffer.count >= S3Writer.partSize || isLast && (!buffer.isEmpty || parts.isEmpty) else { return nil }
            let bytes = Array(buffer.prefix(S3Writer.partSize))
            buffer.removeFirst(bytes.count)
            return (parts.count + 1, bytes)
        }
    }

    init(store: S3Store, key: ObjectKey, upload: String) {
        self.store = store
        self.key = key
        self.upload = upload
    }

    func write(_ bytes: [UInt8]) async throws(StorageError) {
        progress.withLock { $0.buffer += bytes }
        try await putParts(isLast: false)
    }

    func commit() async throws(StorageError) {
        try await putParts(isLast: true)
        let (parts, size) = progress.withLock { ($0.parts, $0.size) }
        do throws(StorageError) {
            try await store.completeUpload(upload, of: key, parts)
        } catch {
            // The response may have been lost: a repeated request finds no upload any more.
            guard [.notFound, .interrupted, .timedOut].contains(error.code), !Task.isCancelled,
                try await store.size(of: key) == size
            else {
                throw error.code == .notFound ? StorageError(.busy, "put \(key): its upload was aborted") : error
            }
        }
    }

    func abort() async {
        progress.withLock { $0.buffer = [] }
        let (store, upload, key) = (store, upload, key)
        // In a task of its own: a request of a cancelled one would not be sent.
        await Task { await store.abortUpload(upload, of: store.name(key)) }.value
    }

    private func putParts(isLast: Bool) async throws(StorageError) {
        while let (number, bytes) = progress.withLock({ $0.part(isLast: isLast) }) {
            let tag: String
            do throws(StorageError) {
                tag = try await store.putPart(bytes, number, of: upload, key)
            } catch  where error.code == .corrupt {
                tag = try await store.putPart(bytes, number, of: upload, key)
            } catch  where error.code == .notFound {
                throw StorageError(.busy, "put \(key): its upload was aborted")
            }
            progress.withLock {
                $0.parts.append(tag)
                $0.size += bytes.count
            }
        }
    }
}

// MARK: - Multipart uploads
extension S3Store {
    public func writer(of key: ObjectKey, type: ContentType) async throws(StorageError) -> any ObjectWriter {
        try await confirm()
        await abortUploads(beginning: name(key), isWhole: true)
        let response = try await client.ask(
            .init(
                method: .POST, key: name(key), query: [("uploads", "")], headers: [("content-type", type.rawValue)],
                what: "put \(key)"))
        guard let upload = response["UploadId"]?.text, !upload.isEmpty else {
            throw StorageError(.busy, "put \(key): expected the id of an upload, got none")
        }
        return S3Writer(store: self, key: key, upload: upload)
    }

    /// Puts a part, and returns its tag.
    fileprivate func putPart(
        _ bytes: [UInt8], _ number: Int, of upload: String, _ key: ObjectKey
    ) async throws(StorageError) -> String {
        let body = S3Body(bytes)
        let request = S3Client.Request(
            method: .PUT, key: name(key), query: [("partNumber", "\(number)"), ("uploadId", upload)],
            headers: [("content-md5", body.md5)], body: body, what: "put part \(number) of \(key)")
        return try await client.send(request, accepting: [200]) { response in
            _ = try await S3Client.bytes(of: response, atMost: 1 << 20)
            guard let tag = response.headers.first(name: "etag") else {
                throw StorageError(.busy, "put part \(number) of \(key): expected a tag, got none")
            }
            return tag
        }
    }

    fileprivate func completeUpload(_ upload: String, of key: ObjectKey, _ parts: [String]) async throws(StorageError) {
        let lines = parts.enumerated().map { index, tag in
            "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(XMLElement.escaped(tag))</ETag></Part>"
        }
        let body = S3Body(Array("<CompleteMultipartUpload>\(lines.joined())</CompleteMultipartUpload>".utf8))
        _ = try await client.ask(
            .init(
                method: .POST, key: name(key), query: [("uploadId", upload)],
                headers: [("content-type", "application/xml")], body: body, what: "put \(key)"))
    }

    fileprivate func abortUpload(_ upload: String, of name: String) async {
        let request = S3Client.Request(
            method: .DELETE, key: name, query: [("uploadId", upload)], what: "abort the upload of \(name)")
        _ = try? await client.send(request, accepting: Self.anyStatus)
    }

    /// Aborts uploads of objects whose names begin so, or of the object with that name. A server that can't list them,
    /// or doesn't allow it, keeps their parts: a rule of the bucket has to remove those.
    func abortUploads(beginning prefix: String, isWhole: Bool = false) async {
        let request = S3Client.Request(
            method: .GET, query: [("uploads", ""), ("prefix", prefix)], what: "uploads of \(prefix)")
        let found = try? await client.send(request, accepting: Self.anyStatus) { response in
            let body = try await S3Client.bytes(of: response, atMost: 4 << 20)
            return response.status == 200 ? XMLElement(document: body)?.all("Upload") ?? [] : []
        }
        for entry in found ?? [] {
            guard let name = entry["Key"]?.text, let upload = entry["UploadId"]?.text,
                isWhole ? name == prefix : name.hasPrefix(prefix)
            else { continue }
            await abortUpload(upload, of: name)
        }
    }

    /// What fails here is no reason to refuse the store's other requests.
    private static let anyStatus: Set<Int> = [200, 204, 400, 403, 404, 405, 501]
}
