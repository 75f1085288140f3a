import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Outbound
import Synchronization

/// Sends signed requests to one bucket, each with a deadline, and maps every failure to a ``StorageError``.
///
/// A request on a broken connection is retried once over a new connection, which hides a server's restart. Every
/// request is idempotent.
final class S3Client: Sendable {
    let configuration: S3Configuration
    private let http: HTTPClient
    private let signature: SignatureV4
    private let now: @Sendable () -> Date
    private let reachability = Mutex(Reachability())
    private let start = ContinuousClock.now

    /// - Throws: ``StorageError`` with code `misconfigured` if the file of authorities can't be read.
    init(_ configuration: S3Configuration, now: @escaping @Sendable () -> Date = { Date() }) throws(StorageError) {
        self.configuration = configuration
        self.now = now
        signature = SignatureV4(credentials: configuration.credentials, region: configuration.region)
        http = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: try Self.httpConfiguration(configuration))
    }

    // The HTTP client traps if it isn't shut down. A second shutdown does no harm.
    deinit { http.shutdown { _ in } }

    func stop() async { try? await http.shutdown() }

    /// A request to send.
    struct Request {
        var method: HTTPMethod
        /// The whole key, prefix included; nil is the bucket.
        var key: String?
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var body = S3Body.none
        /// What it does, for errors: `put photos/1.jpg`.
        var what: String
        /// Whether it is sent even if one of its sort was refused a moment ago.
        var isUrgent = false

        var operation: Reachability.Operation {
            // A large object is stored in parts by POST, and its parts are given up by DELETE.
            let isOfParts = query.contains { ["uploads", "uploadId"].contains($0.name) }
            return switch method {
            case .PUT: .write
            case .DELETE, .POST: isOfParts ? .write : .delete
            default: key == nil ? .list : .read
            }
        }
    }

    /// The head of a response. The caller reads its body.
    struct Response {
        let status: Int
        let headers: HTTPHeaders
        let body: HTTPClientResponse.Body
        let deadline: Deadline

        var length: Int? { headers.first(name: "content-length").flatMap { Int($0) } }
    }
}

// MARK: - Sending
extension S3Client {
    /// Sends a request, and reads the response with `read` if its status is in `accepted`.
    ///
    /// - Throws: ``StorageError`` for any other response, and for none.
    func send<T: Sendable>(
        _ request: Request, accepting accepted: Set<Int> = [200, 204],
        reading read: @escaping @Sendable (Response) async throws -> T
    ) async throws(StorageError) -> T {
        let operation = request.operation
        if !request.isUrgent, let refusal = reachability.withLock({ $0.refusal(of: operation, at: uptime) }) {
            throw refusal
        }
        do throws(StorageError) {
            let result: T
            do throws(StorageError) {
                result = try await once(request, accepted, read)
            } catch  where error.code == .interrupted && !Task.isCancelled {
                result = try await once(request, accepted, read)
            }
            tried(operation, nil)
            return result
        } catch {
            tried(operation, error)
            throw error
        }
    }

    /// The same, for responses whose body matters only for errors.
    func send(_ request: Request, accepting accepted: Set<Int> = [200, 204]) async throws(StorageError) -> Int {
        let credentials = configuration.credentials
        let what = request.what
        return try await send(request, accepting: accepted) { response in
            let body = try await Self.bytes(of: response, atMost: Self.responseLimit)
            // Some responses become errors after their status 200 was sent.
            if response.status == 200, XMLElement(document: body)?.name == "Error" {
                throw S3Failure(status: 200, body: body).error(what, hiding: credentials)
            }
            return response.status
        }
    }

    /// The same, for responses in XML.
    func ask(_ request: Request) async throws(StorageError) -> XMLElement {
        let credentials = configuration.credentials
        let what = request.what
        return try await send(request) { response in
            let body = try await Self.bytes(of: response, atMost: Self.responseLimit)
            guard let element = XMLElement(document: body) else {
                throw StorageError(.busy, "\(what): expected XML, got something else")
            }
            if element.name == "Error" { throw S3Failure(status: 200, body: body).error(what, hiding: credentials) }
            return element
        }
    }

    /// The largest response that is no object: a listing of 1,000 keys takes half a megabyte.
    private static let responseLimit = 4 << 20

    private var uptime: Duration { .now - start }

    private func tried(_ operation: Reachability.Operation, _ error: StorageError?) {
        reachability.withLock { $0.tried(operation, error, at: uptime) }
    }

