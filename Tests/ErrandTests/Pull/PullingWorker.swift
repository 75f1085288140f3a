import ErrandTestKit
import Logging
import Postgres

@testable import Errand

/// A worker that knows the SQL functions alone, as one in another language does.
struct PullingWorker {
    /// A job that it has pulled.
    struct Job: Sendable, Equatable {
        let id: Int64
        let token: String
        let attempt: Int32
    }

    let database: Database
    let queues: String
    let kinds: String
    /// The id by which it pulls.
    let id: String

    /// Registers it by a first pull, before there are jobs.
    init(
        _ database: Database, queues: String = "default", kinds: String = "noop", lease: String = "1 minute"
    ) async throws {
        self.database = database
        self.queues = queues
        self.kinds = kinds
        let rows = try await database.query(
            Statement("select worker_id::text, id from errand.pull('{\(queues)}', '{\(kinds)}', lease => '\(lease)')"))
        let (id, job) = try rows[0].decode(String.self, Int64?.self)
        guard job == nil else { throw PostgresError(.malformed, "expected no job yet, got job \(job ?? 0)") }
        self.id = id
    }

    /// The call of errand.pull. By default it says nothing of what the worker holds.
    func call(_ limit: Int = 1, _ arguments: String = "running => null") -> String {
        "errand.pull('{\(queues)}', '{\(kinds)}', \(limit), worker => '\(id)', \(arguments))"
    }

    /// Pulls up to `limit` jobs.
    func pull(_ limit: Int = 1, _ arguments: String = "running => null") async throws -> [Job] {
        try await Self.jobs(database.query(Statement("select id, token, attempt from \(call(limit, arguments))")))
    }

    static func jobs(_ rows: Rows) throws -> [Job] {
        try rows.compactMap { row in
            let (id, token, attempt) = try row.decode(Int64?.self, String?.self, Int32?.self)
            guard let id, let token, let attempt else { return nil }
            return Job(id: id, token: token, attempt: attempt)
        }
    }

    /// Calls errand.renew. Returns the lost tokens.
    func renew(_ running: [Job] = []) async throws -> [String] {
        try await database.query(
            Statement("select lost from errand.renew($1::text::uuid, $2)", [id, running.map(\.token)])
        ).scalar([String].self)
    }

    /// Whether errand.renew says that it has its lease.
    func isAlive() async throws -> Bool {
        try await database.query(Statement("select is_alive from errand.renew($1::text::uuid)", [id]))
            .scalar(Bool.self)
    }

    /// Makes its next call compare what it holds.
    func ages() async throws {
        try await database.execute(
            Statement(
                "update errand.worker set heartbeat_at = heartbeat_at - lease / 3 where pulls_as = $1::text::uuid",
                [id]))
    }
}

extension Database {
    /// The results of errand.done and the like, in the order of the tokens.
    func results(_ call: String, _ jobs: [PullingWorker.Job], _ arguments: String = "") async throws -> [String] {
        try await query(
            Statement("select result from errand.\(call)($1\(arguments))", [jobs.map(\.token)])
        ).column(0, as: String.self)
    }

    /// The same until no other session has a job locked: a claim that runs at the same time may.
    func end(_ jobs: [PullingWorker.Job], _ call: String = "done", _ arguments: String = "") async throws -> [String] {
        var ended: [String] = []
        for job in jobs {
            var result = ["again"]
            while result == ["again"] { result = try await results(call, [job], arguments) }
            ended += result
        }
        return ended
    }

    /// Another session of this database, whose transactions the test ends by itself.
    func session() async throws -> Connection {
        try await Connection.connect(configuration, logger: Logger(label: "errand.test"))
    }

    /// The SQLSTATE and the message with which a call is refused; nil if it isn't.
    func complaint(of sql: String, as login: String? = nil) async throws -> String? {
        do {
            try await transaction { transaction in
                if let login { try await transaction.execute(Statement("set local session authorization \(login)")) }
                try await transaction.execute(Statement(sql))
            }
            return nil
        } catch let error as PostgresError {
            return "\(error.sqlState ?? "no state") \(error.detail)"
        }
    }
}

/// Maintenance of the marks as it runs, with the memory of the last run.
struct MarkMover {
    let database: Database
    private(set) var memory: String?

    init(_ database: Database) { self.database = database }

    mutating func move() async throws {
        memory = try await database.query(
            Statement("select next_memory from errand_internal.move_marks($1)", [memory])
        ).scalar(String?.self)
    }
}
