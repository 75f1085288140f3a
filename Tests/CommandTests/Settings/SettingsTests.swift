import Foundation
import Logging
import Testing

@testable import Command

@Suite("Settings") final class SettingsTests {
    private var files: [String] = []

    deinit {
        for file in files { try? FileManager.default.removeItem(atPath: file) }
    }

    @Test("without settings the defaults apply, and each default is valid")
    func defaults() throws {
        let settings = try Settings.load(environment: ["ERRAND_CONFIG": try file("{}")])
        for setting in Setting.all {
            #expect(settings.value(setting)?.text == setting.fallback)
            if let fallback = setting.fallback { #expect(setting.accepts(fallback)) }
        }
    }

    @Test("whatever holds the settings shows none of their values, as the logs of services do at level trace")
    func description() throws {
        let settings = try Settings.load(environment: [
            "ERRAND_CONFIG": try file("{}"), "DATABASE_URL": "postgresql://errand:hunter2@127.0.0.1/x",
        ])
        let environment = Environment(settings: settings, logger: Logger(label: "test"), logFormat: .text)
        var dumped = ""
        dump(environment, to: &dumped)
        for text in ["\(settings)", "\(environment)", String(reflecting: environment), dumped] {
            #expect(!text.contains("hunter2"))
        }
    }

    @Test("each setting is read from its environment variable, and the environment wins over the file")
    func environment() throws {
        let path = try file(#"{"errand": {"lease": "30s", "grace": "7s"}}"#)
        let settings = try Settings.load(environment: ["ERRAND_CONFIG": path, "ERRAND_LEASE": "40s"])
        #expect(settings.value(.lease)?.text == "40s")
        #expect(settings.value(.lease)?.origin.description == "environment ERRAND_LEASE")
        #expect(settings.value(.grace)?.text == "7s")
        #expect(settings.value(.grace)?.origin.description == "file \(path)")
        #expect(settings.value(.heartbeatInterval)?.origin.description == "default")
        for setting in Setting.all {
            let hash = "scrypt:10:8:1:" + String(repeating: "0", count: 32) + ":" + String(repeating: "0", count: 64)
            let samples = [
                "http://localhost:4318", "name=value", "postgresql:///x", "512MB", "ABC123DEFG", "com.example.app",
                "alice=\(hash)", "ci=a-token-of-20-characters", "127.0.0.1", "127.0.0.1:8081",
            ]
            let text = try #require(samples.filter(setting.accepts).first ?? setting.fallback)
            let settings = try Settings.load(environment: ["ERRAND_CONFIG": path, setting.variable: text])
            #expect(settings.value(setting)?.origin.description == "environment \(setting.variable)")
        }
    }

    @Test("a file may hold texts, whole numbers, true and false")
    func kinds() throws {
        let path = try file(
            #"{"errand": {"connections": 7, "listen": false, "log": {"format": "json"}, "image": {"processes": 1}}}"#)
        let settings = try Settings.load(environment: ["ERRAND_CONFIG": path])
        #expect(settings.value(.connections)?.text == "7")
        #expect(settings.value(.imageProcesses)?.text == "1")
        #expect(settings.value(.listen)?.text == "false")
        #expect(settings.value(.logFormat)?.text == "json")
    }

    @Test(
        "a value that isn't what is expected stops the start",
        arguments: [
            ("ERRAND_QUEUES", "default"), ("ERRAND_POLL_INTERVAL", "4ms"), ("ERRAND_LISTEN", "yes"),
            ("ERRAND_LEASE", "500ms"), ("ERRAND_HEARTBEAT_INTERVAL", "0s"), ("ERRAND_GRACE", "-1s"),
            ("ERRAND_CONNECTIONS", "0"),
            ("ERRAND_CONNECTIONS", "four"), ("STORAGE_URL", ""), ("ERRAND_IMAGE_PROCESSES", "1001"),
            ("ERRAND_LOG_LEVEL", "loud"), ("ERRAND_LOG_FORMAT", "xml"), ("ERRAND_MEMORY", "lots"),
            ("ERRAND_MEMORY", "0MB"), ("ERRAND_IMAGE_LIMIT", "200"),
        ])
    func malformed(variable: String, text: String) throws {
        let setting = try #require(Setting.all.first { $0.variable == variable })
        let error = try #require(throws: ConfigurationError.self) {
            try Settings.load(environment: [variable: text])
        }
        #expect(
            error.description
                == "\(variable): expected \(setting.expected), got '\(text)' (environment \(variable))")
    }

    @Test(
        "a key with a line break stops the start, and isn't shown", arguments: ["secret\n", "a secret", " secret", ""])
    func malformedKey(text: String) throws {
        for setting in [Setting.storageAccessKey, .storageSecretKey, .storageSessionToken] {
            let error = try #require(throws: ConfigurationError.self) {
                try Settings.load(environment: [setting.variable: text])
            }
            #expect(
                error.description.hasPrefix("\(setting.variable): expected \(setting.expected), got something else"))
        }
    }

    @Test(
        "a file that isn't what is expected stops the start",
        arguments: [
            (#"{"errand": {"leese": "1s"}}"#, "unknown setting in FILE: errand.leese; did you mean errand.lease?"),
            (#"{"queues": {"a": 1}}"#, "unknown setting in FILE: queues.a; see `errand config`"),
            (
                #"{"errand": {"lease": "soon"}}"#,
                "ERRAND_LEASE: expected a duration of 1s to 1h, got 'soon' (file FILE)"
            ),
            (
                #"{"errand": {"connections": 2.5}}"#,
                "errand.connections: expected a number of 1 to 1000, got another kind of JSON (file FILE)"
            ),
            (
                #"{"errand": {"queues": ["a"]}}"#,
                "errand.queues: expected queue=number,…, got another kind of JSON (file FILE)"
            ),
            (
                #"{"errand": {"grace": null}}"#,
                "errand.grace: expected a duration such as 25s, got another kind of JSON (file FILE)"
            ),
            (
                #"{"cells": ["postgresql:///a", 7]}"#,
                "cells: expected a list of postgresql://user@host:5432/database, got something else (file FILE)"
            ),
            (
                #"{"cells": []}"#,
                "cells: expected a list of postgresql://user@host:5432/database, got something else (file FILE)"
            ),
            (
                #"{"cells": ["postgresql:///a"], "database": {"url": "postgresql:///b"}}"#,
                "FILE: expected cells or database.url, got both"
            ),
            ("[1]", "FILE: expected a JSON object with settings, got something else"),
            (#"{"errand":"#, "FILE: expected a JSON object with settings, got something else"),
        ])
    func malformedFile(text: String, expected: String) throws {
        let path = try file(text)
        let error = try #require(throws: ConfigurationError.self) {
            try Settings.load(environment: ["ERRAND_CONFIG": path])
        }
        #expect(error.description.replacing(path, with: "FILE") == expected)
    }

    @Test("a file that is named must be there")
    func missingFile() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Settings.load(environment: ["ERRAND_CONFIG": "/nowhere/errand.json"])
        }
        #expect(
            error.description == "/nowhere/errand.json: expected a JSON file with settings, got none that can be read")
    }

    @Test("an unknown variable stops the start, and the nearest one is named")
    func unknown() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Settings.load(environment: ["ERRAND_QEUES": "a=1"])
        }
        #expect(error.description == "unknown environment variable ERRAND_QEUES; did you mean ERRAND_QUEUES?")
    }

    @Test("the variables that Kubernetes makes of a service called errand are no settings")
    func kubernetes() throws {
        let path = try file("{}")
        _ = try Settings.load(environment: [
            "ERRAND_CONFIG": path, "ERRAND_SERVICE_HOST": "10.0.0.1", "ERRAND_SERVICE_PORT": "80",
            "ERRAND_SERVICE_PORT_HTTP": "80", "ERRAND_PORT": "tcp://10.0.0.1:80", "ERRAND_PORT_80_TCP_ADDR": "10.0.0.1",
        ])
        #expect(throws: ConfigurationError.self) {
            try Settings.load(environment: ["ERRAND_CONFIG": path, "ERRAND_PORT": "80"])
        }
    }

    @Test("the error of a missing setting names it, and a secret is never shown")
    func secrets() throws {
        let none = try Settings.load(environment: ["ERRAND_CONFIG": try file("{}")])
        let missing = try #require(throws: ConfigurationError.self) { try none.value(.databaseURL) { $0 } }
        #expect(
            missing.description
                == "DATABASE_URL is not set: expected postgresql://user@host:5432/database (\(Setting.databaseURL.purpose))"
        )
        let settings = try Settings.load(environment: ["DATABASE_URL": "hunter2"])
        let malformed = try #require(throws: ConfigurationError.self) {
            try settings.value(.databaseURL) { _ in Int?.none }
        }
        #expect(!malformed.description.contains("hunter2"))
        let url = "https://errand:hunter2@localhost"
        let refused = try #require(throws: ConfigurationError.self) {
            try Settings.load(environment: ["OTEL_EXPORTER_OTLP_ENDPOINT": url])
        }
        #expect(!refused.description.contains("hunter2"))
        let accepted = try Settings.load(environment: ["APNS_SERVER": url])
        #expect(accepted.shown["APNS_SERVER"] == "(hidden)")
    }

    /// A new file with this text.
    private func file(_ text: String) throws -> String {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("errand-\(UUID().uuidString).json")
        try Data(text.utf8).write(to: url)
        files.append(url.path)
        return url.path
    }
}
