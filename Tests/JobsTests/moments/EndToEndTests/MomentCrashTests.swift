import ErrandTestKit
import Foundation
import Logging
import Postgres
import StorageKit
import Testing

@Suite("Moments while workers, object store and database are killed at random", .serialized)
struct MomentCrashTests {
    /// The duration of the kills; the promise is 5 minutes.
    private let span: Duration = Hardness.isFull ? .seconds(300) : .zero
    private let pairs = 4

    @Test("M5: each sender has one current photo, the newest, and the store has no other object")
    func killed() async throws {
        let cluster = try await KillableCluster.migrated()
        let bucket = try await KillableBucket(port: freePort())
        let url = try await cluster.url()
        var configuration = try PostgresConfiguration(url: url)
        configuration.statementTimeout = .seconds(20)
        let database = Database(
            configuration: configuration, maximumConnections: 2,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let settings = Hardness.settings.merging(
            [
                "ERRAND_QUEUES": "images=1,uploads=8,default=4", "STORAGE_URL": bucket.url,
                "STORAGE_ACCESS_KEY": KillableBucket.keys.access, "STORAGE_SECRET_KEY": KillableBucket.keys.secret,
            ]) { _, new in new }
        try await Program.initialiseStore(database: url, settings: settings)
        try await makePairs(in: database)

        var workers = try (0..<2).map { _ in try Program(["worker"], database: url, settings: settings) }
        var kills: [String: Int] = [:]
        var victims: [String] = []
        var killed: [Program] = []
        var acknowledged = 0
        var number = 0
        let start = ContinuousClock.now
        // At least one round, in which each is killed once and workers twice.
        while ContinuousClock.now - start < span || kills.values.reduce(0, +) < 4 {
            let pause = ContinuousClock.now + .milliseconds(Int.random(in: 200...(Hardness.isFull ? 2000 : 600)))
            while ContinuousClock.now < pause {
                if await send(number, in: database) != nil { acknowledged += 1 }
                number += 1
                try await Task.sleep(for: .milliseconds(30))
            }
            let down = Duration.milliseconds(Int.random(in: 0...(Hardness.isFull ? 1500 : 500)))
            // Each is killed once in a round of four, workers twice.
            if victims.isEmpty { victims = ["store", "database", "worker", "worker"].shuffled() }
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
                let index = Int.random(in: 0..<2)
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
        // The last one of each sender, so that everybody has one. What was committed without an answer is older.
        var newest: Set<UUID> = []
        for last in number..<(number + 2 * pairs) {
            var sent: UUID?
            while sent == nil { sent = await send(last, in: database) }
            newest.insert(try #require(sent))
        }

        for worker in killed { try await database.rescueJobs(of: worker) }
        try await finish(in: database)
        let rows = try await database.query(
            """
            select status.moment_id, status.state, photo.result_key, photo.source_key
            from moments.moment_status as status
            join media.photo on photo.id = status.moment_id
            """
        ).map { try $0.decode(UUID.self, String.self, String?.self, String.self) }
        #expect(Set(rows.map(\.0)) == newest && rows.count == 2 * pairs, "one photo of each sender, the newest")
        #expect(rows.allSatisfy { $0.1 == "current" })
        #expect(try await database.count("from media.photo") == 2 * pairs)
        let objects = try objects(in: bucket)
        let results = Set(rows.compactMap(\.2))
        print("M5: kill -9 over \(span): \(kills); \(acknowledged) of \(number) moments acknowledged")
        #expect(results.count == 2 * pairs && results.isSubset(of: objects))
        #expect(objects.subtracting(results).subtracting(rows.map(\.3)) == [], "orphans")
        #expect(kills.count == 3)
        for worker in workers {
            worker.send(SIGTERM)
            #expect(try await worker.exit() == 0)
        }
        await database.close()
        try await cluster.drop()
    }

    private func makePairs(in database: Database) async throws {
        try await database.execute(
            Statement(
                """
                with pair as (
                    insert into pairing.pair (paired_at, invite_id, inviter, invitee)
                    select now(), n, 'a-' || n, 'b-' || n from generate_series(0, $1 - 1) as n
                    returning id, inviter, invitee
                )
                insert into pairing.person (user_id, pair_id)
                select inviter, id from pair union all select invitee, id from pair
                """, [pairs]))
    }

    /// Hands an original over and sends it, in one transaction, like an app's server. Returns the moment's id if its
    /// commit was acknowledged.
    private func send(_ number: Int, in database: Database) async -> UUID? {
        let sender = number / pairs % 2 == 0 ? "a-\(number % pairs)" : "b-\(number % pairs)"
        let statement = Statement(
            """
            with original as (
                select 'moments/' || gen_random_uuid() || '.png' as key
            ),
            staged as (
                select key, media.submit_upload(key, $2, 'image/png', $1) from original
            )
            select moment_id from staged cross join lateral moments.send($1, media.submit(key, $1))
            """, [sender, Bytes(smallImage)])
        return try? await database.query(statement).scalar(UUID.self)
    }

    /// Waits until nothing is left to do. Jobs whose attempts all met a fault have failed: an operator retries them.
    private func finish(in database: Database) async throws {
        let idle = "not exists (select from errand.job where queue <> 'pushes')"
        #expect(try await database.becomes(withoutDelays: idle, within: Hardness.rescue + .seconds(120)))
        var again = 0
        while try await database.count("from errand.failed") > 0, again < 3 {
            again += 1
            try await database.execute("select errand.retry(array(select id from errand.failed))")
            #expect(try await database.becomes(withoutDelays: idle, within: .seconds(120)))
        }
        // Objects that may have been on their way are removed once more, after 90 s.
        let start = ContinuousClock.now
        while try await database.count("from media.removal") > 0 {
            try #require(ContinuousClock.now - start < .seconds(300), "objects wait for their removal")
            if !Hardness.isFull {
                try await database.execute(
                    """
                    update media.removal
                    set try_at = try_at - interval '90 s', final_at = final_at - interval '90 s',
                        tried_at = tried_at - interval '90 s'
                    """)
            }
            try await database.execute("select media.enqueue_removals_v1()")
            #expect(try await database.becomes(withoutDelays: idle, within: .seconds(60)))
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// The keys of all objects, without the marker and incomplete files of a put during which rclone was killed.
    private func objects(in bucket: KillableBucket) throws -> Set<String> {
        let root = bucket.folder.appendingPathComponent("photos")
        var found: Set<String> = []
        for folder in ["moments", "photos"] {
            let names = try? FileManager.default.contentsOfDirectory(atPath: root.appendingPathComponent(folder).path)
            found.formUnion((names ?? []).filter { !$0.hasPrefix(".rclone_temp_put_") }.map { "\(folder)/\($0)" })
        }
        return found
    }
}
