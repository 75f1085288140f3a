import Foundation
import Postgres

extension TestServer {
    /// Whether tests use a transaction pooler: `make test-pooled`.
    package static var isPooled: Bool { ProcessInfo.processInfo.environment["ERRAND_TEST_POOLER_URL"] != nil }

    /// The URL at which a program reaches a test's database.
    ///
    /// - Parameters:
    ///   - directly: bypasses the pooler, if there is one.
    ///   - user: another login than that of the tests.
    /// - Throws: ``TestServerMissing`` if neither `ERRAND_TEST_DATABASE_URL` nor the pooler is set.
    package static func url(
        of configuration: PostgresConfiguration, directly: Bool = false, user: String? = nil
    ) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        let server = environment["ERRAND_TEST_DATABASE_URL"]
        guard let text = directly ? server : environment["ERRAND_TEST_POOLER_URL"] ?? server,
            var url = URLComponents(string: text)
        else { throw TestServerMissing() }
        url.path = "/" + configuration.database
        if let user {
            if url.host?.isEmpty == false { url.user = user }
            let others = (url.queryItems ?? []).filter { $0.name != "user" }
            url.queryItems = others + [URLQueryItem(name: "user", value: user)]
        }
        return url.string ?? text
    }
}
