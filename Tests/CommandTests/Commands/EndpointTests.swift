import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand endpoint") struct EndpointCommandTests {
    @Test("an endpoint is put, listed and dropped, and its URL's query is not shown")
    func put() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["endpoint"] + arguments, settings: settings)
            }
            #expect(try await errand("list").output == "no endpoint is set\n")
            let put = try await errand(
                "put", "shop", "https://shop.example/jobs?key=hidden", "--secret", "shop", "--timeout", "500ms",
                "--most",
                "3", "--callback-timeout", "2h", "--reason", "orders")
            #expect(put.output == "shop: set\n")
            try await database.execute("select errand.put_http_handler('order', 'shop')")
            let set = try await database.query(
                """
                select timeout = interval '0.5 s' and callback_timeout = interval '2 h' and max_running = 3
                    and secret_name = 'shop' and not allows_private
                from errand.endpoints
                """)
            #expect(try set.scalar(Bool.self))
            let list = try await errand("list")
            #expect(list.output.hasPrefix("NAME  URL "))
            #expect(list.output.contains("\nshop  https://shop.example/"))
            #expect(list.output.contains("no live worker calls "))
            struct Line: Decodable { let name: String, url: String, kinds: [String], timeout_seconds: Double }
            let lines = try JSONDecoder().decode(
                [Line].self, from: Data(try await errand("list", "--json").output.utf8))
            try #require(lines.count == 1)
            #expect(lines[0].kinds == ["order"] && lines[0].timeout_seconds == 0.5)
            #expect(!list.output.contains("hidden") && lines[0].url == "https://shop.example/jobs")
            let plain = try await errand("put", "lan", "http://10.0.0.1/hidden", "--secret", "shop")
            #expect(plain.code == 1 && plain.error.contains("expected https://") && !plain.error.contains("hidden"))
            #expect(try await errand("put", "lan", "http://10.0.0.1/", "--secret", "shop", "--private").code == 0)
            #expect(try await errand("put", "lan", "https://lan", "--secret", "s", "--timeout", "soon").code == 64)
            #expect(try await errand("drop", "shop", "--reason", "over").error.contains("got one of order"))
            #expect(
                try await errand("drop", "shpo", "--reason", "over").error
                    == "errand: there is no endpoint 'shpo'; did you mean shop?")
            #expect(
                try await errand("drop", "lan", "--reason", "over", "--json").output
                    == #"{"done":"dropped","endpoint":"lan"}"# + "\n")
        }
    }

    @Test("a test waits for the endpoint's reply, and says it; without a worker it says that nobody took it")
    func test() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await database.execute("select errand.put_endpoint('shop', 'https://shop.example', 'shop')")
            for (completion, text, code) in [
                (
                    "errand.done(array[token], array['{\"reply\": \"done\", \"milliseconds\": 12}'::jsonb])",
                    "shop: done within 12 ms\n", Int32(0)
                ),
                (
                    "errand.fail(array[token], array['status 500'], permanent => array[true])",
                    "errand: shop: status 500", 1
                ),
            ] {
                // Instead of a worker that calls the endpoint.
                let worker = Task {
                    while !Task.isCancelled {
                        let pulled = try await database.query(
                            Statement(
                                """
                                select result
                                from errand.pull('{default}', '{endpoint.shop}', 1) as pulled
                                cross join lateral \(completion) as ended
                                where pulled.token is not null
                                """))
                        if !pulled.isEmpty { return }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                }
                let test = try await Program.run(["endpoint", "test", "shop"], settings: settings)
                worker.cancel()
                _ = await worker.result
                #expect(test.code == code)
                #expect((code == 0 ? test.output : test.error) == text)
            }
            let untaken = try await Program.run(["endpoint", "test", "shop", "--wait", "10ms"], settings: settings)
            #expect(untaken.code == 1)
            #expect(untaken.error.contains("is available: `errand job show"))
        }
    }
}
