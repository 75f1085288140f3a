import Foundation
import Logging
import Testing

@testable import Command

@Suite("Settings of endpoints") struct EndpointSettingsTests {
    private static let secret = "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())"

    @Test("without secrets no endpoint is called")
    func unset() throws { #expect(try caller([:]) == false) }

    @Test("secrets are the setting's text, or a file's")
    func secrets() throws {
        #expect(try caller(["ERRAND_ENDPOINT_SECRETS": "shop=\(Self.secret),mail=\(Self.secret)"]))
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("secrets-\(UUID().uuidString)")
        try Data("shop=\(Self.secret)\n".utf8).write(to: path)
        defer { try? FileManager.default.removeItem(at: path) }
        #expect(try caller(["ERRAND_ENDPOINT_SECRETS": path.path]))
    }

    @Test(
        "what can't be used stops the start, and no secret is shown",
        arguments: [
            ["ERRAND_ENDPOINT_SECRETS": "shop=\(secret.dropLast(9))"], ["ERRAND_ENDPOINT_SECRETS": "/no/such/file"],
            ["ERRAND_ENDPOINT_SECRETS": "shop=\(secret) \(secret) \(secret)"],
            ["ERRAND_ENDPOINT_SECRETS": "shop=\(secret)", "ERRAND_ENDPOINT_AUTHORITIES": "/no/such/file"],
            ["ERRAND_API_URL": "errand.test"], ["ERRAND_API_URL": "https://user:word@errand.test"],
            ["ERRAND_API_URL": "https://errand.test/?a=b"],
        ])
    func refused(environment: [String: String]) throws {
        let error = #expect(throws: ConfigurationError.self) { try caller(environment) }
        #expect(error?.description.contains("ERRAND_") == true)
        #expect(error?.description.contains("BwcH") == false)
    }

    /// Whether there is one.
    private func caller(_ environment: [String: String]) throws -> Bool {
        let settings = try Settings.load(environment: environment)
        return try settings.endpointCaller(Logger(label: "test")) != nil
    }
}
