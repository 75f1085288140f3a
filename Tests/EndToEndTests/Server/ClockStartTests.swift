import ErrandTestKit
import Foundation
import Testing

@Suite(
    "A wrong clock at the start", .enabled(if: FakeClock.isThere, "libfaketime is missing: scripts/need.sh faults"))
struct ClockStartTests {
    @Test("a worker warns before it claims, and a scheduler with its first read", arguments: ["-5m", "+5m"])
    func warns(offset: String) async throws {
        try await withTestDatabase { _, configuration in
            let url = try TestServer.url(of: configuration)
            let wrong = try await FakeClock.environment(offset).merging(["ERRAND_HEARTBEAT_INTERVAL": "6s"]) { $1 }
            let worker = try Program(["worker"], database: url, settings: wrong)
            let scheduler = try Program(["scheduler"], database: url, settings: wrong)
            defer {
                for program in [worker, scheduler] {
                    program.send(SIGKILL)
                    FakeClock.removeTraces(of: program.id)
                }
            }
            let warning = "this host's clock differs from the database's"
            #expect(try await worker.writes("registered"))
            let output = worker.output
            let before = output[..<(output.firstRange(of: "registered")?.lowerBound ?? output.startIndex)]
            #expect(before.contains(warning), "\(output)")
            #expect(try await scheduler.writes(warning))
        }
    }
}
