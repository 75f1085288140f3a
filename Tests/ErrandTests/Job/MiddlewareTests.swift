import ErrandTestKit
import Foundation
import Postgres
import Synchronization
import Testing

@testable import Errand

/// A job of a tenant.
private struct Billed: Job {
    static let kind: JobKind = "billed"
    static let policy = JobPolicy(retry: .exponential(attempts: 3, first: .milliseconds(1)))
    var tenant = "a"
}

private struct BilledHandler: FailureHandler {
    let body: @Sendable (Billed, JobContext) async throws -> Outcome

    func run(_ job: Billed, in context: JobContext) async throws -> Outcome { try await body(job, context) }

    func failed(_ job: Billed, _ failure: JobFailure, in context: JobContext) async throws -> Outcome {
        try .done([job.tenant, failure.error, Tenant.current])
    }
}

private enum Tenant {
    @TaskLocal static var current = "none"
}

/// Writes down what passes.
private final class Log: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var all: [String] { lines.withLock(\.self) }
}

/// Wraps payloads in an array of its name and them.
private struct Named: Middleware {
    let name: String
    let log: Log

    func run(_ context: JobContext, _ next: @Sendable () async throws -> Outcome) async throws -> Outcome {
        log.add("\(name) begins \(context.kind)")
        defer { log.add("\(name) ends") }
        return try await Tenant.$current.withValue(Tenant.current + name) { try await next() }
    }

    func encode(_ payload: JSONB, of kind: JobKind) throws -> JSONB {
        JSONB("[\"\(name)\", \(payload.text)]")
    }

    func decode(_ payload: JSONB, of kind: JobKind) throws -> JSONB {
        let text = payload.text.drop { $0 == " " }
        guard text.hasPrefix("[\"\(name)\",") else { throw UnreadablePayload.malformed(kind) }
        return JSONB(String(text.dropFirst(name.count + 4).dropLast()))
    }
}

private struct Turned: Middleware {
    let into: @Sendable (Result<Outcome, any Error>) throws -> Outcome

    func run(_ context: JobContext, _ next: @Sendable () async throws -> Outcome) async throws -> Outcome {
        let result: Result<Outcome, any Error>
        do { result = .success(try await next()) } catch { result = .failure(error) }
        return try into(result)
    }
}

@Suite("Middleware runs around handlers") struct MiddlewareTests {
    @Test("the outermost begins first and reads the payload first; its task-locals hold in the handler and in `failed`")
    func order() async throws {
        let log = Log()
        let handler = BilledHandler { job, _ in
            log.add("handler \(job.tenant) \(Tenant.current)")
            return .fail(reason: "no")
        }
        let middleware = ["A", "B"].map { Named(name: $0, log: log) }
        try await withTestQueue([handler], middleware: middleware) { test in
            let id = try await test.queue.enqueue(Billed(tenant: "x")).id
            let stored = try await test.database.query(
                Statement("select payload from errand.job where id = $1", [id])
            ).scalar(JSONB.self)
            #expect(stored.text == "[\"A\", [\"B\", {\"tenant\": \"x\"}]]")
            // One after the other: jobs that run side by side write among each other.
            #expect(try await test.drain().outcomes == [.failed, .succeeded])
            let run = ["A begins billed", "B begins billed", "handler x noneAB", "B ends", "A ends"]
            #expect(Array(log.all.prefix(5)) == run)
            try await test.queue.enqueue(all: [Billed(tenant: "y")])
            #expect(try await test.drain().outcomes == [.failed, .succeeded])
            #expect(log.all.filter { $0 == "A begins billed.failed" }.count == 2)
            let outputs = try await test.database.query(
                "select output from errand.history where kind = 'billed.failed'"
            ).map { try $0.decode(JSONB.self).decode([String].self) }
            #expect(Set(outputs) == [["x", "no", "noneAB"], ["y", "no", "noneAB"]])
        }
    }

    @Test("it may change an outcome, end an attempt without its handler, and see what is thrown, also of the payload")
    func outcomes() async throws {
        let seen = Log()
        let handler = BilledHandler { _, _ in throw CocoaError(.userCancelled) }
        let cancels = Turned { result in
            guard case .failure(let error) = result else { return try result.get() }
            seen.add("\(type(of: error))")
            if error is UnfitPayload { throw error }
            return .cancel(reason: "turned")
        }
        try await withTestQueue([handler], middleware: [cancels]) { test in
            let id = try await test.queue.enqueue(Billed()).id
            let broken = try await test.database.query("select job_id from errand.enqueue('billed', '{}')").scalar(
                Int64.self)
            #expect(Set(try await test.drain().outcomes) == [.cancelled, .failed])
            #expect(try await test.job(id).state == "cancelled")
            #expect(try await test.job(broken).state == "failed")
            #expect(Set(seen.all).isSuperset(of: ["CocoaError", "UnfitPayload"]))
        }
        let skips = Turned { _ in .done }
        try await withTestQueue([handler], middleware: [skips]) { test in
            let skipped = try await test.run(handler, Billed())
            #expect(skipped.outcome == .done)
        }
    }
}
