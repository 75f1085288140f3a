import ErrandTestKit
import Postgres

/// Two logins that may enqueue, and one that is a member of the first.
struct Logins {
    let database: Database
    let shop: String
    let mail: String
    let member: String

    func query(_ sql: String, as login: String, _ parameters: [any PostgresEncodable] = []) async throws -> Rows {
        try await database.transaction { transaction in
            try await transaction.execute(Statement("set local session authorization \(login)"))
            return try await transaction.query(Statement(sql, parameters))
        }
    }

    static func with(_ body: @Sendable (Logins) async throws -> Void) async throws {
        try await withTestDatabase { database, _ in
            let suffix = UInt32.random(in: .min ... .max)
            let logins = Logins(
                database: database, shop: "shop_\(suffix)", mail: "mail_\(suffix)", member: "member_\(suffix)")
            try await database.execute(Statement("create role \(logins.shop) in role errand_enqueuer"))
            try await database.execute(Statement("create role \(logins.mail) in role errand_enqueuer"))
            try await database.execute(Statement("create role \(logins.member) in role \(logins.shop)"))
            let result: Result<Void, any Error>
            do { result = .success(try await body(logins)) } catch { result = .failure(error) }
            for role in [logins.member, logins.shop, logins.mail] {
                try await database.execute(Statement("drop role \(role)"))
            }
            try result.get()
        }
    }
}
