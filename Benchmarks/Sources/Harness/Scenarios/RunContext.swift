import Benchmark
import Errand
import Foundation
import Subprocess
import SystemPackage

/// The server and the scale of a scenario.
struct RunContext: Sendable {
    let cluster: Cluster
    let isFull: Bool
    /// The checkout.
    let root: FilePath
    /// The folder of the release program `errand`.
    let programs: FilePath
    /// The same of the commit that is compared with.
    let before: FilePath?

    /// Runs `body` with an empty database of the contender's, set up and on the disk; removes it after.
    func withDatabase<T: Sendable>(
        for contender: Contender, _ body: (RunDatabase) async throws -> T
    ) async throws -> T {
        let name = "bench_\(contender.name.replacing("-", with: "_"))"
        let url = try await cluster.freshDatabase(name)
        try await contender.setUp(on: url)
        try await cluster.checkpoint()
        let database = try Cluster.database(url: url)
        let result: Result<T, any Error>
        do {
            result = .success(try await body(RunDatabase(name: name, url: url, database: database)))
        } catch {
            result = .failure(error)
        }
        await database.close()
        try await cluster.drop(name)
        return try result.get()
    }

    /// How many jobs a contender is given for some seconds of work: three by default, twenty in a full run.
    func jobs(_ count: Int, for contender: Contender, processorTime: Double = 0) -> Int {
        let throughput = Field.throughput(of: contender.name)
        let possible = processorTime > 0 ? min(throughput, 1_000_000 / processorTime) : throughput
        return min(count, Int(min(possible * (isFull ? 20 : 3), Double(count))))
    }

    /// The folder of a contender's own Errand.
    func programs(of contender: Contender) -> FilePath {
        contender.name == Field.before ? before ?? programs : programs
    }

    /// Runs the program `errand bench` of a contender on a database and returns its JSON.
    func errandBench<T: Decodable>(
        _ arguments: [String], of contender: Contender, on url: String, as type: T.Type
    ) async throws -> T {
        let result = try await Subprocess.run(
            .path(programs(of: contender).appending("errand")), arguments: Arguments(["bench", "--json"] + arguments),
            environment: .inherit.updating(["DATABASE_URL": url]),
            output: .string(limit: 1 << 20), error: .string(limit: 1 << 20))
        guard result.terminationStatus.isSuccess else {
            throw BenchError("errand bench \(arguments.joined(separator: " ")): \(result.standardError)")
        }
        return try JSONDecoder().decode(type, from: Data(result.standardOutput.utf8))
    }
}

/// A contender's database in one run.
struct RunDatabase: Sendable {
    let name: String
    let url: String
    let database: Database

    /// Runs `body` while another session has an open transaction that began with `statement`.
    func holding<T: Sendable>(_ statement: Statement, _ body: () async throws -> T) async throws -> T {
        try await database.withConnection { connection in
            try await connection.execute("begin isolation level repeatable read")
            try await connection.execute(statement)
            let result: Result<T, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            try await connection.execute("commit")
            return try result.get()
        }
    }
}

/// What `errand bench` says; its names are those of its JSON.
struct ErrandFigures: Decodable, Sendable {
    let jobs_per_second: Double
    let claim_p50_ms: Double
    let claim_p99_ms: Double
    let wal_bytes_per_job: Double
    let worker_cpu_us_per_job: Double
    let rss_bytes: Double

    var values: Values {
        [
            .rate: jobs_per_second, .p50: claim_p50_ms, .p99: claim_p99_ms, .log: wal_bytes_per_job,
            .workerCPU: worker_cpu_us_per_job, .memory: rss_bytes / Double(1 << 20),
        ]
    }
}
