import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("Random walk", .serialized) struct RandomWalkTests {
    /// One seed to try again; `make faults` tries twenty.
    private static let chosen = ProcessInfo.processInfo.environment["ERRAND_WALK_SEED"].flatMap { UInt64($0) }
    private static let seeds: [UInt64] = chosen.map { [$0] } ?? (Hardness.isFull ? Array(1...20) : [1])
    private static let span: Duration = .seconds(
        ProcessInfo.processInfo.environment["ERRAND_WALK_SECONDS"].flatMap { Int($0) } ?? (Hardness.isFull ? 60 : 4))

    @Test(
        "people, applications and workers at random, some killed: each job ends once, and as its last operation says",
        arguments: seeds)
    func walk(seed: UInt64) async throws {
        let report = try await RandomWalk(seed: seed, span: Self.span).run()
        print(report.summary)
        // One of each sort.
        let sorts = Dictionary(grouping: report.faults) { $0.text.filter { !$0.isNumber } }
        for faults in sorts.values.prefix(10) {
            Issue.record("seed \(seed): \(faults.count) times, such as \(faults[0])")
        }
        #expect(report.faults.count == 0, "ERRAND_WALK_SEED=\(seed) walks it again")
    }

    /// The broken rules to try again, by words of their description.
    private static let rules: [BrokenRule] = {
        let words = ProcessInfo.processInfo.environment["ERRAND_WALK_RULE"]
        let chosen = BrokenRule.all.filter { rule in words.map(rule.description.contains) ?? true }
        precondition(!chosen.isEmpty, "ERRAND_WALK_RULE: expected words of a rule's description, got \(words ?? "")")
        return chosen
    }()

    @Test("a rule that is broken is found", .enabled(if: Hardness.isFull), arguments: rules)
    func finds(rule: BrokenRule) async throws {
        for seed: UInt64 in 1...3 {
            let report = try await RandomWalk(seed: seed, span: .seconds(20), breaking: rule.script).run()
            print("\(rule), seed \(seed): \(report.faults.count) faults; \(report.faults.first?.text ?? "none")")
            if !report.faults.isEmpty { return }
        }
        Issue.record("nobody noticed")
    }
}

@Suite("Rules to break") struct BrokenRuleTests {
    @Test("each names a part of its function", arguments: BrokenRule.all)
    func exists(rule: BrokenRule) async throws {
        try await withTestDatabase { database, _ in _ = try await database.execute(Statement(rule.script)) }
    }
}

/// A function of Errand's with parts of it replaced.
struct BrokenRule: Sendable, CustomTestStringConvertible, CustomStringConvertible {
    var description: String
    var function: String
    /// Each part and its replacement.
    var parts: KeyValuePairs<String, String>
    var testDescription: String { description }

    var script: String {
        let replacements = parts.map { "old := body; body := replace(body, $part$\($0)$part$, $part$\($1)$part$);" }
        return """
            do $do$
            declare
                body text := (
                    select pg_get_functiondef(oid)
                    from pg_proc
                    where pronamespace = any (errand_internal.namespaces()) and proname = '\(function)');
                old text;
            begin
                \(replacements.map { $0 + " assert old <> body, 'nothing was replaced';" }.joined(separator: "\n"))
                execute body;
            end
            $do$;
            """
    }

