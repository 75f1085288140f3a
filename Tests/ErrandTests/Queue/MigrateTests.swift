import ErrandTestKit
import Logging
import Testing

@testable import Errand

@Suite("Queue.migrate") struct MigrateTests {
    @Test("the two schemas of the engine are made, and no other; a second call finds nothing to do")
    func once() async throws {
        try await withEmptyDatabase { database, _ in
            let queue = Queue(database: database)
            #expect(try await !queue.isMigrated())
            let first = try await queue.migrate()
            #expect(first.applied.first == "0001_queue")
            #expect(first.warnings == [])
            #expect(try await queue.isMigrated())
            #expect(try await queue.migrate().applied == [])
            let others = try await database.query(
                """
                select nspname::text
                from pg_namespace
                where nspname !~ '^pg_' and nspname not in ('information_schema', 'public')
                order by 1
                """)
            #expect(try others.column(0, as: String.self) == ["errand", "errand_internal"])
        }
    }

    @Test("the schema of a development version is left as it is, and the error says what to do")
    func development() async throws {
        try await withTestDatabase { database, _ in
            // Its first migration had another text, and later ones are part of the first ones now.
            try await database.execute(
                """
                with edited as (update errand.migration set sha256 = repeat('0', 64) where name = '0001_queue')
                insert into errand.migration (name, sha256) values ('0004_ops', repeat('0', 64))
                """)
            let before = try await database.word("select string_agg(name, ' ' order by name) from errand.migration")
            let queue = Queue(database: database)
            for attempt in [{ _ = try await queue.migrate() }, { _ = try await queue.isMigrated() }] {
                let error = await #expect(throws: PostgresError.self) { try await attempt() }
                #expect(error?.code == .schema)
                #expect(error?.detail.hasPrefix("migration 0001_queue differs from the one that this database") == true)
                #expect(error?.hint?.hasPrefix("a database from before 0.1.0 can't be upgraded: drop it") == true)
            }
            let after = try await database.word("select string_agg(name, ' ' order by name) from errand.migration")
            #expect(after == before)
        }
    }

    @Test("eight concurrent migrations of an empty database succeed, and apply each script once")
    func atOnce() async throws {
        try await withEmptyDatabase { database, configuration in
            let applied = try await withThrowingTaskGroup(of: [String].self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let own = Database(configuration: configuration, logger: Logger(label: "test"))
                        let applied = try await Queue(database: own).migrate().applied
                        await own.close()
                        return applied
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied.count == Set(applied).count)
            #expect(try await Queue(database: database).isMigrated())
            #expect(try await database.count("from pg_class where relname ~ '^history_\\d{8}$'") == 4)
        }
    }

    @Test("eight concurrent migrations succeed if the schema exists without the partitions of the next days")
    func partitions() async throws {
        try await withTestDatabase { database, configuration in
            for name in try await database.query(Self.partitions).column(0, as: String.self) {
                try await database.execute(Statement("drop table errand.\(name)"))
            }
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        let own = Database(configuration: configuration, logger: Logger(label: "test"))
                        try await Queue(database: own).migrate()
                        await own.close()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await database.query(Self.partitions).count == 8)
        }
    }

    @Test("a schema that a newer version has upgraded stays as it is")
    func newer() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "insert into errand.upgrade (version, oldest_program) values ('99.0.0', '0.1.0')")
            #expect(try await Queue(database: database).migrate().applied == [])
            #expect(try await Queue(database: database).isMigrated())
        }
    }

    @Test("a schema errand of another program is refused, and stays as it was")
    func taken() async throws {
        try await withEmptyDatabase { database, _ in
            try await database.execute("create schema errand")
            try await database.execute("create table errand.parcel (n int)")
            let queue = Queue(database: database)
            let error = await #expect(throws: PostgresError.self) { try await queue.migrate() }
            #expect(error?.code == .schema)
            #expect(error?.detail.contains("schema errand (with parcel)") == true)
            #expect(try await database.count("from pg_class where relnamespace = 'errand'::regnamespace") == 1)
        }
    }

    private static let partitions: Statement =
        "select relname::text from pg_class where relkind = 'r' and relname ~ '^(history|payload)_\\d{8}$'"

    private func withEmptyDatabase(_ body: (Database, PostgresConfiguration) async throws -> Void) async throws {
        try await withTestDatabase { database, configuration in
            try await database.dropSchemas()
            try await body(database, configuration)
        }
    }
}
