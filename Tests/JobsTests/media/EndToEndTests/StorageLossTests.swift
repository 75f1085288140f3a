import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Synchronization
import Testing

@Suite("What is lost on the way to the object store", .serialized) struct StorageLossTests {
    private let count = Hardness.isFull ? 100 : 16

    @Test("broken bodies, resets and lost responses: one object each, the right bytes, nothing else")
    func lost() async throws {
        let tries = Mutex([Substring: Int]())
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration) { request in
                guard request.method == "PUT", let name = request.path.split(separator: "/").last else { return .none }
                let number = tries.withLock { tries in
                    tries[name, default: 0] += 1
                    return tries[name] ?? 0
                }
                // Two in a row, because a broken connection is retried once immediately; a third of each sort.
                guard number <= 2, let sort = Int(name.prefix(4)) else { return .none }
                return [.loseResponse, .cutBody, .reset][sort % 3]
            }
            let worker = try fixture.worker()
            try await fixture.stage(count, size: 200_000)
            #expect(
                try await database.becomes(withoutDelays: "not exists (select from errand.job)", within: .seconds(60)))
            #expect(fixture.puts.count >= count * 2)
            try await fixture.expectDelivered(count, size: 200_000)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    @Test("kill -9 between the store and its record, for every upload: the next worker finds the object and records it")
    func killed() async throws {
        // The first response of each upload never comes, so all uploads wait for it when their worker is killed.
        let held = Mutex(Set<Substring>())
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration) { request in
                guard request.method == "PUT", let name = request.path.split(separator: "/").last else { return .none }
                return held.withLock { $0.insert(name).inserted } ? .delayResponse : .none
            }
            try await fixture.stage(count)
            var kills = 0
            while held.withLock(\.count) < count {
                let before = held.withLock(\.count)
                let victim = try fixture.worker()
                let wanted = min(count, before + 16)
                let start = ContinuousClock.now
                while held.withLock(\.count) < wanted || fixture.proxy.held < wanted {
                    try #require(ContinuousClock.now - start < .seconds(60), "no upload was begun")
                    try await Task.sleep(for: .milliseconds(5))
                }
                victim.send(SIGKILL)
                #expect(try await victim.exit() == -SIGKILL)
                try await database.rescueJobs(of: victim)
                kills += 1
            }
            #expect(try await database.count("from media.upload where delivered_at is not null") == 0)
            let successor = try fixture.worker()
            #expect(
                try await database.becomes(
                    "not exists (select from errand.job)", within: Hardness.rescue + .seconds(40)))
            print("F57: \(count) uploads in \(kills) killed workers")
            try await fixture.expectDelivered(count)
            successor.send(SIGTERM)
            #expect(try await successor.exit() == 0)
        }
    }
}
