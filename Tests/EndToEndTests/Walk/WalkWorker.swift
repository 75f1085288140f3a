import ErrandTestKit
import Postgres

/// A worker that the walk drives by SQL.
final class WalkWorker {
    enum Role {
        /// It is late, drops its jobs, rolls its claims back, and completes jobs in every way.
        case careless
        /// No other worker claims from its queue. Its claims are sequential, and its jobs succeed.
        case orderly
        /// It parks the jobs that it claims from the queue `idle`. In the quiet period it claims none, and stays
        /// registered.
        case stuck
    }

    private typealias Held = (id: Int64, position: Int64, kind: String, isLast: Bool)

    static let kinds = JSONB(
        """
        [{"name": "lean", "queue": "default", "max_attempts": 4, "priority": 2, "is_whole": true, "circuits": ["wall"]},
         {"name": "narrow", "queue": "default", "max_attempts": 4, "priority": 2, "is_whole": true, "max_running": 3},
         {"name": "gated", "queue": "default", "max_attempts": 4, "priority": 2, "is_whole": true,
          "circuits": ["gate"]},
         {"name": "fenced", "queue": "default", "max_attempts": 4, "priority": 2, "is_whole": true,
          "circuits": ["fence"]}]
        """)

    private let session: WalkSession
    private let record: WalkRecord
    private let queues: [String]
    private let role: Role
    private var random: SeededGenerator
    private var worker: Int64?
    private var held: [Held] = []

    init(_ configuration: PostgresConfiguration, record: WalkRecord, seed: UInt64, role: Role = .careless) {
        session = WalkSession(configuration, record: record)
        self.record = record
        self.role = role
        queues =
            switch role {
            case .careless: ["default", "other"]
            case .orderly: ["orderly"]
            case .stuck: ["idle"]
            }
        random = SeededGenerator(seed: seed)
    }

    private var isQuiet: Bool { record.phase != .chaos }
    private var isOrderly: Bool { role == .orderly }
    private func happens(_ percent: Int) -> Bool {
        !isQuiet && role == .careless && Int.random(in: 0..<100, using: &random) < percent
    }

    /// Works until the walk is over.
    func run() async throws {
        while record.phase != .over {
            do {
                try await once()
            } catch {
                guard let refusal = error as? PostgresError else { throw error }
                record.refused(refusal, during: "hand")
                await session.close()
                (worker, held) = (nil, [])
            }
            // So that several jobs wait and their order counts.
            try await Task.sleep(for: .milliseconds(Int.random(in: 0..<(isOrderly ? 300 : 40), using: &random)))
        }
        await session.close()
    }

    private func once() async throws {
        if worker == nil || happens(1) { try await register() }
        try await heartbeat()
        if !held.isEmpty, happens(4) {
            // Longer than its lease: its jobs may be rescued, and it still writes the outcomes of those that it has.
            try await Task.sleep(for: .milliseconds(Int.random(in: 2000..<9000, using: &random)))
        } else if happens(2) {
            // As if it were killed: its jobs are rescued.
            return (worker, held) = (nil, [])
        }
        try await work()
    }

    private func register() async throws {
        let connection = try await session.connection()
        worker = try await connection.query(
            Statement(
                "select worker_id from errand_internal.register_worker_v1('hand', '1', '2 s', $1, $2)",
                [queues, Self.kinds])
        ).scalar(Int64.self)
        held = []
    }

    private func heartbeat() async throws {
        guard let worker else { return }
        let alive = try await session.connection().query(
            Statement("select alive from errand_internal.heartbeat_v1($1, 0, '{}', null)", [[worker]])
        ).scalar([Int64].self)
        if alive.isEmpty { (self.worker, held) = (nil, []) }
    }

