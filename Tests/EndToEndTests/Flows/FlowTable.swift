import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Testing

/// When a disturbance comes.
enum Order: Sendable, CustomStringConvertible {
    /// Before the flow's call. Services that are down stay so until the worker has met the fault.
    case first
    /// After the call, before any job of it runs.
    case before
    /// After the call, while its jobs wait for services that are down.
    case waiting(Disturbance)
    /// While the worker is at this step.
    case during(Step)
    /// After the worker was killed at this step, before another one begins.
    case killed(Step)
    /// After the flow's effect. Services go down first, and then the effect is taken back.
    case after

    var description: String {
        switch self {
        case .first: "before the call"
        case .before: "before the jobs"
        case .waiting(let cause): "while they wait: \(cause.name)"
        case .during(let step): "at \(step)"
        case .killed(let step): "killed at \(step)"
        case .after: "after the effect"
        }
    }
}

/// Runs a flow with each disturbance, at each step. The tests of the apps call it with their flows.
enum FlowTable {
    static func run(_ flow: Flow) async throws {
        var cells: [(disturbance: Disturbance, faults: [String])] = []
        try await withAppDatabase { database, configuration in
            var run = FlowRun(bench: try await FlowBench(database, configuration))
            for (disturbance, orders) in Self.cells(of: flow) {
                var faults: [String] = []
                for order in orders {
                    faults += try await run.faults(of: flow, disturbance, order).map {
                        "\(flow), \(disturbance.name), \(order): \($0)"
                    }
                }
                cells.append((disturbance, faults))
            }
            let code = try await run.bench.stop()
            #expect(code == 0)
        }
        let found = cells.flatMap(\.faults).joined(separator: "\n")
        #expect(found.isEmpty, "\(found)")
        if Hardness.isFull {
            let row = cells.map { "\($0.disturbance.name) \($0.faults.isEmpty ? "ok" : "\($0.faults.count)")" }
            print("\(flow): \(row.joined(separator: ", "))")
        }
    }

    private static func cells(of flow: Flow) -> [(Disturbance, [Order])] {
        guard Hardness.isFull else {
            return [
                (.named("disconnect"), [.waiting(.pushesDown)]), (.storeDown, [.during(.stored)]),
                (.kill, [.during(.accepted)]),
            ]
        }
        return Disturbance.all.map { disturbance in
            if disturbance == .nothing { return (disturbance, [.before]) }
            let steps = flow.steps.map(Order.during)
            guard disturbance.isCall else { return (disturbance, [.before, .after] + steps) }
            let killed = disturbance.removesData ? flow.steps.map(Order.killed) : []
            return (disturbance, [.first, .before, .after] + flow.services.map(Order.waiting) + steps + killed)
        }
    }
}

/// One cell after the other, each with persons of its own.
private struct FlowRun {
    var bench: FlowBench
    private var number = 0
    /// Faults of earlier cells.
    private var known: Set<String> = []

    init(bench: FlowBench) { self.bench = bench }

    /// Runs one cell. Returns what is wrong after it.
    mutating func faults(of flow: Flow, _ disturbance: Disturbance, _ order: Order) async throws -> [String] {
        number += 1
        var cast = Cast(number: number)
        try await begin(flow, &cast)
        let before = bench.outside.accepted.count
        var fact = Date()
        var found: [String] = []
        let calls = disturbance.calls(cast, delete: flow.delete(cast))
        /// Makes the disturbance begin.
        func disturb() async throws {
            if let calls { try await bench.call(calls) } else { try await bench.begin(disturbance) }
            fact = Date()
        }
        switch order {
        case .first:
            try await disturb()
            do {
                try await bench.call(flow.calls(cast))
            } catch let error as PostgresError where error.sqlState?.hasPrefix("ER4") == true {
                // What the flow needs is gone.
            }
            fact = Date()
        case .before:
            try await bench.setQueues(arePaused: true)
            try await bench.call(flow.calls(cast))
            try await disturb()
            try await bench.setQueues(arePaused: false)
        case .waiting(let cause):
            try await bench.begin(cause)
            try await bench.call(flow.calls(cast))
            try await bench.awaitFault()
            try await disturb()
            try await bench.awaitPushes()
            try await bench.end(cause)
        case .during(let step):
            try await block(flow, cast, at: step, &found)
            try await disturb()
            bench.outside.release()
        case .killed(let step):
            try await block(flow, cast, at: step, &found)
            try await bench.begin(.kill)
            bench.outside.release()
            try await disturb()
            try await bench.end(.kill)
        case .after:
            try await bench.call(flow.calls(cast))
            if try await !bench.comesToRest() { found.append("not at rest before the disturbance") }
            try await disturb()
            if calls == nil {
                try await bench.call(flow.delete(cast))
                fact = Date()
            }
        }
        if calls == nil, disturbance != .kill, disturbance != .restart { try await bench.awaitFault() }
        try await bench.end(disturbance)
        if try await !bench.comesToRest() { found.append("not at rest") }

        let mayBeMissing =
            disturbance == .delete || flow.undoneBy.contains(disturbance.name) || isAfter(order) && calls == nil
        if !mayBeMissing, try await bench.database.count("where \(flow.effect(cast))") != 1 {
            found.append("its effect is missing")
        }
        // A call that was refused leaves what the phone has stored.
        if case .first = order {
            known.formUnion(flow.originals(cast).map { "nobody's object: \($0)" })
        } else {
            found += try await disturbance.leftOver(of: cast, in: bench.database)
        }
        let wrong = try await bench.faults().filter { !known.contains($0) }
        known.formUnion(wrong)
        found += wrong
        // A response was lost, or never recorded.
        let mayRepeat =
            switch order {
            case .killed: true
            case .during: [.kill, .pushesDown].contains(disturbance)
            default: false
            }
        let accepted = Array(bench.outside.accepted.dropFirst(before))
        found += try await bench.faults(in: accepted, since: fact, mayRepeat: mayRepeat)
        return found
    }

    /// Makes the call, and waits until the worker is held at the step.
    private func block(_ flow: Flow, _ cast: Cast, at step: Step, _ found: inout [String]) async throws {
        bench.outside.block(step)
        try await bench.call(flow.calls(cast))
        if try await !bench.isBlocked(at: step) { found.append("the worker did not come to the step") }
    }

    private func isAfter(_ order: Order) -> Bool { if case .after = order { true } else { false } }

    /// Makes all that the flow needs, with its pushes.
    private func begin(_ flow: Flow, _ cast: inout Cast) async throws {
        try await cast.enter(bench.database)
        for key in flow.originals(cast) { _ = try await bench.store.put(smallImage, at: ObjectKey(key)) }
        try #require(try await bench.comesToRest(), "\(bench.worker.output)")
        for statement in (flow.before(cast) ?? "").split(separator: ";") {
            try await bench.call(String(statement))
            try #require(try await bench.comesToRest(), "\(bench.worker.output)")
        }
    }
}
