import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import Synchronization
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
        case .waiting(let cause): "while they wait: \(cause.rawValue)"
        case .during(let step): "at \(step)"
        case .killed(let step): "killed at \(step)"
        case .after: "after the effect"
        }
    }
}

@Suite("Each flow of the apps with each disturbance") struct FlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? Flow.all : [.moment])
    func table(flow: Flow) async throws {
        var cells: [Disturbance: [String]] = [:]
        try await withAppDatabase { database, configuration in
            var run = FlowRun(bench: try await FlowBench(database, configuration))
            for (disturbance, orders) in Self.cells(of: flow) {
                for order in orders {
                    cells[disturbance, default: []] += try await run.faults(of: flow, disturbance, order).map {
                        "\(flow), \(disturbance.rawValue), \(order): \($0)"
                    }
                }
            }
            let code = try await run.bench.stop()
            #expect(code == 0)
        }
        FlowTable.shared.withLock { $0.rows[flow.name] = cells.mapValues(\.count) }
        let found = cells.values.flatMap(\.self).joined(separator: "\n")
        #expect(found.isEmpty, "\(found)")
        let table = FlowTable.shared.withLock { $0.rows.count == Flow.all.count ? $0.text : nil }
        if let table { print(table) }
    }

    private static func cells(of flow: Flow) -> [(Disturbance, [Order])] {
        guard Hardness.isFull else {
            return [
                (.disconnect, [.waiting(.pushesDown)]), (.storeDown, [.during(.stored)]), (.kill, [.during(.accepted)]),
            ]
        }
        return Disturbance.allCases.map { disturbance in
            if disturbance == .nothing { return (disturbance, [.before]) }
            let steps = flow.steps.map(Order.during)
            guard disturbance.isCall else { return (disturbance, [.before, .after] + steps) }
            let killed = disturbance.removesData ? flow.steps.map(Order.killed) : []
            return (disturbance, [.first, .before, .after] + flow.services.map(Order.waiting) + steps + killed)
        }
    }
}

/// The number of faults in each cell.
private struct FlowTable {
    static let shared = Mutex(FlowTable())

    var rows: [String: [Disturbance: Int]] = [:]

    var text: String {
        let columns = Disturbance.allCases
        var lines = [(["flow"] + columns.map(\.rawValue)).joined(separator: " | ")]
        lines.append([String](repeating: "---", count: columns.count + 1).joined(separator: "|"))
        for flow in Flow.all {
            guard let row = rows[flow.name] else { continue }
            let cells = columns.map { row[$0].map { $0 == 0 ? "ok" : "\($0)" } ?? "" }
            lines.append(([flow.name] + cells).joined(separator: " | "))
        }
        return lines.map { "| \($0) |" }.joined(separator: "\n")
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

        let mayBeMissing = disturbance == .delete || flow.isUndone(disturbance) || isAfter(order) && calls == nil
        if !mayBeMissing, try await bench.database.count("where \(flow.effect(cast))") != 1 {
            found.append("its effect is missing")
        }
        found += try await leftOver(of: cast, disturbance, order)
        // A call that was refused leaves what the phone has stored.
        if case .first = order { known.formUnion(flow.originals(cast).map { "nobody's object: \($0)" }) }
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
        try await bench.call(cast.pairing)
        for key in flow.originals(cast) { _ = try await bench.store.put(smallImage, at: ObjectKey(key)) }
        try #require(try await bench.comesToRest(), "\(bench.worker.output)")
        for statement in (flow.before(cast) ?? "").split(separator: ";") {
            try await bench.call(String(statement))
            try #require(try await bench.comesToRest(), "\(bench.worker.output)")
        }
    }

    /// What an erased person has left.
    private func leftOver(of cast: Cast, _ disturbance: Disturbance, _ order: Order) async throws -> [String] {
        if case .first = order { return [] }
        let person = disturbance == .eraseSender ? cast.anna : disturbance == .eraseReceiver ? cast.ben : nil
        guard let person else { return [] }
        let export = try await bench.database.query(Statement("select people.export($1)::text", [person])).scalar(
            String.self)
        return export == "{}" ? [] : ["left of the person: \(export)"]
    }
}
