import Logging
import Postgres
import Testing

@testable import Web

@Suite("Readiness") struct ReadinessTests {
    @Test("the check that fails is named, with its reason, beside those that hold")
    func names() async {
        let checks = [
            ReadinessCheck("database") {}, ReadinessCheck("schema") { throw NotReady("it lacks 0007\nof this") },
            ReadinessCheck("worker") {},
        ]
        let report = await Readiness(checks: checks).report()
        #expect(!report.isReady)
        #expect(report.text == "ok database\nfailed schema: it lacks 0007 of this\nok worker\n")
        #expect(await Readiness(checks: [checks[0]]).report() == .init(isReady: true, text: "ok database\n"))
    }

    @Test("of a database that is away the kind of failure is shown, and neither host nor database nor user")
    func databaseAway() async throws {
        let configuration = try PostgresConfiguration(url: "postgresql://someone@127.0.0.1:1/somewhere")
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let database = Database(configuration: configuration, logger: quiet)
        let checks = [ReadinessCheck("database") { _ = try await database.query("select 1") }]
        let report = await Readiness(checks: checks, limit: .seconds(30)).report()
        #expect(report == .init(isReady: false, text: "failed database: no connection\n"))
        await database.close()
    }

    @Test("a process is ready without what only some of its jobs need")
    func degraded() async {
        let checks = [
            ReadinessCheck.showing("lease") { "worker 7" },
            ReadinessCheck("storage", isRequired: false) { throw NotReady("refused") },
        ]
        let report = await Readiness(checks: checks).report()
        #expect(report == .init(isReady: true, text: "ok lease: worker 7\ndegraded storage: refused\n"))
    }

    @Test("with several databases a process is ready as long as one has all that it needs, and each is named")
    func cells() async {
        func checks(_ failing: Set<String>) -> [ReadinessCheck] {
            let disk = ReadinessCheck("disk") { if failing.contains("disk") { throw NotReady("full") } }
            return ["db0/q", "db1/q"].flatMap { (cell: String) in
                ["database", "lease"].map { (name: String) in
                    ReadinessCheck(name) { if failing.contains("\(cell) \(name)") { throw NotReady("away") } }
                        .of(cell: cell)
                }
            } + [disk]
        }
        let one = await Readiness(checks: checks(["db1/q lease"])).report()
        #expect(
            one
                == .init(
                    isReady: true,
                    text: "ok db0/q database\nok db0/q lease\nok db1/q database\ndegraded db1/q lease: away\nok disk\n")
        )
        let both = await Readiness(checks: checks(["db0/q database", "db1/q lease"])).report()
        #expect(!both.isReady && both.text.contains("failed db0/q database: away\n"))
        #expect(both.text.contains("failed db1/q lease: away\n"))
        let process = await Readiness(checks: checks(["disk"])).report()
        #expect(!process.isReady && process.text.hasSuffix("failed disk: full\n"))
    }

    @Test("a check without a result has failed once its time is over")
    func hangs() async {
        let checks = [ReadinessCheck("database") { try await Task.sleep(for: .seconds(60)) }]
        let start = ContinuousClock.now
        let report = await Readiness(checks: checks, limit: .milliseconds(50)).report()
        #expect(report == .init(isReady: false, text: "failed database: no result in time\n"))
        #expect(ContinuousClock.now - start < .seconds(30))
    }
}