    /// Completes some of its jobs and claims more, in one transaction.
    private func work() async throws {
        guard let worker else { return }
        let ends = held.filter { _ in isQuiet || isOrderly || Int.random(in: 0..<3, using: &random) > 0 }
        let plan = ends.map { job in
            (job: job, outcome: drawOutcome(of: job))
        }
        let rollsBack = happens(6)
        let heldOpen = happens(10) ? Int.random(in: 1..<200, using: &random) : 0
        var (locked, claimed): (Set<Int64>, [Held]) = ([], [])
        let queue = queues.randomElement(using: &random)!
        let limit = (isOrderly && !isQuiet ? [1, 2, 5] : [1, 2, 5, 20]).randomElement(using: &random)!
        let beginsNow = isOrderly || isQuiet ? limit : Int.random(in: 0...limit, using: &random)
        // The program must find the jobs that it can run without help.
        let own = role == .stuck ? ["gated"] : ["lean", "narrow", "gated", "fenced"]
        let kinds = isOrderly || role == .careless && !isQuiet ? ["noop"] + own : own
        let claims = role != .stuck || !isQuiet
        let takesCrashed = Int.random(in: 0..<4, using: &random) > 0 || isQuiet
        // As the program does; or alone, as it does without a claim.
        let isReleasedByClaim = !plan.isEmpty && claims && Bool.random(using: &random)
        let outcome = try await session.transaction(
            heldMilliseconds: heldOpen, commits: !rollsBack, words: "hand \(worker)",
            steps: [
                (
                    record.nextNumber(), "hand # \(worker)",
                    { connection in
                        locked = []
                        return try await Self.end(plan, of: worker, on: connection, locked: &locked)
                    }
                ),
                (
                    // A separate step: it may release a job whose completion was refused.
                    record.nextNumber(), "hand # \(worker)",
                    { connection in
                        if !plan.isEmpty, !isReleasedByClaim { try await connection.execute(Self.release) }
                        return nil
                    }
                ),
                (
                    record.nextNumber(), "hand # \(worker)",
                    { connection in
                        guard claims else { return nil }
                        claimed = try await Self.claim(
                            limit, of: queue, kinds, worker, beginsNow, takesCrashed,
                            releasing: isReleasedByClaim ? Self.limitKeys : nil, on: connection)
                        return "["
                            + claimed.map { #"{"id": \#($0.id), "now": "running"}"# }
                            .joined(separator: ",") + "]"
                    }
                ),
            ])
        switch outcome {
        case .committed:
            let gone = Set(ends.map(\.id)).subtracting(locked)
            held = held.filter { !gone.contains($0.id) } + claimed
        case .rolledBack: break
        // Its claim may have been committed. The worker continues with a new id.
        case .unknown: (self.worker, held) = (nil, [])
        }
    }

    private static func claim(
        _ limit: Int, of queue: String, _ kinds: [String], _ worker: Int64, _ beginsNow: Int, _ takesCrashed: Bool,
        releasing limitKeys: [String]?, on connection: Connection
    ) async throws -> [Held] {
        try await connection.query(
            Statement(
                """
                select id, queue_position, kind, attempt >= max_attempts
                from errand_internal.claim_v1(
                    $1, $6, $2, $3::int4, '{0,0,0,0}', '{1,2,3,4}', true, $4::int4, $5, release => $7)
                where id is not null
                """, [queue, worker, limit, beginsNow, takesCrashed, kinds, limitKeys])
        ).map { try $0.decode(Int64.self, Int64.self, String.self, Bool.self) }
    }

    /// Until the quiet period, most attempts of these kinds find their service down.
    private static let services = ["gated": "gate", "fenced": "fence"]

    private func drawOutcome(of job: Held) -> DrawnOutcome {
        let isDown = Self.services[job.kind] != nil && !isQuiet && Int.random(in: 0..<4, using: &random) > 0
        if isDown || role == .stuck { return .parked }
        return .draw(isOrderly || isQuiet, isLast: job.isLast, using: &random)
    }

    private static let limitKeys = ["tenant/1", "tenant/2", "tenant/3", "tenant/4", "solo", "kind/narrow"]
    private static let release = Statement("select errand_internal.release_v1($1)", [limitKeys])

    /// Writes outcomes as the program does: plain successes by one function, the others by another.
    private static func end(
        _ plan: [(job: Held, outcome: DrawnOutcome)], of worker: Int64, on connection: Connection,
        locked: inout Set<Int64>
    ) async throws -> String? {
        let plain = plan.filter { $0.outcome == .finished }
        let others = plan.filter { $0.outcome != .finished }
        var refused: Set<Int64> = []
        if !plain.isEmpty {
            let rows = try await connection.query(
                Statement(
                    "select refused, locked from errand_internal.finish_v1($1, $2, $3, null)",
                    [worker, plain.map(\.job.id), plain.map(\.job.position)]))
            let (no, later) = try rows[0].decode([Int64].self, [Int64].self)
            refused.formUnion(no)
            locked.formUnion(later)
        }
        if !others.isEmpty {
            let rows = try await connection.query(
                Statement(
                    """
                    select refused, locked
                    from errand_internal.complete_v1(
                        $1, $2, $3, $4, array_fill('walk'::text, array[$5::int4]), $6,
                        array_fill(null::jsonb, array[$5::int4]), array_fill(null::timestamptz, array[$5::int4]), $7)
                    """,
                    [
                        worker, others.map(\.job.id), others.map(\.job.position), others.map(\.outcome.outcome),
                        others.count, others.map { Int64($0.outcome.delay) },
                        others.map { Self.services[$0.job.kind] ?? ($0.job.id % 2 == 0 ? "wall" : "fence") },
                    ]))
            let (no, later) = try rows[0].decode([Int64].self, [Int64].self)
            refused.formUnion(no)
            locked.formUnion(later)
        }
        let results = plan.map { job, outcome in
            let isWritten = !refused.contains(job.id) && !locked.contains(job.id)
            return #"{"id": \#(job.id), "was": "running", "now": \#(isWritten ? "\"\(outcome.state)\"" : "null")}"#
        }
        return "[\(results.joined(separator: ","))]"
    }
}

/// The drawn outcome of an attempt.
private struct DrawnOutcome: Equatable {
    var outcome: String
    var delay = 0
    /// The job's state then.
    var state: String

    static let finished = DrawnOutcome(outcome: "", state: "succeeded")
    static let parked = DrawnOutcome(outcome: "parked", state: "parked")
    private static let all = [
        finished, finished, finished, DrawnOutcome(outcome: "succeeded", state: "succeeded"),
        DrawnOutcome(outcome: "retried", state: "available"),
        DrawnOutcome(outcome: "retried", delay: 300, state: "scheduled"),
        DrawnOutcome(outcome: "snoozed", state: "available"),
        DrawnOutcome(outcome: "snoozed", delay: 200, state: "scheduled"),
        DrawnOutcome(outcome: "released", state: "available"), parked,
        DrawnOutcome(outcome: "failed", state: "failed"),
    ]

    /// - Parameter isLast: no attempt is left: a failure is final.
    static func draw(_ succeeds: Bool, isLast: Bool, using random: inout SeededGenerator) -> DrawnOutcome {
        if succeeds { return finished }
        let drawn = all.randomElement(using: &random)!
        return isLast && drawn.outcome == "retried" ? DrawnOutcome(outcome: "failed", state: "failed") : drawn
    }
}
