import ErrandTestKit
import Postgres
import Testing

@testable import Errand

@Suite("Endpoints, as operators allow them") struct EndpointTests {
    @Test("what can be no endpoint is refused, and the error shows neither the URL nor a secret")
    func refused() async throws {
        let https = "'https://shop.example/jobs'"
        let arguments = [
            "'Shop', \(https), 's'", "null, \(https), 's'", "'\(String(repeating: "a", count: 91))', \(https), 's'",
            "'shop', null, 's'", "'shop', '', 's'", "'shop', 'shop.example', 's'", "'shop', '//shop.example', 's'",
            "'shop', 'ftp://shop.example/hidden', 's'", "'shop', 'https:///hidden', 's'",
            "'shop', 'https://user:hidden@shop.example/', 's'", "'shop', 'https://hidden@shop.example/', 's'",
            "'shop', 'https://shop.example/#hidden', 's'", "'shop', 'https://shop.example/a b', 's'",
            "'shop', 'https://shop.example' || chr(10) || '/hidden', 's'",
            "'shop', 'https://shop.example/' || chr(128), 's'",
            "'shop', 'https://shop.example:port/', 's'", "'shop', 'https://shop.example:123456/', 's'",
            "'shop', 'https://shop.example' || chr(92) || '@other.example/', 's'", "'shop', 'https://[::1/', 's'",
            "'shop', 'https://shop.example/' || repeat('x', 2000), 's'", "'shop', 'http://shop.example/hidden', 's'",
            "'shop', \(https), 'whsec_aGlkZGVu'", "'shop', \(https), null", "'shop', \(https), 's', '99 ms'",
            "'shop', \(https), 's', '6 min'", "'shop', \(https), 's', null", "'shop', \(https), 's', max_running => -1",
            "'shop', \(https), 's', callback_timeout => '8 days'", "'shop', \(https), 's', callback_timeout => '0'",
            "'shop', \(https), 's', allows_private => null", "'shop', \(https), 's', reason => ' '",
        ]
        try await withTestDatabase { database, _ in
            for arguments in arguments {
                let error = await #expect(throws: PostgresError.self, "\(arguments)") {
                    try await database.execute(Statement("select errand.put_endpoint(\(arguments))"))
                }
                #expect(error?.sqlState == "ER422", "\(arguments)")
                #expect(error?.detail.contains("hidden") == false && error?.detail.contains("whsec") == false)
            }
            #expect(try await database.count("from errand.endpoint") == 0)
            for url in [
                "https://shop.example", "https://SHOP.example:8443/a%20b?x=1&y=2", "https://[2001:db8::1]/",
                "https://shop?x", "https://10.0.0.1:1/",
            ] {
                try await database.execute(Statement("select errand.put_endpoint('shop', $1, 'shop')", [url]))
                #expect(try await database.text("select url from errand.endpoint") == url)
            }
        }
    }

    @Test("a URL's query is shown to nobody, and the URL not to monitors; the audit has who set it and why")
    func hidden() async throws {
        try await withTestDatabase { database, _ in
            try await database.execute(
                "select errand.put_endpoint('shop', 'https://shop.example/jobs?key=hidden', 'shop', reason => 'orders')"
            )
            #expect(try await database.text("select url from errand.endpoints") == "https://shop.example/jobs")
            #expect(try await database.count("from errand.audit where audit::text like '%hidden%'") == 0)
            #expect(
                try await database.text("select action, target ->> 'url', reason from errand.audit")
                    == "put_endpoint|https://shop.example/jobs|orders")
            #expect(
                try await database.text("select name, url from errand.endpoints", as: "errand_monitor") == "shop|")
            #expect(
                try await database.refusal(of: "select name, problem from errand.endpoints", as: "errand_monitor")
                    == nil)
            for role in ["errand_ops", "errand_monitor", "errand_enqueuer", "errand_worker"] {
                #expect(
                    try await database.refusal(of: "select url from errand.endpoint", as: role)
                        == "42501", "\(role)")
            }
        }
    }

    @Test("a kind that points to an endpoint has its circuit and its limit, and loses them with it")
    func bound() async throws {
        try await withTestDatabase { database, _ in
            let url = "'https://shop.example/jobs'"
            let kind = "select queue, max_attempts, limit_key, circuits::text from errand.kind where name = 'order'"
            try await database.execute(Statement("select errand.put_endpoint('shop', \(url), 'shop')"))
            try await database.execute("select errand.put_http_handler('order', 'shop', 'mail', 3)")
            #expect(try await database.text(kind) == "mail|3||{endpoint.shop}")
            try await database.execute(
                Statement("select errand.put_endpoint('shop', \(url), 'shop', max_running => 5)"))
            #expect(try await database.text(kind) == "mail|3|endpoint/shop|{endpoint.shop}")
            #expect(try await database.text("select limit_key, max_running from errand.limit") == "endpoint/shop|5")
            // What an operator has set stays until the endpoint's own number changes.
            try await database.execute("select errand.set_limit('endpoint/shop', 1)")
            try await database.execute(Statement("select errand.put_endpoint('shop', \(url), 's2', max_running => 5)"))
            #expect(try await database.text("select max_running from errand.limit") == "1")
            // A program with a handler of its own for the kind changes nothing.
            _ = try await ManualWorker(
                database,
                kinds: #"[{"name": "order", "queue": "default", "max_attempts": 9, "priority": 2, "is_whole": true}]"#)
            #expect(try await database.text(kind) == "mail|3|endpoint/shop|{endpoint.shop}")
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select errand.drop_endpoint('shop', 'over')")
            }
            #expect(error?.sqlState == "ER409")
            #expect(try await database.text("select errand.drop_handler('order')") == "true")
            #expect(try await database.text(kind) == "mail|3||")
            try await database.execute("select errand.drop_endpoint('shop', 'over')")
            #expect(try await database.count("from errand.limit") == 0)
            #expect(try await database.count("from errand.endpoints") == 0)
        }
    }

    @Test(
        "an application points kinds of its own to allowed endpoints, and neither allows one nor takes another's kind")
    func applications() async throws {
        try await Logins.with { logins in
            let database = logins.database
            try await database.execute("select errand.put_endpoint('shop', 'https://shop.example', 'shop')")
            _ = try await logins.query("select errand.put_http_handler('order', 'shop')", as: logins.shop)
            for (sql, state) in [
                ("select errand.put_http_handler('order', 'shop')", "ER409"),
                ("select errand.drop_handler('order')", "ER409"),
                ("select errand.put_http_handler('letter', 'shp')", "ER404"),
                ("select errand.put_http_handler('letter', null)", "ER404"),
                ("select errand.put_http_handler('endpoint.shop', 'shop')", "ER422"),
                ("select errand.put_http_handler('Letter', 'shop')", "ER422"),
                ("select errand.put_endpoint('mail', 'https://mail.example', 'mail')", "42501"),
                ("select errand.drop_endpoint('shop', 'x')", "42501"), ("select errand.test_endpoint('shop')", "42501"),
                ("select * from errand.endpoints", "42501"),
            ] {
                let error = await #expect(throws: PostgresError.self, "\(sql)") {
                    try await logins.query(sql, as: logins.mail)
                }
                #expect(error?.sqlState == state, "\(sql)")
            }
            #expect(try await database.text("select kind, endpoint from errand.handlers") == "order|shop")
        }
    }

    @Test("an endpoint replaces the SQL function of a kind, and a function the endpoint")
    func replaced() async throws {
        try await withFunctionApp { app, database in
            let handlers = """
                select function, endpoint, circuits::text
                from errand.handlers join errand.kinds using (kind)
                """
            try await database.execute("select errand.put_endpoint('shop', 'https://shop.example', 'shop')")
            try await app.handle("order", "")
            #expect(try await database.text(handlers) == "\(app.name).\"order\"||")
            try await app.act("select errand.put_http_handler('order', 'shop')")
            #expect(try await database.text(handlers) == "|shop|{endpoint.shop}")
            try await app.handle("order", "")
            #expect(try await database.text(handlers) == "\(app.name).\"order\"||")
        }
    }

    @Test("what workers compare with each heartbeat changes with endpoints and their kinds")
    func version() async throws {
        try await withTestDatabase { database, _ in
            var version = try await database.text("select errand_internal.handlers_version()")
            for change in [
                "select errand.put_endpoint('shop', 'https://shop.example', 'shop')",
                "select errand.put_endpoint('shop', 'https://shop.example', 'other')",
                "select errand.put_endpoint('shop', 'https://shop.example', 'other', timeout => '1 s')",
                "select errand.put_http_handler('order', 'shop')", "select errand.drop_handler('order')",
                "select errand.drop_endpoint('shop', 'over')",
            ] {
                try await database.execute(Statement(change))
                let now = try await database.text("select errand_internal.handlers_version()")
                #expect(now != version, "\(change)")
                version = now
            }
        }
    }

    @Test("the MAC of tokens is HMAC-SHA256")
    func mac() async throws {
        try await withTestDatabase { database, _ in
            // RFC 4231, test case 2.
            let mac = try await database.text(
                "select encode(errand_internal.hmac_sha256('what do ya want for nothing?', 'Jefe'), 'hex')")
            #expect(mac == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        }
    }
}
