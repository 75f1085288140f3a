import AppTestKit
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

@Suite("The object store is down", .serialized) struct StorageDownTests {
    @Test(
        "M4: 200 uploads wait and spend nothing; when it is back the first goes within 1.5 s and all within 5 s, oldest first"
    )
    func down() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration)
            let count = Hardness.isFull ? 200 : 60
            fixture.proxy.stop()
            let worker = try fixture.worker()
            try await fixture.stage(count)
            #expect(
                try await database.becomes(
                    "(select count(*) from errand.job where state = 'parked') >= \(count - 1)", within: .seconds(60)))
            try await Task.sleep(for: Hardness.isFull ? .seconds(300) : .milliseconds(1500))
            #expect(fixture.puts.isEmpty)

            try fixture.proxy.start()
            let back = ContinuousClock.now
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            let puts = fixture.puts
            let first = try #require(puts.first).at - back
            let last = try #require(puts.last).at - back
            print("F51: first upload \(first) and the last \(last) after the store was back")
            // The numbers are promised for a machine without other load, such as other tests.
            #expect(first <= (Hardness.isFull ? .seconds(1.5) : .seconds(30)))
            #expect(last <= (Hardness.isFull ? .seconds(5) : .seconds(30)))
            #expect(puts.count == count)
            // Sixteen run concurrently, so neighbours may finish in another order.
            let order = puts.compactMap { Int($0.path.suffix(8).prefix(4)) }.map { $0 - 1000 }
            #expect(order.first == 0)
            for (index, number) in order.enumerated() { #expect(abs(index - number) <= 32) }
            #expect(
                try await database.count("from errand.history where attempt <> 1") == 0, "attempts burned by waiting")
            try await fixture.expectDelivered(count)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
    }

    @Test("M4: while it is alternately up and down, one try a second is made, and each upload is put once")
    func flapping() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await StorageFixture(database, configuration)
            let (rounds, span) = Hardness.isFull ? (5, 10) : (2, 1)
            let worker = try fixture.worker()
            var staged = 0
            var secondsDown = 0
            for _ in 0..<rounds {
                let start = ContinuousClock.now
                fixture.proxy.stop()
                try await fixture.stage(50, after: staged)
                staged += 50
                try await Task.sleep(for: .seconds(span))
                try fixture.proxy.start()
                // Measured, because on a busy machine the store stays down longer than planned.
                secondsDown += Int(((ContinuousClock.now - start) / .seconds(1)).rounded(.up))
                try await Task.sleep(for: .seconds(span))
            }
            #expect(try await database.becomes("not exists (select from errand.job)", within: .seconds(60)))
            #expect(fixture.puts.count == staged)
            try await fixture.expectDelivered(staged)
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
            // Sixteen attempts may run when the store goes down. As many may begin until the third failure, which opens
            // the circuit, is recorded. From then on it is one a second.
            let found = try await database.query(
                "select coalesce(sum(jobs), 0)::int8 from errand.finished_per_minute where outcome = 'parked'"
            ).scalar(Int.self)
            print("F52: \(found) attempts found it down in \(secondsDown) s of \(rounds) outages")
            #expect(found <= secondsDown + rounds * (1 + 2 * 16))
        }
    }
}
