import Postgres

/// A server that handles jobs by HTTP, as registering a worker returns it: `errand.put_endpoint`.
package struct Endpoint: Sendable, Hashable, Decodable {
    package let name: String
    package let url: String
    /// Which of the worker's secrets signs requests.
    package let secretName: String
    /// From the start of a call to the end of its answer.
    package let timeout: Duration
    /// How long a job waits for its callback.
    package let callbackTimeout: Duration
    /// Whether its address may be one of a private network.
    package let allowsPrivate: Bool

    package init(
        name: String, url: String, secretName: String, timeout: Duration = .seconds(30),
        callbackTimeout: Duration = .seconds(86_400), allowsPrivate: Bool = false
    ) {
        self.name = name
        self.url = url
        self.secretName = secretName
        self.timeout = timeout
        self.callbackTimeout = callbackTimeout
        self.allowsPrivate = allowsPrivate
    }

    private enum CodingKeys: String, CodingKey {
        case name, url
        case secretName = "secret_name"
        case timeout = "timeout_ms"
        case callbackTimeout = "callback_timeout_ms"
        case allowsPrivate = "allows_private"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        name = try container.decode(String.self, forKey: .name)
        url = try container.decode(String.self, forKey: .url)
        secretName = try container.decode(String.self, forKey: .secretName)
        timeout = .milliseconds(try container.decode(Int64.self, forKey: .timeout))
        callbackTimeout = .milliseconds(try container.decode(Int64.self, forKey: .callbackTimeout))
        allowsPrivate = try container.decode(Bool.self, forKey: .allowsPrivate)
    }
}

/// An attempt, as it is posted to an endpoint.
package struct EndpointRequest: Sendable {
    package let jobID: Int64
    package let kind: String
    package let queue: String
    /// Counted from 1.
    package let attempt: Int
    package let maxAttempts: Int
    /// The body, byte for byte.
    package let payload: JSONB
    /// In W3C Trace Context format; nil if there is no trace.
    package let traceparent: String?
    /// The right to complete this attempt by a callback.
    package let callbackToken: String

    package init(
        jobID: Int64, kind: String, queue: String, attempt: Int, maxAttempts: Int, payload: JSONB,
        traceparent: String? = nil, callbackToken: String
    ) {
        self.jobID = jobID
        self.kind = kind
        self.queue = queue
        self.attempt = attempt
        self.maxAttempts = maxAttempts
        self.payload = payload
        self.traceparent = traceparent
        self.callbackToken = callbackToken
    }
}

/// What an endpoint's answer means for the job. Reasons go to the job's row, and causes to logs: a fixed word each.
package enum EndpointReply: Sendable, Hashable {
    /// The job succeeded. The output is valid JSON of at most 256 KB.
    case done(output: JSONB?)
    /// The server answers later, by a callback.
    case accepted
    /// No job of the endpoint starts for so long. The attempt is not counted.
    case busy(for: Duration, reason: String)
    /// No job of the endpoint starts until an operator says so. The attempt is not counted.
    case gone(reason: String)
    /// Nothing was sent: the server is down, or the operator has to fix something. The attempt is not counted.
    case unavailable(reason: String)
    /// A retry would not help.
    case refused(reason: String, cause: String)
    /// The attempt failed, and is retried.
    case failed(reason: String, cause: String)
}

/// Posts attempts to endpoints. The program supplies it, since the library `Errand` has no HTTP client.
package protocol EndpointCaller: Sendable {
    /// Posts an attempt once. Returns within the endpoint's timeout, whatever its server does.
    ///
    /// - Throws: a `CancellationError` if the task was cancelled before there was an answer.
    func call(_ endpoint: Endpoint, _ request: EndpointRequest) async throws(CancellationError) -> EndpointReply

    /// The HMAC-SHA256 of a message, for callback tokens: the library has no cryptography either.
    func hmac(of message: [UInt8], key: [UInt8]) -> [UInt8]
}