    static let all = [
        BrokenRule(
            description: "limits without their lock", function: "lock_limits",
            parts: ["lock table errand.limits_lock in share update exclusive mode;": ""]),
        BrokenRule(
            description: "a job that comes back keeps its position", function: "requeue",
            parts: [
                "new.queue_position := nextval('errand.job_position');":
                    "new.queue_position := coalesce(old.queue_position, nextval('errand.job_position'));"
            ]),
        BrokenRule(
            description: "claims from paused queues", function: "claim_v1",
            parts: ["name = claim_v1.queue and paused_at is not null": "false"]),
        BrokenRule(
            description: "promotion before the time", function: "promote",
            parts: ["waiting.run_at <= now()": "waiting.run_at <= now() + interval '400 ms'"]),
        BrokenRule(
            description: "rates that are not spent", function: "rate_spend",
            parts: [
                "on conflict on constraint":
                    "on conflict do nothing; return; insert into errand.rate_log values ('', '{}', '{}', '{}') on conflict on constraint"
            ]
        ),
        BrokenRule(
            description: "claims out of order", function: "lock_due",
            parts: ["order by waiting.queue_position": "order by waiting.queue_position desc"]),
        BrokenRule(
            description: "attempts given back twice", function: "complete_v1",
            parts: ["set state = 'available', attempt = attempt - 1": "set state = 'available', attempt = attempt - 2"]),
        BrokenRule(
            description: "jobs of lost workers left where they are", function: "rescue",
            parts: [
                "where id = any (claimed || unnamed) and state = 'running' and worker_id": "where false and worker_id"
            ]),
        BrokenRule(
            description: "slots that jobs hold while they wait", function: "slot_holders",
            parts: ["interval '1 second'": "interval '1 hour'"]),
        BrokenRule(
            description: "slots of jobs that have another key now", function: "slot_holders",
            parts: [") = slot_holders.limit_key": ") is not null"]),
        BrokenRule(
            description: "a waiting probe that stays under way", function: "probe_state",
            parts: [
                "circuit.released_at between clock_timestamp() - interval '10 seconds' and clock_timestamp()": "true"
            ]
        ),
        BrokenRule(
            description: "jobs of a circuit without a row", function: "release_circuit",
            parts: ["existing.name := release_circuit.name;": "return 0;"]),
        BrokenRule(
            description: "promotion from the mark alone", function: "promote",
            parts: ["least(since, now() - interval '10 seconds')": "greatest(since, now() - interval '10 seconds')"]),
        BrokenRule(
            description: "jobs that don't wait for unfinished ones", function: "release_children",
            parts: ["found.unfinished, case when not": "case when not"]),
        BrokenRule(
            description: "ends that were missed and are not found", function: "check_children",
            parts: ["next_memory := memory;": "next_memory := null; is_more := false; return;"]),
        BrokenRule(
            description: "jobs that start out of their order", function: "admit_order",
            parts: ["holder.id = near.id then null": "true then null"]),
        BrokenRule(
            description: "failures that hold up nobody", function: "move_to_failed",
            parts: ["'if_head_fails' = 'block'": "'if_head_fails' = 'none'"]),
        BrokenRule(
            description: "keys that are passed on to the last job", function: "pass_order_slots",
            parts: ["select min(joined.job_id)": "select max(joined.job_id)"]),
        BrokenRule(
            description: "ends in an order that were missed and are not found", function: "check_orders",
            parts: ["if keys = '{}' then": "if true then"]),
        BrokenRule(
            description: "rates of keys that are not asked", function: "admit_rated",
            parts: ["is_due or start_s <= present_s as may_start": "true as may_start"]),
        BrokenRule(
            description: "keys that running jobs keep", function: "claim_v1",
            parts: ["case when job.waiting_key is null then job.unique_key end": "job.unique_key"]),
        BrokenRule(
            description: "keys that end with their jobs", function: "take_period",
            parts: ["existing.until > clock_timestamp()": "false", "existing.until <= clock_timestamp()": "true"]),
        BrokenRule(
            description: "batches that end before their last job", function: "end_batch",
            parts: ["if probe.is_left is distinct from false then": "if false then"]),
        BrokenRule(
            description: "batches that forget failures", function: "note_unsuccessful",
            parts: ["where (select true": "where false and (select true"]),
        BrokenRule(
            description: "callbacks that come twice", function: "end_batch",
            parts: [
                "existing.finish_job_id := errand":
                    "perform errand_internal.enqueue_callback(existing, existing.on_finish, 'finish'); existing.finish_job_id := errand"
            ]),
        BrokenRule(
            description: "cancelled jobs that stay", function: "cancel",
            parts: ["perform errand_internal.move_to_cancelled(existing, reason);": ""]),
    ]
}
