import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("A cell is lost") struct CellCrashTests {
    @Test("while one cell's server is down, the others go on; its jobs begin within 5 s of its return")
    func lost() async throws {
        let cluster = try await KillableCluster.migrated()
        do {
            try await withTestDatabase { database, configuration in
                let urls = [try TestServer.url(of: configuration), try await cluster.url()]
                try await lose(cluster, beside: database, urls: urls)
            }
        } catch {
            try await cluster.drop()
            throw error
        }
        try await cluster.drop()
    }

    private func lose(_ cluster: KillableCluster, beside other: Database, urls: [String]) async throws {
        let list = urls.joined(separator: " ")
        let worker = try Program(
            ["worker"], database: list, settings: ["ERRAND_WEB_ADDRESS": "127.0.0.1:0"])
        defer { worker.send(SIGKILL) }
        let cell = Database(
            configuration: try PostgresConfiguration(url: urls[1]),
            logger: Logger(label: "test") { _ in
                SwiftLogNoOpLogHandler()
            })
        for database in [other, cell] {
            try await database.execute("select errand.enqueue('noop')")
            #expect(try await database.becomes("exists (select from errand.history)", within: .seconds(30)))
        }
        try cluster.kill()
        let port = try #require(worker.port)
        // The others' jobs begin as before, one after another, for longer than a claim of the lost cell may hang.
        for _ in 0..<(Hardness.isFull ? 20 : 5) {
            try await other.execute("select errand.enqueue('noop')")
            #expect(try await other.becomes("not exists (select from errand.job)", within: .seconds(20)))
            try await Task.sleep(for: .milliseconds(200))
        }
        let (status, report) = try await ready(port)
        #expect(status == 200, "it serves the other cell")
        #expect(report.contains("degraded") && report.contains("ok"), "\(report)")
        try await cluster.start()
        // Enqueued before a worker can have found the server again.
        try await cell.execute("select errand.enqueue('noop')")
        // The number is promised for a machine without other load, such as other tests.
        let limit: Duration = Hardness.isFull ? .seconds(5) : .seconds(60)
        #expect(try await cell.becomes("(select count(*) from errand.history) = 2", within: limit))
        worker.send(SIGTERM)
        #expect(try await worker.exit() == 0, "\(worker.output)")
        await cell.close()
    }

    private func ready(_ port: Int) async throws -> (Int, String) {
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/readyz"))
        let (data, response) = try await URLSession.shared.data(from: url)
        return ((response as? HTTPURLResponse)?.statusCode ?? 0, String(decoding: data, as: UTF8.self))
    }
}

extension Program {
    /// The port at which it listens, as its log says.
    fileprivate var port: Int? {
        output.firstMatch(of: /listening .*address=[0-9.]+:([0-9]+)/).flatMap { Int($0.output.1) }
    }
}
