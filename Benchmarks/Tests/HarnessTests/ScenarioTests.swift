import Benchmark
import Foundation
import Testing

@testable import Harness

@Suite("Scenarios") struct ScenarioTests {
    @Test("each number of a promise is measured by a scenario in which its contender takes part")
    func promisesAreMeasured() throws {
        let scenarios = [any Scenario].all(isFull: true)
        for promise in Promise.all {
            let other: Results.Key? =
                switch promise.bound {
                case .atLeast(_, let key), .atMost(_, let key), .below(let key): key
                case .noMore: nil
                }
            for key in [promise.key, other].compactMap(\.self) {
                let name = String(key.scenario.prefix { $0 != "/" })
                let scenario = try #require(scenarios.first { $0.name == name }, "\(name): no such scenario")
                #expect(scenario.takesPart(key.contender, isFull: false), "\(key)")
            }
        }
    }

    @Test("a scenario is chosen by its name or by the part before a dash")
    func choosing() {
        let chosen = { (word: String) in [any Scenario].all(isFull: false).filter { $0.isChosen(by: word) }.map(\.name)
        }
        let drains = [
            "drain-1", "drain-2", "drain-4", "drain-cpu-1", "drain-cpu-2", "drain-10k", "drain-followed", "drain-http",
        ]
        #expect(chosen("drain") == drains)
        #expect(chosen("drain-1") == ["drain-1"])
        #expect(chosen("enqueue-16") == ["enqueue-16", "enqueue-16-busy", "enqueue-16-idle"])
        #expect(chosen("dra").isEmpty)
    }

    @Test("no two scenarios have the same name")
    func names() {
        let names = [any Scenario].all(isFull: false).map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test("of the table of claims the lines of lengths are read, and nothing else")
    func backlogTable() {
        let table = """
            load of the machine: 0.10 0.20 0.30
            claims of 20, 500 each, ms
                 waiting      p50      p95      p99   p50 to the first
                    1000     0.98     1.18     1.42               1.00
                10000000     1.08     1.89     2.36               1.10, 3 claims came back short
            """
        #expect(
            Backlog.rows(of: table) == [
                "/1000": [.p50: 0.98, .p99: 1.42], "/10000000": [.p50: 1.08, .p99: 2.36],
            ])
    }
}

@Suite("Photos") struct ImageFiguresTests {
    @Test("the output of tools.py becomes photos per second, times in ms, CPU per photo and MiB")
    func figures() throws {
        let said =
            #"{"seconds": 0.5, "us": [250000, 750000], "cpu_us": 600000, "peak_bytes": 104857600, "largest": 499999}"#
        let values = try JSONDecoder().decode(ImageFigures.self, from: Data(said.utf8)).values
        #expect(values[.rate] == 4)
        #expect(values[.workerCPU] == 300_000)
        #expect(values[.peakMemory] == 100)
        #expect(abs((values[.p50] ?? 0) - 250) < 1 && abs((values[.p99] ?? 0) - 750) < 1)
    }

    @Test("tools for photos take part in the scenario of photos alone")
    func tools() {
        let scenarios = [any Scenario].all(isFull: true)
        for tool in Images.tools {
            #expect(scenarios.filter { $0.takesPart(tool, isFull: true) }.map(\.name) == ["images"])
        }
    }
}

@Suite("Processes") struct ProcessFiguresTests {
    @Test("a process is found with its parent, its memory, and CPU that only grows")
    func ownProcess() throws {
        let id = Int(ProcessInfo.processInfo.processIdentifier)
        let before = try #require(ProcessFigures(of: id))
        #expect(before.parent == Int(getppid()))
        let memory = before.memory
        #expect(memory.now > 1_000_000)
        #expect(memory.peak >= memory.now)
        var sum = 0.0
        // Until the kernel's clock, which counts in steps of 10 ms, has gone on.
        while try #require(ProcessFigures(of: id)).processorTime == before.processorTime { sum += sum.squareRoot() + 1 }
        #expect(try #require(ProcessFigures(of: id)).processorTime > before.processorTime)
    }

    @Test("a process that isn't there is nothing")
    func noProcess() {
        #expect(ProcessFigures(of: 0) == nil)
        #expect(ProcessFigures.tree(of: -1).isEmpty)
    }

    @Test("a tree has a process and its descendants")
    func tree() throws {
        let parent = Int(getppid())
        let own = Int(ProcessInfo.processInfo.processIdentifier)
        #expect(ProcessFigures.tree(of: parent).map(\.id).contains(own))
        #expect(ProcessFigures.tree(of: own).first?.id == own)
    }
}
