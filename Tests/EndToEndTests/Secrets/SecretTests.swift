import AppTestKit
import ErrandStorage
import ErrandTestKit
import Foundation
import Postgres
import StorageKit
import Testing

/// Every setting that takes a secret gets an invented one. The tests search for them in all readable output.
@Suite("Secrets", .serialized) struct SecretTests {
    @Test(
        "work that succeeds and work that fails shows no secret in logs, rows, metrics, URLs or the list of processes")
    func working() async throws {
        try await withAppDatabase { database, configuration in
            let fixture = try await SecretFixture(database, configuration)
            try await fixture.store.put(fixture.photo(), at: ObjectKey("uploads/whole.jpg"))
            try await fixture.store.put(Array("<svg>no photo</svg>".utf8), at: ObjectKey("uploads/broken.jpg"))
            var evidence = Evidence()

            // The right keys: one photo is delivered, and the others fail in every possible way.
            let worker = try fixture.start("worker", log: "text")
            let services = [worker, try fixture.start("scheduler", log: "json"), try fixture.start("web", log: "json")]
            for name in ["whole", "broken", "missing"] {
                try await database.execute(Statement("select media.submit($1)", ["uploads/\(name).jpg"]))
            }
            for name in ["refused", "busy"] {
                try await database.execute(
                    Statement("select media.submit_upload($1, $2)", ["photos/\(name).jpg", Bytes([1, 2, 3])]))
            }
            try await database.execute("select errand.enqueue('noop', '{\"sleep_ms\": \"long\"}')")
            #expect(
                try await database.becomes(
                    """
                    exists (select from media.photo_status where state = 'delivered')
                        and (select count(*) from media.photo_status where state = 'failed') = 2
                        and exists (select from errand.jobs where kind = 'upload_retry' and jsonb_array_length(attempts) > 0)
                    """, within: .seconds(60)), "\(worker.output.suffix(2000))")
            for command in SecretFixture.commands where Hardness.isFull || command != ["doctor", "--json"] {
                evidence.add("errand \(command.joined(separator: " "))", try await fixture.says(command))
            }
            for service in services {
                for path in ["healthz", "readyz", "metrics", "log-in"] {
                    evidence.add("/\(path)", try await service.response(path))
                }
            }
            #expect(evidence.text("/metrics")?.contains("errand_") == true)
            evidence.addProcesses()
            for service in services { service.send(SIGTERM) }
            for service in services { #expect(try await service.exit(within: .seconds(60)) == 0) }

            // Wrong keys: the store's error repeats the request, and jobs that need the store wait.
            let wrong = fixture.wrongKeys
            try await database.execute(
                Statement("select media.submit_upload('photos/wrong.jpg', $1)", [Bytes([1, 2, 3])]))
            let failing = try fixture.start("run", log: "text", wrong)
            #expect(
                try await database.becomes(
                    "exists (select from errand.circuits where state <> 'closed')", within: .seconds(60)),
                "\(failing.output.suffix(2000))")
            evidence.add("/metrics", try await failing.response("metrics"))
            for command in [["doctor", "--json"], ["doctor"]].prefix(Hardness.isFull ? 2 : 1) {
                let said = try await fixture.says(command, wrong)
                #expect(said.contains("storage"))
                evidence.add("errand \(command.joined(separator: " ")) with wrong keys", said)
            }
            evidence.addProcesses()
            failing.send(SIGTERM)
            #expect(try await failing.exit(within: .seconds(60)) == 0)

            for service in services + [failing] { evidence.add("a log", service.output) }
            for request in fixture.proxy.requests { evidence.add("a URL", request.path) }
            try await evidence.addDatabase(database, url: TestServer.url(of: configuration, directly: true))
            #expect(evidence.text("the dump of the database")?.contains("uploads/broken.jpg") == true)
            #expect(evidence.shows(fixture.canaries) == [])
        }
    }

    @Test("a password that the database refuses shows nowhere")
    func refusedPassword() async throws {
        let server = try RefusingDatabase()
        let canary = Canary(of: "DATABASE_URL")
        let url = "postgresql://errand:\(canary.percentEncoded)@127.0.0.1:\(server.port)/app?gssencmode=disable"
        let settings = [
            "ERRAND_LOG_LEVEL": "trace", "ERRAND_WEB_ADDRESS": "127.0.0.1:0",
            "STORAGE_URL": FileManager.default.temporaryDirectory.path,
        ]
        var evidence = Evidence()
        let services = try ["run", "worker", "scheduler", "web"].map {
            try Program([$0], database: url, settings: settings)
        }
        evidence.add("/readyz", try await services[3].response("readyz"))
        #expect(evidence.text("/readyz")?.contains("failed database") == true)
        evidence.add("/metrics", try await services[3].response("metrics"))
        for command in [
            ["migrate"], ["doctor", "--json", "--as", "scheduler"], ["status", "--json"], ["job", "list"],
            ["enqueue", "noop"],
        ] {
            let said = try await Program.says(command, database: url, settings: settings)
            #expect(said.contains("password authentication failed"), "\(command): \(said)")
            evidence.add("errand \(command.joined(separator: " "))", said)
        }
        evidence.addProcesses()
        for service in services {
            service.send(SIGTERM)
            #expect(try await service.exit(within: .seconds(60)) != nil)
            evidence.add("a log", service.output)
        }
        #expect(server.passwords == [canary.text])
        #expect(evidence.shows([canary]) == [])
    }

    @Test("a secret that is malformed stops the start without being shown, from the environment and from a file")
    func malformed() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).json")
            .path
        defer { try? FileManager.default.removeItem(atPath: file) }
        var evidence = Evidence()
        var canaries: [Canary] = []
        // So that the malformed one is read.
        let usable = ListedSetting.companions.merging([
            "STORAGE_URL": "s3://photos?endpoint=http://127.0.0.1:1&plaintext=true", "STORAGE_ACCESS_KEY": "key",
            "STORAGE_SECRET_KEY": "key", "ERRAND_LOG_LEVEL": "trace",
        ]) { one, _ in one }
        for (index, secret) in try await ListedSetting.secrets().enumerated() {
            let canary = Canary(of: secret.setting)
            canaries.append(canary)
            let texts = [
                canary.text, " \(canary.text)\n", "{\"\(canary.text)\": ",
                "s3://key:\(canary.text)@photos?x=\(canary.text)",
                "postgresql://errand:\(canary.text)@127.0.0.1:none/app?x=\(canary.text)",
                "user=errand password='\(canary.text)",
            ]
            for (number, text) in texts.enumerated() {
                let settings = usable.merging([secret.setting: text]) { _, new in new }
                // Both read all settings. The doctor takes ten times as long, and reads one text of each here.
                let commands =
                    if Hardness.isFull { [["doctor", "--json"], ["config"]] } else {
                        number == index % texts.count ? [["doctor", "--json"], ["config"]] : [["config"]]
                    }
                for command in commands {
                    evidence.add(
                        "errand \(command[0]) with \(secret.setting)",
                        try await Program.says(command, database: "postgresql://127.0.0.1:1/none", settings: settings))
                }
            }
            // In the file: JSON of another type, and incomplete JSON.
            let path = secret.key.split(separator: ".")
            let (open, closed) = (path.map { "{\"\($0)\": " }.joined(), String(repeating: "}", count: path.count))
            for value in ["[\"\(canary.text)\"]\(closed)", "\"\(canary.text)\""] {
                try Data((open + value).utf8).write(to: URL(fileURLWithPath: file))
                let said = try await Program.says(["config", "--json"], settings: ["ERRAND_CONFIG": file])
                #expect(said.contains("expected"), "\(said)")
                evidence.add("errand config with \(secret.setting) in a file", said)
            }
        }
        #expect(
            Set(canaries.map(\.setting)).isSuperset(of: ["DATABASE_URL", "STORAGE_ACCESS_KEY", "STORAGE_SECRET_KEY"]))
        #expect(evidence.shows(canaries) == [])
    }

    @Test("a secret would be found in every form in which it could show")
    func found() throws {
        let canary = Canary(of: "X")
        let long = "?password=\(canary.text)&more"
        let texts = [
            long, "postgresql://a:\(canary.percentEncoded)@b",
            try #require(canary.percentEncoded.removingPercentEncoding),
            Data("k:\(canary.text)".utf8).base64EncodedString(), Data("ke:\(canary.text)\n".utf8).base64EncodedString(),
            Data("key:\(canary.text).".utf8).base64EncodedString(),
            #"{"a":"\#(canary.text.replacing("/", with: #"\/"#))"}"#,
            "\\x" + Data(long.utf8).map { String(format: "%02x", $0) }.joined(), "errand\0worker\0\(canary.text)\0",
        ]
        for text in texts {
            var evidence = Evidence()
            evidence.add("here", text)
            #expect(!evidence.shows([canary]).isEmpty, "\(text)")
            #expect(evidence.shows([Canary(of: "Y")]).isEmpty)
        }
    }
}