    private func once<T: Sendable>(
        _ request: Request, _ accepted: Set<Int>, _ read: @escaping @Sendable (Response) async throws -> T
    ) async throws(StorageError) -> T {
        let signed = try await signed(request)
        let deadline = Deadline(in: limits.total + span(of: request.body.size))
        let (what, credentials, http) = (request.what, configuration.credentials, http)
        return try await deadline.watch(what) { () throws(StorageError) in
            do {
                let httpResponse = try await http.execute(signed, timeout: .hours(24))
                let status = Int(httpResponse.status.code)
                let response = Response(
                    status: status, headers: httpResponse.headers, body: httpResponse.body, deadline: deadline)
                guard accepted.contains(status) else {
                    let body =
                        request.method == .HEAD ? [] : try await Self.bytes(of: response, atMost: Self.responseLimit)
                    throw S3Failure(status: status, body: body).error(what, hiding: credentials)
                }
                return try await read(response)
            } catch let error as StorageError {
                throw error
            } catch {
                throw Self.error(error, what)
            }
        }
    }

    /// How long an object of that size may take at the slowest, beside the total of any request.
    func span(of size: Int) -> Duration { .seconds(Double(size) / Double(limits.slowest)) }

    private var limits: S3Configuration.Limits { configuration.limits }

    private static func error(_ error: any Error, _ what: String) -> StorageError {
        switch ConnectionFailure(error) {
        case .unreachable: StorageError(.unreachable, "\(what): \(error)")
        case .lost: StorageError(.interrupted, "\(what): the connection was lost")
        case .timedOut: StorageError(.timedOut, "\(what): nothing was sent or received for too long")
        // The short description: the long one shows the request, whose headers contain keys.
        case nil:
            StorageError(
                error is HTTPParserError ? .interrupted : .failed,
                "\(what): \((error as? HTTPClientError)?.shortDescription ?? "\(error)")")
        }
    }

    /// A whole body.
    ///
    /// - Throws: ``StorageError`` if it is larger than `limit` bytes.
    static func bytes(of response: Response, atMost limit: Int) async throws -> [UInt8] {
        var all: [UInt8] = []
        all.reserveCapacity(min(response.length ?? 0, limit))
        for try await piece in response.body {
            all.append(contentsOf: piece.readableBytesView)
            guard all.count <= limit else { throw StorageError(.tooLarge, "a response of more than \(limit) bytes") }
        }
        return all
    }
}

// MARK: - Requests
extension S3Client {
    private func signed(_ request: Request) async throws(StorageError) -> HTTPClientRequest {
        let time = now()
        let path = configuration.path(of: request.key)
        var headers: [(name: String, value: String)] = [
            ("host", configuration.authority), ("x-amz-date", SignatureV4.stamp(time)),
            ("x-amz-content-sha256", request.body.hash),
        ]
        if let token = configuration.credentials.sessionToken { headers.append(("x-amz-security-token", token)) }
        headers += request.headers
        let authorization = signature.authorization(
            of: .init(
                method: request.method.rawValue, path: path, query: request.query, headers: headers,
                payloadHash: request.body.hash),
            at: time)
        var made = HTTPClientRequest(url: url(path, SignatureV4.query(request.query)))
        made.method = request.method
        made.headers = HTTPHeaders(headers.map { ($0.name, $0.value) } + [("authorization", authorization)])
        made.body = try request.body.httpBody()
        return made
    }

    /// A URL by which anybody may read the object until `seconds` have passed.
    func presigned(_ key: String, for seconds: Int) -> String {
        let path = configuration.path(of: key)
        let query = signature.presignedQuery(
            of: .init(
                method: "GET", path: path, headers: [("host", configuration.authority)],
                payloadHash: SignatureV4.unsignedPayload),
            for: seconds, at: now())
        return url(path, query)
    }

    private func url(_ path: String, _ query: String) -> String {
        let scheme = configuration.isTLS ? "https" : "http"
        let address = "\(scheme)://\(configuration.authority)\(SignatureV4.encoded(path: path))"
        return query.isEmpty ? address : "\(address)?\(query)"
    }

    static func httpConfiguration(
        _ configuration: S3Configuration
    ) throws(StorageError) -> HTTPClient.Configuration {
        var tls = TLSConfiguration.makeClientConfiguration()
        if let file = configuration.authorities {
            do {
                tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
            } catch {
                throw StorageError(.misconfigured, "authorities: expected a file of PEM certificates, got \(error)")
            }
        }
        let limits = configuration.limits
        var http = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(
                connect: limits.connect.amount, read: limits.idle.amount, write: limits.idle.amount),
            decompression: .disabled)
        http.httpVersion = .http1Only
        http.connectionPool.retryConnectionEstablishment = false
        // Further requests wait for a connection within their deadline.
        http.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // Spans of requests would have keys of objects and signatures, and the bucket would get our trace.
        http.tracing.tracer = nil
        http.dnsOverride = configuration.addresses
        return http
    }
}

extension Duration {
    fileprivate var amount: TimeAmount {
        .nanoseconds(components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000)
    }
}
