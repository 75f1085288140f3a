import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand storage init") struct StorageTests {
    private let one = UUID()
    private let other = UUID()

    @Test("a store is marked once; without its marker, or with another's, it is refused until it is adopted")
    func plans() {
        let new = UUID()
        func plan(_ recorded: UUID?, _ marked: UUID?, adopts: Bool = false) -> StorePlan {
            StorePlan(recorded: recorded, marked: marked, adopts: adopts, new: new)
        }
        for adopts in [false, true] {
            #expect(plan(nil, nil, adopts: adopts) == .mark(new))
            #expect(plan(one, one, adopts: adopts) == .isDone(one))
        }
        for (recorded, marked) in [(one, nil), (one, other), (nil, other)] as [(UUID?, UUID?)] {
            guard case .refuse = plan(recorded, marked) else {
                Issue.record("\(String(describing: recorded)) \(String(describing: marked))")
                continue
            }
        }
        #expect(plan(one, nil, adopts: true) == .mark(one))
        #expect(plan(one, other, adopts: true) == .record(other))
        #expect(plan(nil, other, adopts: true) == .record(other))
    }

    @Test("init, again, on an empty mount point, with --adopt; without it a worker names the fix")
    func runs() async throws {
        try await withAppDatabase { database, configuration in
            let root = FileManager.default.temporaryDirectory.appendingPathComponent("store-\(UUID().uuidString)").path
            defer { try? FileManager.default.removeItem(atPath: root) }
            let settings = try reaching(configuration).merging(["STORAGE_URL": root]) { one, _ in one }
            func initialise(_ options: [String] = []) async throws -> Program {
                try await Program.run(["storage", "init"] + options, settings: settings)
            }
            try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
            let worker = try await Program.run(["worker"], settings: settings, signals: [("registered", SIGTERM)])
            #expect(worker.errors.contains("the database has no store yet; run `errand storage init`"))
            let first = try await initialise()
            #expect(first.code == 0 && first.output.hasPrefix("the store is this database's now: "))
            let second = try await initialise()
            #expect(second.code == 0 && second.output.hasPrefix("the store is this database's already: "))
            let marked = try await Program.run(["worker"], settings: settings, signals: [("registered", SIGTERM)])
            #expect(marked.code == 0 && !marked.errors.contains("can't be used"))

            try FileManager.default.removeItem(atPath: root + "/.errand-store")
            let third = try await initialise()
            #expect(third.code == 78 && third.error.contains("this one has no marker: mount its disk"))
            #expect(try FileManager.default.contentsOfDirectory(atPath: root) == [])
            let fourth = try await initialise(["--adopt"])
            #expect(fourth.code == 0 && fourth.output == first.output)
            let id = try await database.query("select id::text from media.store").scalar(String.self)
            let marker = try String(contentsOfFile: root + "/.errand-store", encoding: .utf8)
            #expect(marker.hasPrefix(id + "\n") && first.output.contains(id))
        }
    }

    @Test("78 if the folder can't be created, and nothing is recorded")
    func noFolder() async throws {
        try await withAppDatabase { database, configuration in
            let settings = try reaching(configuration).merging(["STORAGE_URL": "/dev/null/x"]) { one, _ in one }
            let program = try await Program.run(["storage", "init"], settings: settings)
            #expect(program.code == 78)
            #expect(program.error.hasPrefix("errand: STORAGE_URL: expected a folder that can be written to, got "))
            #expect(try await database.query("select count(*) from media.store").scalar(Int.self) == 0)
        }
    }
}
