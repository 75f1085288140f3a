import Postgres

/// Handles the jobs of kinds that point to an endpoint (`errand.put_http_handler`): posts each attempt, and makes an
/// outcome of the reply.
///
/// An attempt that the endpoint accepts waits for its callback, as for a signal, and isn't posted again when that has
/// come.
package struct EndpointHandlers: Sendable {
    private let caller: any EndpointCaller

    package init(_ caller: any EndpointCaller) { self.caller = caller }

    /// The handler of a kind that this endpoint handles.
    ///
    /// - Parameter callbackKey: as `errand_internal.callback_mac` has it.
    func entry(_ endpoint: Endpoint, callbackKey: Bytes) -> Handlers.Entry {
        // The caller keeps to the timeout. This is for one that doesn't.
        let policy = JobPolicy(deadline: endpoint.timeout + .seconds(10))
        return Handlers.Entry(policy: policy) { job, context in
            if job.kind.rawValue == endpoint.circuit {
                return try await test(endpoint, request(of: job, callbackKey: callbackKey))
            }
            let callback = Callback(of: job)
            if let outcome = callback.outcome(after: context.signal, endpoint) { return outcome }
            let start = ContinuousClock.now
            let reply = try await caller.call(endpoint, request(of: job, callbackKey: callbackKey))
            // By the database's clock.
            let now = job.startedAt + (.now - (context.control.begunAt ?? start))
            return outcome(of: reply, from: endpoint, callback, at: now)
        }
    }

    private func request(of job: ClaimedJob, callbackKey: Bytes) -> EndpointRequest {
        let attempt = Callback(of: job).attempt
        let mac = caller.hmac(of: Array(attempt.utf8), key: callbackKey.bytes).prefix(16)
        return EndpointRequest(
            jobID: job.id, kind: job.kind.rawValue, queue: job.queue, attempt: job.attempt,
            maxAttempts: job.maxAttempts, payload: job.payload, traceparent: job.options?.forWorker.traceparent,
            callbackToken: "\(attempt).\(mac.hex)")
    }

    private func outcome(
        of reply: EndpointReply, from endpoint: Endpoint, _ callback: Callback, at now: Timestamp
    ) -> Outcome {
        switch reply {
        case .done(let output): .done(output: output)
        case .accepted: .wait(for: callback.signal, until: now + endpoint.callbackTimeout)
        case .busy(let delay, let reason): .unavailable(endpoint.circuit, until: now + delay, reason: reason)
        case .gone(let reason): .unavailable(endpoint.circuit, until: .infinity, reason: reason)
        case .unavailable(let reason): .unavailable(endpoint.circuit, reason: reason)
        case .refused(let reason, let cause): .fail(reason: reason, cause: cause)
        case .failed(let reason, let cause): .retry(after: nil, reason: reason, cause: cause)
        }
    }
}

// MARK: - errand.test_endpoint
extension EndpointHandlers {
    /// A test ends at once: it says what the endpoint does now.
    private func test(_ endpoint: Endpoint, _ request: EndpointRequest) async throws -> Outcome {
        let start = ContinuousClock.now
        let reply = try await caller.call(endpoint, request)
        let took = (.now - start).wholeMilliseconds
        switch reply {
        case .done: return try .done(Tested(reply: "done", milliseconds: took))
        case .accepted: return try .done(Tested(reply: "accepted", milliseconds: took))
        case .busy(_, let reason), .gone(let reason), .unavailable(let reason), .refused(let reason, _),
            .failed(let reason, _):
            return .fail(reason: reason, cause: "endpoint test")
        }
    }

    private struct Tested: Encodable {
        let reply: String
        let milliseconds: Int64
    }
}

extension Endpoint {
    /// The circuit of its jobs, and the kind of jobs that test it.
    fileprivate var circuit: String { "endpoint.\(name)" }
}

extension Sequence<UInt8> {
    fileprivate var hex: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

// MARK: - Callbacks
/// The callback of an attempt that its endpoint has accepted: `errand.callback`.
private struct Callback {
    /// What the token signs. A position is drawn anew for each attempt.
    let attempt: String
    /// What the names of all signals of this attempt begin with.
    private let start: String

    init(of job: ClaimedJob) {
        attempt = "\(job.id).\(job.attempt).\(job.position)"
        start = "callback/\(job.id).\(job.attempt)."
    }

    var signal: String { "callback/\(attempt)" }

    /// What follows from a signal; nil if it isn't of this attempt. After its wait an attempt has its number again, and
    /// another position.
    func outcome(after signal: ReceivedSignal?, _ endpoint: Endpoint) -> Outcome? {
        guard let signal, signal.name.hasPrefix(start) else { return nil }
        guard let payload = signal.payload else {
            return .retry(
                after: nil, reason: "no callback came within \(endpoint.callbackTimeout)", cause: "no callback")
        }
        // Cut out of the text, so that its numbers stay as they are. It is that of a jsonb, which has one form.
        let before = Array(#"{"output": "#.utf8)
        if payload.bytes.starts(with: before) {
            let output = JSONB(bytes: Array(payload.bytes.dropFirst(before.count).dropLast()))
            return .done(output: output.text == "null" ? nil : output)
        }
        guard let failure = try? payload.decode(Failure.self) else {
            return .fail(reason: "its callback can't be read", cause: "unreadable callback")
        }
        return failure.permanent
            ? .fail(reason: failure.error, cause: "reported by its endpoint")
            : .retry(after: nil, reason: failure.error, cause: "reported by its endpoint")
    }

    private struct Failure: Decodable {
        let error: String
        let permanent: Bool
    }
}
