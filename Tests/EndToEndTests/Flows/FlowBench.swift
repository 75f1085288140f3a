import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import StorageKit
import Testing

/// A worker of the built program, with a bucket of moto's and stubs of Apple's and Google's servers, all of which a
/// disturbance can reach.
struct FlowBench {
    let database: Database
    let outside: Outside
    let store: S3Store
    private let proxy: FaultProxy
    private let apple: PushServer
    private let google: PushServer
    private let url: String
    private let settings: [String: String]
    private(set) var worker: Program
    /// When the last disturbance began, by the database's clock.
    private var begun = "infinity"

    init(_ database: Database, _ configuration: PostgresConfiguration) async throws {
        let outside = Outside()
        let server = try BucketServer.moto()
        let prefix = "t-\(UUID().uuidString)"
        let credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
        guard
            case .bucket(let direct) = try StorageLocation(url: server.url(prefix: prefix), credentials: credentials)
        else { preconditionFailure("the URL names a bucket") }
        (self.database, self.outside) = (database, outside)
        store = try S3Store(direct)
        proxy = try FaultProxy(to: server.port) { outside.fault(for: $0) }
        var options = PushServer.Options()
        options.firstStreams = options.streams
        apple = try await PushServer(options: options) { outside.response(to: $0) }
        let dialect = GoogleDialect()
        google = try await PushServer(google: dialect, options: options) { outside.response(to: $0) }
        url = try TestServer.url(of: configuration)
        settings = [
            "ERRAND_QUEUES": "default=4,images=1,uploads=8,pushes=20", "ERRAND_LEASE": "4s",
            "ERRAND_HEARTBEAT_INTERVAL": "500ms", "STORAGE_ACCESS_KEY": server.accessKey,
            "STORAGE_SECRET_KEY": server.secretKey, "STORAGE_URL": server.url(prefix: prefix, port: proxy.port),
            "APNS_KEY": apple.pem, "APNS_KEY_ID": PushServer.keyID, "APNS_TEAM_ID": PushServer.team,
            "APNS_TOPIC": PushServer.topic, "APNS_SERVER": apple.url, "APNS_AUTHORITIES": try apple.authorities,
            "FCM_SERVICE_ACCOUNT": try dialect.account(at: google.url), "FCM_SERVER": google.url,
            "FCM_AUTHORITIES": try google.authorities,
        ]
        try await Program.initialiseStore(database: url, settings: settings)
        worker = try Program(["worker"], database: url, settings: settings)
        try await awaitWorker()
        for statement in AppCase.statements(.bench) { try await database.execute(Statement(statement)) }
    }

    /// Stops the worker. Returns its exit code.
    func stop() async throws -> Int32? {
        worker.send(SIGTERM)
        return try await worker.exit()
    }

    private func awaitWorker() async throws {
        let isThere = "exists (select from errand.worker where name like '%:\(worker.id)')"
        try #require(try await database.becomes(isThere, within: .seconds(60)), "\(worker.output)")
    }
}

// MARK: - Calls
extension FlowBench {
    /// Runs the statements in one transaction.
    func call(_ statements: String) async throws {
        try await database.transaction { transaction in
            for statement in statements.split(separator: ";") {
                try await transaction.execute(Statement(String(statement)))
            }
        }
    }

    private func run(_ topic: AppCase.Topic) async throws {
        for statement in AppCase.statements(topic) { try await database.execute(Statement(statement)) }
    }

    /// Pauses all queues, or resumes them.
    func setQueues(arePaused: Bool) async throws {
        let call =
            arePaused ? "errand.pause_queue(name, 'a test', force => true)" : "errand.resume_queue(name, 'a test')"
        try await database.execute(
            Statement("select \(call) from unnest('{default,images,uploads,pushes}'::text[]) as name"))
    }

