import ErrandTestKit
import Foundation
import Postgres
import PushKit

/// Workers of the built program, and a stub of APNs with a script.
struct PushFixture {
    let database: Database
    let server: PushServer
    private let url: String
    private let settings: [String: String]

    init(
        _ database: Database, _ configuration: PostgresConfiguration, options: PushServer.Options = .init(),
        _ script: @escaping @Sendable (PushRequest) -> PushResponse = { _ in .accepted }
    ) async throws {
        self.database = database
        server = try await PushServer(options: options, script)
        url = try TestServer.url(of: configuration)
        settings = Hardness.settings.merging(
            [
                "ERRAND_QUEUES": "pushes=50,default=2", "APNS_KEY": server.pem, "APNS_KEY_ID": PushServer.keyID,
                "APNS_TEAM_ID": PushServer.team, "APNS_TOPIC": PushServer.topic, "APNS_SERVER": server.url,
                "APNS_AUTHORITIES": try server.authorities,
            ]) { _, new in new }
    }

    func worker(_ changed: [String: String] = [:]) throws -> Program {
        try Program(["worker"], database: url, settings: settings.merging(changed) { _, new in new })
    }

    /// Starts activities whose ends are due from `first` on, spread over `span`; each has a token of its own.
    func start(_ count: Int, dueIn first: Duration, over span: Duration = .zero) async throws {
        try await database.execute(
            Statement(
                """
                select activity.start(
                    'user-' || n, 'Anna', 'Are you there?', token => lpad(to_hex(n), 64, '0'),
                    started_at => clock_timestamp() - interval '8 hours' + interval '60 s'
                        + ($2 + $3 * (n - 1) / $1) * interval '1 ms')
                from generate_series(1, $1) as n
                """, [count, first.wholeMilliseconds, span.wholeMilliseconds]))
    }

    /// The number of accepted ends per token.
    var ends: [String: Int] {
        Dictionary(server.accepted.filter { $0.event == "end" }.map { ($0.token, 1) }, uniquingKeysWith: +)
    }

    /// The delay of each activity's first end at the stub.
    func delays() async throws -> [Double] {
        let rows = try await database.query(
            "select lpad(to_hex(substr(user_id, 6)::int), 64, '0'), due_at from activity.activity")
        var first: [String: Date] = [:]
        for request in server.accepted where first[request.token] == nil { first[request.token] = request.at }
        return try rows.compactMap { row in
            let (token, due) = try row.decode(String.self, Timestamp.self)
            return first[token].map { $0.timeIntervalSince(due.date) }
        }.sorted()
    }
}
