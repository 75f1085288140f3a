import Foundation
import NIOSSL

/// A certificate for loopback, and for the name `hooks.test`, that openssl creates for this run of the tests.
package struct PushCertificate: Sendable {
    /// The file with the certificate, which is its own authority.
    package let path: String
    private let key: String

    /// One for all tests of the process.
    package static let shared = Result { try PushCertificate() }

    private init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("push-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("certificate.pem").path
        key = folder.appendingPathComponent("key.pem").path
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=errand test", "-addext", "subjectAltName=IP:127.0.0.1,DNS:hooks.test", "-keyout", key, "-out",
            path,
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
    }

    /// - Parameter protocols: what the server offers (ALPN).
    package func serverContext(_ protocols: [String]) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(path).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: key, format: .pem)))
        configuration.applicationProtocols = protocols
        return try NIOSSLContext(configuration: configuration)
    }
}