    /// Waits until a request is held at the step. All pushes that were begun are held too, or have ended.
    func isBlocked(at step: Step) async throws -> Bool {
        try await isTrue(within: .seconds(20)) {
            if step == .remove { try await run(.removal) }
            let isPush = step == .push || step == .accepted
            let begun = try await database.count(
                "from errand.job where queue = 'pushes' and (state = 'running' or state = 'available' and not \(isPush))"
            )
            return outside.held > 0 && begun == (isPush ? outside.held : 0)
        }
    }

    private func isTrue(within limit: Duration, _ condition: () async throws -> Bool) async throws -> Bool {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < limit {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(5))
        }
        return false
    }
}

// MARK: - Services and the worker
extension FlowBench {
    /// Makes a disturbance that is no call begin.
    mutating func begin(_ disturbance: Disturbance) async throws {
        begun = try await database.query("select clock_timestamp()::text").scalar(String.self)
        switch disturbance {
        case .storeDown:
            outside.setStore(isDown: true)
            proxy.stop()
        case .deniedRead: outside.deny(.read)
        case .deniedWrite: outside.deny(.write)
        case .deniedDelete: outside.deny(.delete)
        case .pushesDown:
            outside.setPushes(areDown: true)
            try await apple.stop()
            try await google.stop()
        case .kill:
            worker.send(SIGKILL)
            _ = try await worker.exit()
        case .restart: worker.send(SIGTERM)
        default: break
        }
    }

    /// Waits until the worker has met the fault of a service, or has nothing to do.
    func awaitFault() async throws {
        let isMet = """
            exists (select from errand.circuit where failed_at > '\(begun)')
                or exists (\(AppCase.union(.fault, of: "1")))
                or not exists (select from errand.job where state in ('available', 'running'))
            """
        try #require(try await database.becomes(isMet, within: .seconds(20)), "the worker met no fault")
    }

    /// Waits until no push is on its way: those that began before a call may arrive after it.
    func awaitPushes() async throws {
        let isNone = "not exists (select from errand.job where queue = 'pushes' and state = 'running')"
        try #require(try await database.becomes(isNone, within: .seconds(60)), "pushes do not end")
    }

    /// Ends it: services are back, and a new worker runs.
    mutating func end(_ disturbance: Disturbance) async throws {
        switch disturbance {
        case .storeDown:
            outside.setStore(isDown: false)
            try proxy.start()
        case .deniedRead, .deniedWrite, .deniedDelete: outside.deny(nil)
        case .pushesDown:
            outside.setPushes(areDown: false)
            try await apple.start()
            try await google.start()
        case .kill:
            try await database.rescue(jobsOf: worker)
            try await startWorker()
        case .restart:
            let code = try await worker.exit()
            try #require(code == 0, "\(worker.output)")
            try await startWorker()
        default: break
        }
    }

    private mutating func startWorker() async throws {
        worker = try Program(["worker"], database: url, settings: settings)
        try await awaitWorker()
    }
}

// MARK: - Rest
extension FlowBench {
    private static let isAtRest = """
        not exists (
            select from errand.job
            where not (state = 'scheduled' and run_at > now() + interval '10 minutes'))
        and not exists (\(AppCase.union(.pending, of: "1")))
        and not exists (select from errand.circuit where opened_at is not null)
        """

    /// Lets time pass until nothing is left to do. Returns false if something is left after a minute.
    func comesToRest() async throws -> Bool {
        try await isTrue(within: .seconds(60)) {
            if try await database.becomes(Self.isAtRest, within: .milliseconds(40)) { return true }
            for statement in Self.passTime { try await database.execute(Statement(statement)) }
            try await run(.pass)
            return false
        }
    }

    /// Delays, circuits that are open, and the time in which an upload may be on its way.
    private static let passTime = [
        """
        update errand.job set run_at = now()
        where state = 'scheduled' and run_at > now() and run_at < now() + interval '10 minutes'
        """,
        "update errand.circuit set until = now() where opened_at is not null and until > now()",
    ]
}
