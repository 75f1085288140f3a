import ErrandTestKit

/// The operation of one session in one transaction.
struct WalkOperation: Sendable {
    var name: String
    /// A query of one `jsonb`: null, or an array of `{id, was, now}` as the function returned them.
    var results: String
    var isRepeatableRead = false
    /// How long its transaction stays open after it, in milliseconds.
    var heldMilliseconds = 0
    var commits = true
}

/// Draws operations: the same ones in the same order for the same seed.
struct WalkGenerator {
    private var random: SeededGenerator
    var content: Int64

    /// - Parameter session: sessions of one seed draw different operations.
    init(seed: UInt64, session: Int) {
        random = SeededGenerator(seed: seed &* 1000 &+ UInt64(session))
        content = Int64(session + 1) * 1_000_000_000
    }

    mutating func next() -> WalkOperation {
        var operation = draw()
        switch number(0..<100) {
        case ..<70: operation.heldMilliseconds = 0
        case ..<92: operation.heldMilliseconds = number(1..<150)
        default: operation.heldMilliseconds = number(200..<2500)
        }
        operation.commits = number(0..<100) >= 8
        // It becomes visible far behind the jobs that have been promoted.
        if operation.name == "enqueue_late" { operation.heldMilliseconds = number(11_000..<14_000) }
        operation.isRepeatableRead = number(0..<100) < 10
        return operation
    }

    /// The delay before the session's next operation, in milliseconds.
    mutating func rest() -> Int { number(0..<60) }

    private mutating func draw() -> WalkOperation {
        switch number(0..<100) {
        case ..<28:
            switch number(0..<100) {
            case ..<2: enqueueLate()
            case ..<8: enqueueUnclaimed()
            case ..<25: enqueueAfter()
            case ..<32: enqueueMerged()
            case ..<36: enqueueForTime()
            case ..<44: enqueueBatch()
            default: enqueue()
            }
        case ..<36: enqueueMany()
        case ..<40: enqueueBulk()
        case ..<48: enqueueInOrder()
        case ..<55: changed("cancel", "\(waiting(3)), 'walk'")
        case ..<57: cancelWhere()
        case ..<65: reschedule()
        case ..<71:
            changed("retry", "\(ended(3)) || array(select id from errand.job where state = 'scheduled' limit 1)")
        case ..<72: retryWhere()
        case ..<75: changed("discard", "\(failed(3)), 'walk'")
        case ..<80: pause()
        case ..<86: setLimit()
        case ..<88: setRate()
        case ..<89: setKeyRate()
        case ..<90: circuit()
        case ..<92: changeBatch()
        case ..<94: releaseWorker()
        case ..<97: schedule()
        case ..<99: only("hold", "(\(rows("id", 3))) as drawn")
        default: only("read", "errand.job")
        }
    }

    mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    mutating func pick<T>(_ values: [T]) -> T { values.randomElement(using: &random)! }
}

// MARK: - Enqueues
extension WalkGenerator {
    /// The arguments of errand.enqueue, by name, as JSON has them.
    private mutating func arguments(onConflict: String, key: Int?) -> [(String, String)] {
        content += 1
        // Two attempts, because the delays after later ones are long.
        let fails = number(0..<15) == 0
        let failing = fails ? ", \"fail\": \"transient\"" : ""
        // It is in errand.payload.
        let large = number(0..<5) == 0 ? ", \"text\": \"\(String(repeating: "x", count: 3000))\"" : ""
        var all = [
            ("kind", "\"\(pick(["noop", "noop", "noop", "noop", "lean", "narrow"]))\""),
            ("payload", "{\"content\": \(content), \"sleep_ms\": \(pick([0, 0, 1, 5, 20, 80]))\(failing)\(large)}"),
            ("queue", "\"\(pick(["default", "default", "other"]))\""),
        ]
        // Their service is down until the quiet period. The most urgent ones are in a queue whose worker is stuck then.
        let isGated = number(0..<8) == 0
        let isIdle = isGated && number(0..<3) == 0
        if isGated { all[0].1 = isIdle || number(0..<2) == 0 ? "\"gated\"" : "\"fenced\"" }
        if isIdle { all[2].1 = "\"idle\"" }
        if isIdle || number(0..<4) == 0 { all.append(("priority", isIdle ? "1" : "\(number(1..<5))")) }
        if fails || number(0..<3) == 0 { all.append(("max_attempts", fails ? "2" : "\(number(1..<5))")) }
        if let key {
            all.append(("unique_key", "\"key \(key)\""))
            all.append(("on_conflict", "\"\(onConflict)\""))
        }
        if !isGated, number(0..<4) == 0 {
            all.append(("limit_key", "\"\(pick(["tenant/1", "tenant/2", "tenant/3", "tenant/4", "solo"]))\""))
            // Nobody claims there: it may hold a slot for a second only.
            if number(0..<6) == 0 { all[2].1 = "\"idle\"" }
        }
        if !isGated, all[2].1 != "\"idle\"" {
            if number(0..<8) == 0 {
                all.append(("order_key", "\"line \(number(0..<5))\""))
                all.append(("if_head_fails", "\"\(pick(["go_on", "go_on", "block"]))\""))
            }
            if number(0..<8) == 0 { all.append(("rate_key", "\"\(pick(["meter/1", "meter/2", "toll/1"]))\"")) }
        }
        if number(0..<5) == 0 { all.append(("run_at", "+\(number(1..<2500))")) }
        if number(0..<12) == 0 { all.append(("not_after", "+\(number(2500..<6000))")) }
        if number(0..<8) == 0 { all.append(("guard", "\"walk\"")) }
        return all
    }

