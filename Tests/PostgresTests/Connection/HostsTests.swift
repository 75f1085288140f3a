import ErrandTestKit
import Glibc
import Logging
import Testing

@testable import Postgres

@Suite("Several hosts") struct HostsTests {
    /// The test's server as the last of two hosts.
    private func configuration(
        like configuration: PostgresConfiguration, first: String, port: UInt16
    ) throws -> PostgresConfiguration {
        let keywords = Dictionary(uniqueKeysWithValues: configuration.keywords(withOptions: false))
        let (host, user) = (keywords["host"] ?? "", keywords["user"] ?? "")
        return try PostgresConfiguration(
            url: "host=\(first),\(host) port=\(port),\(keywords["port"] ?? "5432") user=\(user) connect_timeout=2"
                + " password='\(keywords["password"] ?? "")' dbname=\(configuration.database)")
    }

    @Test("a host that never replies delays the first connection, and no later one")
    func hanging() async throws {
        let silent = try SilentServer()
        defer { silent.close() }
        try await withTestDatabase { _, configuration in
            let several = try self.configuration(like: configuration, first: "127.0.0.1", port: silent.port)
            let logger = Logger(label: "test")
            let first = try await Connection.connect(several, logger: logger)
            let start = ContinuousClock.now
            for _ in 0..<3 {
                let next = try await Connection.connect(several, logger: logger)
                #expect(try await next.query("select 1").scalar(Int.self) == 1)
                await next.close()
            }
            // Each would take 2 s.
            #expect(ContinuousClock.now - start < .seconds(5))
            await first.close()
        }
    }

    @Test("a statement without a reply voids the other connections to its host")
    func stalled() async throws {
        try await withTestDatabase(connections: 2) { database, _ in
            let session = Statement("select pg_backend_pid()")
            let before = try await database.query(session).scalar(Int32.self)
            let other = try await database.makeConnection()
            let error = await #expect(throws: PostgresError.self) {
                try await other.query("select pg_sleep(3)", deadline: .milliseconds(100))
            }
            #expect(error?.code == .timedOut && error?.isOutcomeUnknown == true)
            #expect(try await database.query(session).scalar(Int32.self) != before)
        }
    }

    @Test("hosts are tried one at a time, unless libpq has to go through them twice")
    func settings() throws {
        let several = try PostgresConfiguration(url: "postgresql://a:1,b:2/db")
        #expect(several.hosts.settings == [["host": "a", "port": "1"], ["host": "b", "port": "2"]])
        let onePort = try PostgresConfiguration(url: "host=a,b hostaddr=10.0.0.1,10.0.0.2 port=7")
        #expect(
            onePort.hosts.settings == [
                ["host": "a", "hostaddr": "10.0.0.1", "port": "7"], ["host": "b", "hostaddr": "10.0.0.2", "port": "7"],
            ])
        for url in [
            "postgresql://a,b/db?target_session_attrs=prefer-standby", "postgresql://a/db", "host=a,b port=1,2,3",
        ] {
            #expect(try PostgresConfiguration(url: url).hosts.settings == [[:]])
        }
    }
}

/// A port that accepts connections and says nothing.
private struct SilentServer {
    let port: UInt16
    private let socket: Int32

    init() throws {
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = socket
        port = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                _ = bind(descriptor, generic, length)
                _ = listen(descriptor, 16)
                _ = getsockname(descriptor, generic, &length)
            }
            return UInt16(bigEndian: pointer.pointee.sin_port)
        }
        try #require(port != 0)
    }

    func close() { Glibc.close(socket) }
}
