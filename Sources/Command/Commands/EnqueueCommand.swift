import ArgumentParser
import Errand
import Foundation
import Postgres

struct EnqueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enqueue",
        abstract: "Enqueue one job, as errand.enqueue does in SQL.",
        discussion: """
            errand enqueue noop '{"sleep_ms": 500}'
            errand enqueue noop --in 10m --unique nightly
            errand enqueue noop --unique nightly --on-conflict reschedule --tag slow --tag import
            errand enqueue noop --after 4711 --after 4712 --if-parent-fails go_on

            Prints the job's id. With --unique, it is the id of an unfinished job with that key, if there is one.
            """)

    @Argument(help: "The kind: which handler runs it.", completion: .kinds)
    var kind: String

    @Argument(help: "What the handler gets, as JSON.")
    var payload = "{}"

    @Option(help: "The queue. Default: the kind's.", completion: .queues)
    var queue: String?

    @Option(
        help: "Not before this time, such as 2026-12-24T18:00:00+01:00.", transform: Moment.init(argument:))
    var at: Moment?

    @Option(
        name: .customLong("in"), help: "Not before this much time has passed, such as 90s, 10m, 24h.",
        transform: Moment.init(argument:))
    var delay: Moment?

    @Option(help: "1 (first) to 4 (last).")
    var priority: Int?

    @Option(help: "Attempts in all.")
    var maxAttempts: Int?

    @Option(name: .customLong("unique"), help: "At most one unfinished job has this key.")
    var uniqueKey: String?

    @Option(help: "What happens if the key is taken.")
    var onConflict = Conflict.keep

    @OptionGroup var uniqueness: UniquenessOptions

    @Option(
        help: "The job becomes obsolete if it hasn't started by this time, or 2h from now.",
        transform: Moment.init(argument:))
    var notAfter: Moment?

    @Option(name: .customLong("limit"), help: "The key of the limit that the job counts under (errand.set_limit).")
    var limitKey: String?

    @Option(name: .customLong("rate"), help: "The key of the rate that the job starts under (errand.set_key_rate).")
    var rateKey: String?

    @OptionGroup var flow: FlowOptions

    @Option(name: .customLong("guard"), help: "A registered guard function that says whether the job is still wanted.")
    var guardName: String?

    @Option(name: .customLong("tag"), help: "A tag to find the job by; may be repeated.")
    var tags: [String] = []

    @Option(help: "The job's trace, in W3C Trace Context format.")
    var traceparent: String?

    @Option(help: "The user whose job it is: people.erase cancels it.")
    var subject: String?

    @Flag(help: "The job is the login's own: it may see, wait for and cancel it (errand.job, errand.cancel_own).")
    var follow = false

    @Flag(help: "Encrypt the payload, by the first key of ERRAND_PAYLOAD_KEYS.")
    var encrypt = false

    @Flag(help: "Print {\"job_id\", \"inserted\", \"state\"}.")
    var json = false

    func validate() throws {
        if at != nil && delay != nil { throw ValidationError("--at and --in: expected one of them, got both") }
        if case .at = delay { throw ValidationError("--in: expected a duration such as 90s or 24h, got a time") }
        try checkJSON(payload)
    }

    struct Response: Encodable {
        let job_id: Int64
        let inserted: Bool
        let state: String
    }

    func run() async throws {
        let environment = try Environment.load()
        let payload = try storedPayload(environment.settings)
        let values = values
        let response = try await environment.withConnection { connection in
            let rows = try await connection.query(values.statement(of: JobKind(rawValue: kind), payload))
            let (id, inserted, state) = try rows[0].decode(Int64.self, Bool.self, String.self)
            await warnOfUnknownNames(on: connection)
            return Response(job_id: id, inserted: inserted, state: state)
        }
        if json {
            print(try Command.json(response))
        } else {
            print(response.job_id)
            if !response.inserted { writeError("errand: this job already had the key, and is \(response.state)") }
        }
    }

    private var values: EnqueueOption.Values {
        var values = EnqueueOption.Values()
        values.queue = queue
        switch at ?? delay {
        case .at(let time): values.runAt = time
        case .after(let delay): values.delay = delay
        case nil: break
        }
        values.priority = priority
        values.maxAttempts = maxAttempts
        values.uniqueKey = uniqueKey
        values.onConflict = onConflict
        switch notAfter {
        case .at(let time): values.notAfter = time
        case .after(let delay): values.notAfterDelay = delay
        case nil: break
        }
        values.limitKey = limitKey
        values.rateKey = rateKey
        values.guardName = guardName
        values.tags = tags
        values.subject = subject
        values.forWorker.traceparent = traceparent
        values.follow = follow
        uniqueness.apply(to: &values)
        flow.apply(to: &values)
        return values
    }

    private func storedPayload(_ settings: Settings) throws -> JSONB {
        guard encrypt else { return JSONB(payload) }
        guard let keys = try settings.payloadKeys() else {
            throw ConfigurationError("--encrypt: expected keys in \(Setting.payloadKeys.variable), got none")
        }
        return try PayloadEncryption(keys).encode(JSONB(payload), of: JobKind(rawValue: kind))
    }

    /// Warns if no worker has ever registered this kind, or if none claims from this queue: the job waits until one
    /// does. Silent before the first worker, and for users without the right to monitor.
    private func warnOfUnknownNames(on connection: Connection) async {
        guard let names = try? await connection.query("select kind from errand.kinds where queue is not null"),
            let kinds = try? names.column(0, as: String.self)
        else { return }
        if !kinds.isEmpty && !kinds.contains(kind) {
            let near = kinds.closest(to: kind).map { "; did you mean \($0)?" } ?? ": it waits for one that does"
            writeError("errand: no worker has registered the kind '\(kind.printable)' so far\(near)")
        }
        guard let queue,
            let queues = try? await connection.query("select queue from errand.queues where workers > 0"),
            let used = try? queues.column(0, as: String.self)
        else { return }
        if !used.isEmpty && !used.contains(queue) {
            let near = used.closest(to: queue).map { "; did you mean \($0)?" } ?? ": it waits for one that does"
            writeError("errand: no worker claims from the queue '\(queue.printable)'\(near)")
        }
    }
}

/// Throws unless a payload is JSON. The error doesn't repeat it: it may hold what nobody else is to read.
func checkJSON(_ payload: String) throws {
    guard (try? JSONSerialization.jsonObject(with: Data(payload.utf8), options: .fragmentsAllowed)) != nil else {
        throw ValidationError("payload: expected JSON, got \(payload.count) characters that are none")
    }
}