    /// A time is in milliseconds from now.
    private func sql(_ value: String) -> String {
        if value.hasPrefix("+") { return "now() + interval '\(value.dropFirst()) ms'" }
        if value.hasPrefix("\"") { return "'\(value.dropFirst().dropLast())'" }
        return value.hasPrefix("{") ? "'\(value)'" : value
    }

    private mutating func enqueue() -> WalkOperation {
        let conflict = pick(["keep", "replace", "reschedule", "error", "supersede"])
        let key = number(0..<2) == 0 ? number(0..<20) : nil
        var given = arguments(onConflict: conflict, key: key)
        if key != nil, number(0..<3) == 0 { given.append(("unique_while", "\"waiting\"")) }
        if key == nil, number(0..<6) == 0 {
            given.append(("batch", "(select max(id) from errand.batch where ended_at is null)"))
        }
        let call = given.map { "\($0) => \(sql($1))" }.joined(separator: ", ")
        return enqueued(
            conflict == "supersede" ? "enqueue_supersede" : "enqueue", "errand.enqueue(\(call))",
            changes: ["replace", "reschedule", "supersede"].contains(conflict))
    }

    /// A job that waits for others, or has no need to any more. Nothing waits for what no worker claims until the end.
    private mutating func enqueueAfter() -> WalkOperation {
        let key = number(0..<4) == 0 ? number(0..<20) : nil
        let call = arguments(onConflict: "keep", key: key).map { "\($0) => \(sql($1))" }.joined(separator: ", ")
        let source = pick([
            "errand.job where queue <> 'idle' and kind <> 'unclaimed' and unique_key is null", "errand.failed",
            "errand.history",
        ])
        let policy = pick(["wait", "go_on", "cancel"])
        return enqueued(
            "enqueue", "errand.enqueue(\(call), after => \(ids(source, 4)), if_parent_fails => '\(policy)')",
            changes: false)
    }

    /// Half of them are due at once; the others are moved to later, and at most 2 s.
    private mutating func enqueueMerged() -> WalkOperation {
        content += 1
        let policy = pick(["'merge'", "'reschedule', no_later_than => interval '2 s'"])
        return enqueued(
            "enqueue",
            """
            errand.enqueue('noop', '{"content": \(content)}', unique_key => 'merged \(number(0..<6))',
                run_at => now() + interval '\(pick([0, number(1..<1500)])) ms', on_conflict => \(policy))
            """,
            changes: true)
    }

    private mutating func enqueueForTime() -> WalkOperation {
        content += 1
        return enqueued(
            "enqueue",
            """
            errand.enqueue('noop', '{"content": \(content)}', unique_for => '1 hour',
                unique_key => '\(WalkModel.periodKeys)\(number(0..<40))')
            """,
            changes: false)
    }

    private mutating func enqueueLate() -> WalkOperation {
        content += 1
        return enqueued(
            "enqueue_late",
            "errand.enqueue('noop', '{\"content\": \(content)}', run_at => now() + interval '\(number(1..<500)) ms')",
            changes: false)
    }

