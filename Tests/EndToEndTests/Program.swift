import ErrandTestKit
import Foundation
import Postgres
import Testing

/// The built program `errand`, as a process that can be signalled.
final class Program {
    private let process = Process()
    private let log: URL

    /// Starts it with a clean environment but for the database and `settings`.
    ///
    /// - Parameters:
    ///   - program: another one than that which was built together with the tests.
    ///   - namespace: the network namespace that it runs in, by default that of the tests.
    init(
        _ arguments: [String], of program: URL? = nil, in namespace: String? = nil, database: String?,
        settings: [String: String] = [:]
    ) throws {
        // The test bundle is in the folder of the programs.
        let folder = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        log = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).log")
        try Data().write(to: log)
        // The promises are for the release build, which `make faults` names.
        let named = ProcessInfo.processInfo.environment["ERRAND_TEST_PROGRAM"].map { URL(fileURLWithPath: $0) }
        let executable = program ?? named ?? folder.appendingPathComponent("errand")
        if let namespace {
            // It becomes the program, under the same process id.
            process.executableURL = URL(fileURLWithPath: "/usr/sbin/ip")
            process.arguments = ["netns", "exec", namespace, executable.path] + arguments
        } else {
            process.executableURL = executable
            process.arguments = arguments
        }
        var environment = settings.merging(["PATH": "/usr/bin:/bin"]) { one, _ in one }
        if let database, environment["DATABASE_URL"] == nil { environment["DATABASE_URL"] = database }
        // On a free port, because several tests run concurrently. The last released program may not know the setting.
        if program == nil, arguments.first == "run" { environment["ERRAND_WEB_ADDRESS"] = "127.0.0.1:0" }
        process.environment = environment
        let output = try FileHandle(forWritingTo: log)
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        // A `Process` that has run is never released, nor are its pipes.
        try output.close()
    }

    /// Marks the store of `settings` as the database's.
    static func initialiseStore(database: String, settings: [String: String]) async throws {
        let program = try Program(["storage", "init"], database: database, settings: settings)
        let code = try await program.exit()
        #expect(code == 0, "\(program.output)")
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        try? FileManager.default.removeItem(at: log)
    }

    var isRunning: Bool { process.isRunning }

    /// The output so far.
    var output: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

    /// The most memory that it has had so far, in bytes; nil if it has exited.
    var peakMemory: Int? {
        let status = try? String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }.map { $0 << 10 }
    }

    /// A worker's name in the database ends with it.
    var id: Int32 { process.processIdentifier }

    func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits until the program exits. Returns its exit code, or a signal's negative number; nil after `limit`.
    func exit(within limit: Duration = .seconds(60)) async throws -> Int32? {
        let start = ContinuousClock.now
        while process.isRunning {
            guard ContinuousClock.now - start < limit else { return nil }
            try await Task.sleep(for: .milliseconds(10))
        }
        return process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
    }
}

extension Hardness {
    /// Settings of the workers under test: a short lease keeps the test run short, and one of 4 s is not lost by a
    /// machine that stalls for a moment.
    static let settings = isFull ? [:] : ["ERRAND_LEASE": "4s", "ERRAND_HEARTBEAT_INTERVAL": "500ms"]
    /// From the loss of a worker to the run of its jobs elsewhere, at most: the lease, the rescue's interval of 5 s,
    /// and room; beside other tests more of it.
    static let rescue: Duration = isFull ? .seconds(30) : .seconds(40)
}

extension Database {
    func count(_ sql: String) async throws -> Int {
        try await query(Statement("select count(*) \(sql)")).scalar(Int.self)
    }

    /// Repeats the query until `sql` is true, at most for `limit`.
    func becomes(_ sql: String, within limit: Duration) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            if try await query(Statement("select \(sql)")).scalar(Bool.self) { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    /// Does what ``rescue(jobsOf:)`` does. With the full numbers the time passes.
    func rescueJobs(of worker: Program) async throws {
        if !Hardness.isFull { try await rescue(jobsOf: worker) }
    }

    /// Ends the lease of a worker that was killed or stopped, and rescues its jobs, instead of waiting for both.
    func rescue(jobsOf worker: Program) async throws {
        let name = "%:\(worker.id)"
        let start = ContinuousClock.now
        var lost: Set<Int64> = []
        repeat {
            // Each time, because a heartbeat of the dead process may still have been on its way.
            lost.formUnion(
                try await query(.silencesWorkers(where: "name like $1", [name])).column(0, as: Int64.self))
            try await execute("select errand_internal.rescue()")
            let isDone = Statement(
                """
                select not exists (select from errand.worker where name like $1)
                    and not exists (select from errand.claim where worker_id = any ($2))
                """, [name, Array(lost)])
            if try await query(isDone).scalar(Bool.self) { return }
            try await Task.sleep(for: .milliseconds(20))
        } while ContinuousClock.now - start < .seconds(60)
        Issue.record("the jobs of \(name) are not rescued")
    }

    /// Brings attempts that wait for their delay forward. With the full numbers the time passes.
    func skipDelays() async throws {
        guard !Hardness.isFull else { return }
        try await execute("update errand.job set run_at = now() where state = 'scheduled' and run_at > now()")
    }

    /// Repeats the query until `sql` is true, at most for `limit`, and brings attempts forward that wait for their
    /// delay.
    func becomes(withoutDelays sql: String, within limit: Duration) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            if try await becomes(sql, within: Hardness.isFull ? limit : .milliseconds(100)) { return true }
            try await skipDelays()
        }
        return false
    }

    /// Enqueues `count` jobs that sleep.
    func enqueueSleepers(_ count: Int, milliseconds: Int) async throws {
        try await execute(
            Statement(
                """
                select errand.enqueue_payloads_v1('noop', array(
                    select jsonb_build_object('sleep_ms', $2::int8) from generate_series(1, $1)))
                """, [count, milliseconds]))
    }
}
