import ErrandTestKit
import Foundation
import Postgres
import Testing

@Suite("errand web") struct WebTests {
    @Test("serves until SIGTERM or Ctrl-C, with or without a database", arguments: [SIGTERM, SIGINT])
    func stops(signal: Int32) async throws {
        let settings = ["DATABASE_URL": "postgresql:///x?host=/nowhere", "ERRAND_WEB_ADDRESS": "127.0.0.1:0"]
        let web = try await Program.run(["web"], settings: settings, signals: [("listening", signal)])
        #expect(web.code == 0)
        // Its start, its address, its end.
        #expect(web.errors.split(separator: "\n").count == 3, "\(web.errors)")
    }

    @Test("counts the jobs while no worker and no scheduler does")
    func counts() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("select errand.enqueue('noop') from generate_series(1, 300)")
            let depth: Statement = """
                select waiting = 300 and is_estimate and not is_floor from errand.queues
                """
            #expect(try await !database.query(depth).scalar(Bool.self), "no statistics know of them")
            let counted = Task {
                let end = ContinuousClock.now + .seconds(30)
                while try await !database.query(depth).scalar(Bool.self), ContinuousClock.now < end {
                    try await Task.sleep(for: .milliseconds(20))
                }
                return try await database.query(depth).scalar(Bool.self)
            }
            let settings = try reaching(configuration).merging(["ERRAND_WEB_ADDRESS": "127.0.0.1:0"]) { $1 }
            let web = try await Program.run(
                ["web"], settings: settings, signals: [("listening", SIGTERM)], after: counted)
            #expect(web.code == 0)
            #expect(try await counted.value)
        }
    }

    @Test("an address that is taken is a line and 78; to a worker it is one warning, and it works")
    func taken() async throws {
        try await withTestDatabase { _, configuration in
            let (socket, address) = try takePort()
            defer { close(socket) }
            let settings = try reaching(configuration).merging(["ERRAND_WEB_ADDRESS": address]) { $1 }
            let web = try await Program.run(["web"], settings: settings)
            #expect(web.code == 78)
            #expect(
                web.error == "errand: ERRAND_WEB_ADDRESS: expected a free address of this host, got '\(address)': "
                    + "Address already in use")
            let worker = try await Program.run(["worker"], settings: settings, signals: [("registered", SIGTERM)])
            #expect(worker.code == 0)
            let warnings = worker.errors.split(separator: "\n").filter { $0.contains(" warning ") }
            #expect(warnings.count == 1, "\(warnings)")
            #expect(warnings.first?.contains("can't serve health and metrics: let ERRAND_WEB_ADDRESS name a") == true)
        }
    }

    @Test("to listen nowhere is refused")
    func off() async throws {
        let settings = ["DATABASE_URL": "postgresql:///x", "ERRAND_WEB_ADDRESS": "off"]
        let web = try await Program.run(["web"], settings: settings)
        #expect(web.code == 78)
        #expect(web.error == "errand: ERRAND_WEB_ADDRESS: expected host:port, got 'off'")
    }
}
