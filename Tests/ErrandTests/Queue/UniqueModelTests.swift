import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Unique keys beside a model") struct UniqueModelTests {
    @Test("random enqueues, claims and outcomes: each result, holder and payload is the model's", arguments: 1...3)
    func random(seed: UInt64) async throws {
        try await withTestDatabase { database, _ in
            let worker = try await ManualWorker(database)
            var random = SeededGenerator(seed: seed)
            var model = KeyModel()
            var running: [ClaimedJob] = []
            for step in 0..<(Hardness.isFull ? 1000 : 120) {
                let context = "seed \(seed), step \(step)"
                switch Int.random(in: 0..<10, using: &random) {
                case 0...5:
                    let key = "k\(Int.random(in: 0..<2, using: &random))"
                    let mode = KeyModel.Mode.allCases.randomElement(using: &random)!
                    let (id, isNew) = try await database.query(
                        Statement(
                            """
                            select job_id, inserted
                            from errand.enqueue('noop', $1, unique_key => $2\(mode.rawValue))
                            """, [JSONB("[\(step)]"), key])
                    )[0].decode(Int64.self, Bool.self)
                    let expected = model.enqueue(key, mode, step, id: id)
                    #expect(expected.id == id && expected.isNew == isNew, "\(context): \(mode) \(key)")
                case 6...7:
                    let jobs = try await worker.claim(1)
                    for job in jobs { model.claim(job.id) }
                    running += jobs
                default:
                    guard let index = running.indices.randomElement(using: &random) else { continue }
                    let job = running.remove(at: index)
                    let isDone = Bool.random(using: &random)
                    let refused = try await worker.end([job]) {
                        isDone ? .succeeded($0) : .retried($0, error: "x", after: .zero)
                    }
                    #expect(refused.isEmpty == model.end(job.id, isDone: isDone), "\(context)")
                }
                let found = try await database.text(
                    "select id, coalesce(unique_key, '-'), payload from errand.job order by id")
                #expect(found == model.text, "\(context)")
            }
        }
    }
}

/// What the rules of unique keys say, for calls one after the other.
private struct KeyModel {
    enum Mode: String, CaseIterable {
        case keep = ""
        case waiting = ", unique_while => 'waiting'"
        case merge = ", on_conflict => 'merge'"
        case supersede = ", on_conflict => 'supersede'"
        case period = ", unique_for => '1 hour'"
    }

    private struct Held {
        let key: String
        var payload: [Int]
        var isWaitingKey: Bool
        var isRunning = false
        var hasKey = true
    }

    private var jobs: [Int64: Held] = [:]
    private var periods: [String: Int64] = [:]

    /// The rows of the jobs: id, key, payload.
    var text: String {
        jobs.sorted { $0.key < $1.key }
            .map { "\($0.key)|\($0.value.hasKey ? $0.value.key : "-")|\($0.value.payload)" }.joined(separator: "\n")
    }

    private func holder(of key: String) -> Int64? { jobs.first { $0.value.key == key && $0.value.hasKey }?.key }

    /// `id` is that of a new job, if the call inserts one.
    mutating func enqueue(_ key: String, _ mode: Mode, _ number: Int, id: Int64) -> (id: Int64, isNew: Bool) {
        if mode == .period, let owner = periods[key] { return (owner, false) }
        let wantsWaiting = mode == .waiting || mode == .merge
        if let holder = holder(of: key), let job = jobs[holder] {
            switch mode {
            case .waiting where !job.isRunning, .keep, .period: return (holder, false)
            case .merge where !job.isRunning:
                jobs[holder]?.payload.append(number)
                return (holder, false)
            case .supersede where !job.isRunning:
                jobs[holder]?.payload = [number]
                jobs[holder]?.isWaitingKey = false
                return (holder, false)
            case .supersede:
                jobs[holder] = nil
                if periods[key] == holder { periods[key] = nil }
            case .waiting, .merge:
                jobs[holder]?.hasKey = false
                jobs[holder]?.isWaitingKey = true
            }
        }
        jobs[id] = Held(key: key, payload: [number], isWaitingKey: wantsWaiting)
        if mode == .period { periods[key] = id }
        return (id, true)
    }

    mutating func claim(_ id: Int64) {
        jobs[id]?.isRunning = true
        if jobs[id]?.isWaitingKey == true { jobs[id]?.hasKey = false }
    }

    /// Whether the outcome counts.
    mutating func end(_ id: Int64, isDone: Bool) -> Bool {
        guard let job = jobs[id], job.isRunning else { return false }
        if isDone {
            jobs[id] = nil
        } else {
            jobs[id]?.isRunning = false
            if job.isWaitingKey, holder(of: job.key) == nil { jobs[id]?.hasKey = true }
        }
        return true
    }
}