    /// No worker knows the kind. A job that got a slot keeps its position when it is replaced by one with another key.
    private mutating func enqueueUnclaimed() -> WalkOperation {
        content += 1
        return enqueued(
            "enqueue",
            """
            errand.enqueue('unclaimed', '{"content": \(content)}', priority => 1,
                unique_key => 'unclaimed', on_conflict => 'replace',
                limit_key => '\(pick(["tenant/4", "tenant/4", "free"]))')
            """,
            changes: true)
    }

    private mutating func enqueueMany() -> WalkOperation {
        let conflict = pick(["keep", "keep", "replace", "reschedule"])
        let keys = Array(0..<20).shuffled(using: &random)
        // What later elements may wait for.
        var earlier: [Int] = []
        let jobs = (0..<number(1..<16)).map { index in
            let key = number(0..<3) == 0 ? keys[index] : nil
            var given = arguments(onConflict: conflict, key: key)
            let isClaimed = !given.contains { $0 == ("queue", "\"idle\"") }
            if key == nil, number(0..<4) == 0, let parent = earlier.randomElement(using: &random) {
                given.append(("after_elements", "[\(parent)]"))
                given.append(("if_parent_fails", "\"\(pick(["wait", "go_on", "cancel"]))\""))
            }
            if key == nil, isClaimed { earlier.append(index + 1) }
            let fields = given.map { name, value in
                value.hasPrefix("+") ? "'\(name)', \(sql(value))" : "'\(name)', '\(value)'::jsonb"
            }
            return "jsonb_build_object(\(fields.joined(separator: ", ")))"
        }
        let call = "errand.enqueue_many(jsonb_build_array(\(jobs.joined(separator: ", "))))"
        return enqueued("enqueue_many", call, changes: conflict != "keep")
    }

    private func enqueued(_ name: String, _ call: String, changes: Bool) -> WalkOperation {
        let now = "case when inserted or \(changes) and state <> 'running' then state end"
        return WalkOperation(
            name: name,
            results: "(select jsonb_agg(jsonb_build_object('id', job_id, 'now', \(now))) from \(call))")
    }

    private mutating func enqueueBulk() -> WalkOperation {
        let count = number(5..<150)
        let first = content + 1
        content += Int64(count)
        let at = pick(["null", "null", "now() + interval '\(number(1..<2000)) ms'"])
        return WalkOperation(
            name: "enqueue_payloads",
            results: """
                (select jsonb_agg(jsonb_build_object('id', id, 'now', case when \(at) > now() then 'scheduled' else 'available' end))
                from unnest(errand.enqueue_payloads_v1('noop', array(
                    select jsonb_build_object(
                        'content', content, 'sleep_ms', content % 3,
                        'text', case when content % 5 = 0 then repeat('x', 3000) end)
                    from generate_series(\(first), \(content)) as content
                ), '\(pick(["default", "other"]))', \(at), \(number(1..<5)))) as id)
                """)
    }

    private mutating func enqueueInOrder() -> WalkOperation {
        let jobs = (0..<number(1..<7)).map { _ in
            content += 1
            return "{\"kind\": \"noop\", \"queue\": \"orderly\", \"priority\": \(number(1..<5)), "
                + "\"payload\": {\"content\": \(content)}}"
        }
        return enqueued(
            "enqueue_many", "errand.enqueue_many('[\(jobs.joined(separator: ","))]')", changes: false)
    }
}

// MARK: - Operations of operators
extension WalkGenerator {
    /// A selection of live jobs, without those of the orderly queue.
    private mutating func rows(_ columns: String, _ count: Int) -> String {
        """
        select \(columns) from errand.job
        where id in (
            select id from errand.job
            where queue <> 'orderly' order by md5(id::text || '\(number(0..<1_000_000))') limit \(count))
        order by unique_key, id for update
        """
    }

    private mutating func waiting(_ count: Int) -> String {
        ids("errand.job where queue <> 'orderly' and kind <> 'unclaimed'", count)
    }

    private mutating func failed(_ count: Int) -> String { ids("errand.failed", count) }

    private mutating func ended(_ count: Int) -> String {
        number(0..<2) == 0 ? failed(count) : ids("errand.history where state = 'cancelled'", count)
    }

