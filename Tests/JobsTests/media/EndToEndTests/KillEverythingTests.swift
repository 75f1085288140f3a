import ErrandStorage
import ErrandTestKit
import Foundation
import Logging
import Postgres
import StorageKit
import Testing

@Suite("Workers, object store and database killed at random", .serialized) struct KillEverythingTests {
    /// The duration of the kills; the promise is 10 minutes.
    private let span: Duration = Hardness.isFull ? .seconds(600) : .zero

    @Test("no photo that was handed over is lost, none is stored twice or damaged, and nothing else is in the bucket")
    func killed() async throws {
        let cluster = try await KillableCluster.migrated()
        let bucket = try await KillableBucket(port: freePort())
        var configuration = try PostgresConfiguration(url: await cluster.url())
        configuration.statementTimeout = .seconds(20)
        let database = Database(
            configuration: configuration, maximumConnections: 2,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let url = try await cluster.url()
        let settings = Hardness.settings.merging(
            [
                "ERRAND_QUEUES": "uploads=16", "STORAGE_URL": bucket.url,
                "STORAGE_ACCESS_KEY": KillableBucket.keys.access, "STORAGE_SECRET_KEY": KillableBucket.keys.secret,
            ]) { _, new in new }
        try await Program.initialiseStore(database: url, settings: settings)

        var workers = try (0..<2).map { _ in try Program(["worker"], database: url, settings: settings) }
        var kills: [String: Int] = [:]
        var victims: [String] = []
        var killed: [Program] = []
        var acknowledged: [Int] = []
        var number = 0
        var random = SystemRandomNumberGenerator()
        let start = ContinuousClock.now
        // At least one round, in which each is killed once and workers twice.
        while ContinuousClock.now - start < span || kills.values.reduce(0, +) < 4 {
            let pause =
                ContinuousClock.now
                + .milliseconds(Int.random(in: 200...(Hardness.isFull ? 2000 : 600), using: &random))
            while ContinuousClock.now < pause {
                if await submit(number, to: database) { acknowledged.append(number) }
                number += 1
                try await Task.sleep(for: .milliseconds(20))
            }
            let down = Duration.milliseconds(Int.random(in: 0...(Hardness.isFull ? 1500 : 500), using: &random))
            // Each is killed once in a round of four, workers twice.
            if victims.isEmpty { victims = ["store", "database", "worker", "worker"].shuffled(using: &random) }
            let victim = victims.removeLast()
            kills[victim, default: 0] += 1
            switch victim {
            case "store":
                try bucket.kill()
                try await Task.sleep(for: down)
                try await bucket.start()
            case "database":
                try cluster.kill()
                try await Task.sleep(for: down)
                try await cluster.start()
            default:
                let index = Int.random(in: 0..<2, using: &random)
                workers[index].send(SIGKILL)
                killed.append(workers[index])
                workers[index] = try Program(["worker"], database: url, settings: settings)
            }
            // Like a supervisor.
            for index in workers.indices where !workers[index].isRunning {
                killed.append(workers[index])
                workers[index] = try Program(["worker"], database: url, settings: settings)
            }
        }

        // Jobs whose four attempts all met a fault have failed. An operator retries them.
        var again = 0
        for worker in killed { try await database.rescueJobs(of: worker) }
        #expect(
            try await database.becomes(
                withoutDelays: "not exists (select from errand.job)", within: Hardness.rescue + .seconds(120)))
        while try await database.count("from errand.failed") > 0, again < 3 {
            again += 1
            try await database.execute("select errand.retry(array(select id from errand.failed))")
            #expect(
                try await database.becomes(withoutDelays: "not exists (select from errand.job)", within: .seconds(120)))
        }
        let known: Set<Int> = Set(
            try await database.query("select substr(key, 8, 6)::int8 - 100000 as number from media.upload order by 1")
                .map {
                    try $0.decode(Int.self)
                })
        print(
            "kill -9 over \(span): \(kills); \(acknowledged.count) of \(number) photos acknowledged, \(known.count) known"
        )
        #expect(known.isSuperset(of: acknowledged), "lost: \(Set(acknowledged).subtracting(known))")
        #expect(try await database.count("from media.upload where delivered_at is null or bytes is not null") == 0)
        let files = try FileManager.default.contentsOfDirectory(
            at: bucket.folder.appendingPathComponent("photos/photos"), includingPropertiesForKeys: nil
        )
        // The incomplete file of a put during which rclone was killed. A later put stores the object.
        .filter { !$0.lastPathComponent.hasPrefix(".rclone_temp_put_") }
        #expect(Set(files.map(\.lastPathComponent)) == Set(known.map { "\(100_000 + $0).jpg" }), "one each, no orphan")
        for file in files {
            let number = Int(file.lastPathComponent.prefix(6)).map { $0 - 100_000 } ?? -1
            #expect(try Array(Data(contentsOf: file)) == StorageFixture.bytes(number))
        }
        #expect(kills.count == 3)
        for worker in workers {
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
        await database.close()
        try await cluster.drop()
    }

    /// Submits a photo, like an app's server. Returns whether its commit was acknowledged.
    private func submit(_ number: Int, to database: Database) async -> Bool {
        let statement = Statement(
            "select media.submit_upload($1, $2)",
            ["photos/\(100_000 + number).jpg", Bytes(StorageFixture.bytes(number))])
        return (try? await database.execute(statement)) != nil
    }
}
