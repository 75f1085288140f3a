import ErrandTestKit
import Foundation
import NIOHTTP1
import Postgres
import StorageKit
import Testing

@testable import ErrandStorage
@testable import Outbound

/// Events with photos in a real bucket, which refuses one deletion in twenty.
struct PurgeFixture: Sendable {
    let database: Database
    let refusal: DeleteRefusal
    /// The bucket without the proxy.
    private let store: S3Store
    private let proxy: FaultProxy
    private let url: String
    private let settings: [String: String]

    init(_ database: Database, _ configuration: PostgresConfiguration, isVersioned: Bool) async throws {
        let server = try isVersioned ? BucketServer.moto() : BucketServer.rclone()
        let prefix = "t-\(UUID().uuidString)"
        let (bucket, options) = isVersioned ? ("versioned", "&versions=removed") : ("photos", "")
        let credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
        let location = try StorageLocation(
            url: server.url(bucket: bucket, prefix: prefix, options: options), credentials: credentials)
        guard case .bucket(let direct) = location else { preconditionFailure("the URL names a bucket") }
        let store = try S3Store(direct)
        // With versions, each request deletes one object, so a refusal applies to all of it.
        let refusal =
            isVersioned
            ? DeleteRefusal(oneOf: 20)
            : DeleteRefusal(oneOf: 20) { names in
                let failed = try await store.delete(names.map { try ObjectKey(String($0.dropFirst(prefix.count + 1))) })
                if let error = failed.values.first { throw error }
            }
        self.database = database
        self.store = store
        self.refusal = refusal
        proxy = try FaultProxy(to: server.port) { refusal.fault(for: $0) }
        url = try TestServer.url(of: configuration)
        settings = [
            // Short leases also for the full numbers: fifty leases of 20 s would take all of the time.
            "ERRAND_LEASE": "2s", "ERRAND_HEARTBEAT_INTERVAL": "500ms", "ERRAND_QUEUES": "default=10",
            "STORAGE_URL": server.url(bucket: bucket, prefix: prefix, port: proxy.port, options: options),
            "STORAGE_ACCESS_KEY": server.accessKey, "STORAGE_SECRET_KEY": server.secretKey,
        ]
        try await Program.initialiseStore(database: url, settings: settings)
    }

    /// The number of requests that delete objects so far.
    var deletions: Int { proxy.requests.count { $0.method == "POST" && $0.path.contains("?delete") } }

    func program(_ command: String) throws -> Program { try Program([command], database: url, settings: settings) }
}

// MARK: - Events and objects
extension PurgeFixture {
    /// Events with delivered photos. They ended more than 8 days ago, or continue.
    func make(_ events: Int, photos: Int, isOver: Bool) async throws {
        try await database.execute(
            Statement(
                """
                with made as (
                    insert into events.event (host, title, starts_at, ends_at, photos_each, photos_in_all)
                    select 'anna', 'Party ' || n, ends_at - interval '192 hours', ends_at, 1000, 1000
                    from generate_series(1, $1::int4) as n
                    cross join (
                        select now() + case when $3 then - interval '193 hours' else interval '1 hour' end as ends_at
                    ) as time
                    returning id
                ),
                joined as (
                    insert into events.participant (event_id, user_id)
                    select id, user_id from made cross join unnest('{anna,ben}'::text[]) as user_id
                ),
                wanted as materialized (
                    select gen_random_uuid() as photo, made.id as event, 'events/' || made.id || '/' || n || '.jpg' as key
                    from made
                    cross join generate_series(1, $2::int4) as n
                ),
                submitted as (
                    insert into media.photo (id, state, owner, source_key, result_key)
                    select photo, 'compressed', 'ben', key, 'photos/' || photo || '.jpg' from wanted
                ),
                added as (
                    insert into events.photo (photo, event_id, user_id, source_key)
                    select photo, event, 'ben', key from wanted
                )
                insert into media.upload (photo, size, key, type, owner, sha256, delivered_at)
                select photo, 2, 'photos/' || photo || '.jpg', 'image/jpeg', 'ben', sha256('\\x0405'), now() from wanted
                """, [events, photos, isOver]))
    }

    /// Puts an original for each photo, and a result for each or for one of so many that are to go: rclone gets slow
    /// with ten thousands of them in one folder. Returns the keys of those that stay.
    func putObjects(twice: Bool = false, resultsOneIn share: Int = 1) async throws -> Set<String> {
        let rows = try await database.query(
            Statement(
                """
                with existing as (
                    select photo.source_key, photo.result_key, ends_at > now() as stays, row_number() over () as number
                    from media.photo
                    join events.photo as existing on existing.photo = photo.id
                    join events.event on event.id = existing.event_id
                )
                select source_key, stays from existing
                union all
                select result_key, stays from existing where stays or number % $1 = 0
                """, [share])
        ).map { try $0.decode(String.self, Bool.self) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, (key, _)) in rows.enumerated() {
                if number >= 24 { try await group.next() }
                group.addTask {
                    for _ in 0..<(twice ? 2 : 1) { try await put(key) }
                }
            }
            try await group.waitForAll()
        }
        return Set(rows.filter(\.1).map(\.0))
    }

    /// Retries a failure: rclone fails if two calls create a folder at the same time.
    private func put(_ key: String) async throws {
        do {
            try await store.put([4, 5], at: ObjectKey(key))
        } catch  where error.isTransient {
            try await Task.sleep(for: .milliseconds(100))
            try await store.put([4, 5], at: ObjectKey(key))
        }
    }

    /// Every key in the bucket.
    func objects() async throws -> Set<String> {
        Set(try await store.keys(beginning: "", after: nil, atMost: 1_000_000).map(\.text))
    }

    /// The number of versions and delete markers in the bucket, up to 1,000, without the store's own marker.
    func versions() async throws -> Int {
        let prefix = store.client.configuration.prefix
        let page = try await store.client.ask(
            .init(method: .GET, query: [("versions", ""), ("prefix", prefix)], what: "versions"))
        return (page.all("Version") + page.all("DeleteMarker"))
            .count { $0["Key"]?.text.hasSuffix("/.errand-store") == false }
    }
}

// MARK: - Remaining work
extension PurgeFixture {
    /// The objects and folders to delete, listed or not yet.
    func left() async throws -> Int {
        try await database.query(
            """
            with over as (
                select id from events.event where ends_at <= now() - interval '192 hours'
            )
            select (select count(*) from media.removal) + (select count(*) from over)
                + 2 * (select count(*) from events.photo where event_id in (select id from over))
            """
        ).scalar(Int.self)
    }

    /// Skips waits: the minute of a killed worker's batch, delays, and waits for late uploads.
    ///
    /// - Parameter seconds: a batch that was taken so long ago is no longer being removed.
    func skipDelays(after seconds: Int) async throws {
        try await database.execute(
            Statement(
                """
                update media.removal
                set try_at = least(try_at, now()), final_at = least(final_at, tried_at)
                where tried_at is null or tried_at < now() - $1 * interval '1 s'
                """, [seconds]))
        // Of jobs that were in two kills, the engine releases one a minute: errand_internal.release_crashed.
        try await database.execute(
            "update errand.job set state = 'available', parked_for = null, run_at = now() where parked_for = 'crash'")
        try await database.execute("select errand.enqueue('object_removal', unique_key => 'hurry')")
    }
}
