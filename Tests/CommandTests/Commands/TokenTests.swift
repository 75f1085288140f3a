import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand token and errand api") struct TokenTests {
    @Test("a token is printed once, listed without itself, replaced and dropped")
    func tokens() async throws {
        try await withTestDatabase { database, configuration in
            let settings = ["DATABASE_URL": try TestServer.url(of: configuration)]
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["token"] + arguments, settings: settings)
            }
            #expect(try await errand("list").output == "no token is set\n")
            let put = try await errand("put", "shop", "--kind", "noop", "--kind", "sum", "--reason", "a test")
            let token = put.output.trimmingCharacters(in: .newlines)
            #expect(put.code == 0 && token.wholeMatch(of: /errand_[A-Za-z0-9_-]{43}/) != nil)
            let known = "select name from errand.api_token where hash = sha256(convert_to($1, 'UTF8'))"
            #expect(try await database.query(Statement(known, [token])).column(0, as: String.self) == ["shop"])
            let list = try await errand("list", "--json")
            #expect(list.output.contains(#"{"name":"shop","kinds":["noop","sum"],"set_at":"#))
            #expect(!list.output.contains(token))
            let replaced = try await errand("put", "shop", "--json")
            #expect(replaced.output.hasPrefix(#"{"name":"shop","token":"errand_"#))
            #expect(replaced.errors == "errand: the token that shop had before is refused from now on\n")
            #expect(try await database.query(Statement(known, [token])).isEmpty)
            let unknown = try await errand("drop", "shp")
            #expect(unknown.code == 1 && unknown.errors.contains("Is it shop?"))
            #expect(try await errand("drop", "shop", "--reason", "a test").output == "shop: dropped\n")
            #expect(try await errand("put", "Shop").code == 1)
        }
    }

    @Test("the API is off by default, and serves one database")
    func address() async throws {
        let one = ["DATABASE_URL": "postgresql://a@127.0.0.1:1/a"]
        let unset = try await Program.run(["api"], settings: one)
        #expect(unset.code == 78 && unset.errors.contains("ERRAND_API_ADDRESS is not set"))
        let two = ["DATABASE_URL": "postgresql://a@127.0.0.1:1/a postgresql://a@127.0.0.1:1/b"]
        let cells = try await Program.run(
            ["api"], settings: two.merging(["ERRAND_API_ADDRESS": "127.0.0.1:0"]) { $1 })
        #expect(cells.code == 78 && cells.errors.contains("expected one database in DATABASE_URL, got 2"))
    }
}