    private mutating func ids(_ source: String, _ count: Int) -> String {
        "array(select id from \(source) order by md5(id::text || '\(number(0..<1_000_000))') limit \(number(1..<count + 1)))"
    }

    private func changed(_ name: String, _ arguments: String) -> WalkOperation {
        WalkOperation(
            name: name,
            results: """
                (select jsonb_agg(jsonb_build_object('id', job_id, 'was', was, 'now', now))
                from errand.\(name)(\(arguments)) where job_id is not null)
                """)
    }

    /// Reads rows that are not about jobs.
    func only(_ name: String, _ rows: String) -> WalkOperation {
        WalkOperation(name: name, results: "(select nullif(count(*), count(*))::text::jsonb from \(rows))")
    }

    /// Calls a function whose result is not about jobs.
    private func call(_ name: String, _ arguments: String) -> WalkOperation {
        only(name, "errand.\(name)(\(arguments)) as done")
    }

    private mutating func cancelWhere() -> WalkOperation {
        let filter = pick(["kind\": \"lean", "queue\": \"other", "state\": \"parked", "unique_key\": \"key 3"])
        return changed(
            "cancel_where", "'{\"\(filter)\"}', 'walk', dry_run => false, max_jobs => \(number(1..<4))")
    }

    private mutating func reschedule() -> WalkOperation {
        let at = "run_at => now() + interval '\(number(-300..<1500)) ms'"
        let priority = "priority => \(number(1..<5))"
        return changed("reschedule", "\(waiting(4)), \(pick([at, priority, "\(at), \(priority)"]))")
    }

    private mutating func retryWhere() -> WalkOperation {
        let state = pick(["failed", "cancelled"])
        return call(
            "retry_where",
            "'{\"state\": \"\(state)\"}', per_minute => \(pick(["null", "600", "6000"])), dry_run => false, max_jobs => 5"
        )
    }

    private mutating func pause() -> WalkOperation {
        let queue = pick(["default", "other"])
        switch number(0..<3) {
        case 0: return call("pause_queue", "'\(queue)', 'walk', now() + interval '\(number(50..<1500)) ms', true")
        case 1: return call("pause_queue", "'\(queue)', 'walk', now() + interval '3 s', true")
        default: return call("resume_queue", "'\(queue)'")
        }
    }

    private mutating func setLimit() -> WalkOperation {
        let key = pick(["tenant/1", "tenant/2", "tenant/4", "tenant/*", "tenant/*", "solo"])
        // So that some of its jobs park, and get a slot later.
        let values = key == "tenant/4" ? ["0", "1", "2"] : ["null", "0", "1", "1", "2", "3", "5"]
        return call("set_limit", "'\(key)', \(pick(values))")
    }

    private mutating func setRate() -> WalkOperation {
        let rate = pick(["null, null", "'200 ms', 5", "'500 ms', 20", "'1 s', 10"])
        return call("set_rate", "'other', \(rate.replacing(", ", with: "::interval, "))")
    }

    private mutating func setKeyRate() -> WalkOperation {
        let rate = pick(["null, null", "'1 s', 2", "'5 s', 20, 3"])
        return call("set_key_rate", "'toll/\(pick(["1", "*"]))', \(rate.replacing("s', ", with: "s'::interval, "))")
    }

    private mutating func circuit() -> WalkOperation {
        switch number(0..<3) {
        case 0: call("circuit_open", "'wall', 'walk', now() + interval '\(number(50..<1500)) ms'")
        case 1: call("circuit_open", "'wall', 'walk'")
        default: call("circuit_close", "'wall'")
        }
    }

    private mutating func releaseWorker() -> WalkOperation {
        let worker = "(select id from errand.worker order by md5(id::text || '\(number(0..<1000))') limit 1)"
        return WalkOperation(
            name: "release_worker",
            results: """
                (select jsonb_agg(jsonb_build_object('id', job_id, 'was', 'running', 'now', 'available'))
                from errand.release_worker(\(worker), 'walk', force => true))
                """)
    }

    private mutating func schedule() -> WalkOperation {
        let name = "schedule-\(number(0..<3))"
        return switch number(0..<4) {
        case 0: call("drop_schedule", "'\(name)'")
        case 1: call("run_schedule", "'\(name)', 'walk'")
        default: call("put_schedule", "'\(name)', 'every \(number(1..<3)) s', 'noop', missed => 'all'")
        }
    }
}