/// The text of a private key, as Apple's and Google's files have it.
private func privateKey(_ algorithm: String, _ option: String) throws -> String {
    let openssl = Process()
    openssl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    openssl.arguments = ["openssl", "genpkey", "-quiet", "-algorithm", algorithm, "-pkeyopt", option]
    let output = Pipe()
    openssl.standardOutput = output
    try openssl.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    openssl.waitUntilExit()
    try #require(text.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
    return text
}

/// A database, and a store behind a proxy. Each of their secrets is a canary.
private struct SecretFixture: Sendable {
    let database: Database
    let proxy: FaultProxy
    let store: S3Store
    /// Keys that the store rejects.
    let wrongKeys: [String: String]
    let canaries: [Canary]
    private let url: String
    private let settings: [String: String]

    init(_ database: Database, _ configuration: PostgresConfiguration) async throws {
        let server = try BucketServer.moto()
        let storage = try await StorageFixture(database, configuration) { request in
            switch request.path {
            case let path where path.contains("refused"): .respond(400, code: "InvalidRequest")
            case let path where path.contains("busy"): .respond(503, code: "SlowDown")
            default: .none
            }
        }
        self.database = database
        (proxy, store) = (storage.proxy, storage.store)
        // The test's server requires no password, so any works. moto chose the keys.
        let password = Canary(of: "DATABASE_URL")
        let plain = try TestServer.url(of: configuration)
        url = plain + (plain.contains("?") ? "&" : "?") + "password=" + password.percentEncoded
        var right = [
            "STORAGE_URL": storage.storageURL, "STORAGE_ACCESS_KEY": server.accessKey,
            "STORAGE_SECRET_KEY": server.secretKey,
        ]
        let wrong = ["STORAGE_ACCESS_KEY", "STORAGE_SECRET_KEY", "STORAGE_SESSION_TOKEN"].map { Canary(of: $0) }
        let key = try privateKey("EC", "ec_paramgen_curve:P-256")
        right["APNS_KEY"] = key
        let accountKey = try privateKey("RSA", "rsa_keygen_bits:2048")
        let account = [
            "project_id": "moments-1", "client_email": "errand@example.com", "private_key_id": "1",
            "private_key": accountKey, "token_uri": "https://127.0.0.1:9/token",
        ]
        right["FCM_SERVICE_ACCOUNT"] = String(decoding: try JSONEncoder().encode(account), as: UTF8.self)
        let token = Canary(of: "ERRAND_WEB_TOKENS")
        right["ERRAND_WEB_TOKENS"] = "ci=\(token.text)"
        let digits = (UUID().uuidString + UUID().uuidString).lowercased().replacing("-", with: "")
        let hash = Canary("ERRAND_WEB_PASSWORDS", digits)
        right["ERRAND_WEB_PASSWORDS"] = "alice=scrypt:10:8:1:\(digits.prefix(32)):\(digits)"
        // Hexadecimal digits are base64, too.
        let signing = Canary("ERRAND_ENDPOINT_SECRETS", String(digits.reversed()))
        right["ERRAND_ENDPOINT_SECRETS"] = "shop=whsec_\(signing.text)"
        // Of the 44 characters of a key, the last two can't be any.
        let payloadKey = Canary(
            "ERRAND_PAYLOAD_KEYS",
            String(
                (UUID().uuidString + UUID().uuidString)
                    .lowercased().replacing("-", with: "").prefix(42)))
        right["ERRAND_PAYLOAD_KEYS"] = "k1=\(payloadKey.text)A="
        let header = Canary(of: "OTEL_EXPORTER_OTLP_HEADERS")
        right["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
        right["OTEL_EXPORTER_OTLP_HEADERS"] = "authorization=\(header.percentEncoded)"
        let cell = Canary(of: "ERRAND_CELL_URL")
        right["ERRAND_CELL_URL"] = "postgresql://errand:\(cell.percentEncoded)@127.0.0.1:9/app"
        canaries =
            wrong + [
                token, hash, signing, payloadKey, header, cell, password,
                Canary("STORAGE_ACCESS_KEY", server.accessKey),
                Canary("STORAGE_SECRET_KEY", server.secretKey),
            ]
            // The first line is the same in every key.
            + key.split(separator: "\n").dropFirst(2).dropLast().map { Canary("APNS_KEY", String($0)) }
            + accountKey.split(separator: "\n").dropFirst(2).dropLast().map {
                Canary("FCM_SERVICE_ACCOUNT", String($0))
            }
        wrongKeys = Dictionary(uniqueKeysWithValues: wrong.map { ($0.setting, $0.text) })
        let known = Set(right.keys).union(wrongKeys.keys).union(["DATABASE_URL"])
        for secret in try await ListedSetting.secrets().map(\.setting) where !known.contains(secret) {
            Issue.record("\(secret) is a secret that nobody looks for: give it a canary here")
        }
        right.merge(ListedSetting.companions) { one, _ in one }
        settings = right.merging(["ERRAND_LOG_LEVEL": "trace", "ERRAND_WEB_ADDRESS": "127.0.0.1:0"]) { one, _ in one }
    }

    /// Commands with output.
    static let commands: [[String]] = [
        ["config"], ["config", "--json"], ["doctor"], ["doctor", "--json"], ["migrate", "--status"], ["status"],
        ["status", "--json"], ["job", "list", "--json"], ["job", "show", "1", "--json"],
        ["job", "explain", "1", "--json"],
        ["queue", "list", "--json"], ["schedule", "list", "--json"], ["worker", "list", "--json"],
        ["circuit", "list", "--json"], ["enqueue", "noop", "{}"], ["job", "show", "999999"],
    ]

    func start(_ service: String, log format: String, _ changed: [String: String] = [:]) throws -> Program {
        let changed = changed.merging(["ERRAND_LOG_FORMAT": format]) { one, _ in one }
        return try Program([service], database: url, settings: settings.merging(changed) { _, new in new })
    }

    func says(_ command: [String], _ changed: [String: String] = [:]) async throws -> String {
        try await Program.says(command, database: url, settings: settings.merging(changed) { _, new in new })
    }

    /// A small photo.
    func photo() throws -> [UInt8] {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("photo-\(UUID().uuidString).jpg")
        defer { try? FileManager.default.removeItem(at: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/convert")
        process.arguments = ["-size", "600x400", "plasma:", file.path]
        try process.run()
        process.waitUntilExit()
        return Array(try Data(contentsOf: file))
    }
}
