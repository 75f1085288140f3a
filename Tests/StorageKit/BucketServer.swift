import Foundation

/// A real S3 server of `make test`, with the bucket `photos` and, if it supports versions, `versioned`.
package struct BucketServer: Sendable, CustomStringConvertible {
    package let name: String
    package let port: Int
    package let accessKey: String
    package let secretKey: String
    /// The file with its certificate, if the server uses TLS.
    package let certificate: String?
    /// Whether it supports `If-None-Match`, versions and metadata: rclone doesn't.
    package let isWhole: Bool

    package var description: String { name }

    /// rclone's, over a folder; checks signatures and MD5.
    package static func rclone() throws -> BucketServer {
        try BucketServer("rclone", "ERRAND_TEST_S3_RCLONE", isWhole: false)
    }

    /// moto's, in memory; checks signatures and rights.
    package static func moto() throws -> BucketServer { try BucketServer("moto", "ERRAND_TEST_S3_MOTO", isWhole: true) }

    /// rclone with TLS as the host `BUCKET.errand.test`, which no name server has.
    package static func secure() throws -> BucketServer {
        try BucketServer("tls", "ERRAND_TEST_S3_TLS", isWhole: false)
    }

    private init(_ name: String, _ variable: String, isWhole: Bool) throws {
        let words = ProcessInfo.processInfo.environment[variable]?.split(separator: " ").map(String.init) ?? []
        guard words.count >= 3, let port = Int(words[0]) else { throw BucketServerMissing(variable: variable) }
        self.name = name
        self.port = port
        accessKey = words[1]
        secretKey = words[2]
        certificate = words.count > 3 ? words[3] : nil
        self.isWhole = isWhole
    }

    /// The text for STORAGE_URL.
    ///
    /// - Parameter port: another port for the server, such as a proxy's.
    package func url(bucket: String = "photos", prefix: String, port: Int? = nil, options: String = "") -> String {
        let conditions = isWhole ? "native" : "head"
        return "s3://\(bucket)/\(prefix)?endpoint=http://127.0.0.1:\(port ?? self.port)&plaintext=true"
            + "&conditions=\(conditions)\(options)"
    }
}

/// The environment does not name the servers of the tests.
package struct BucketServerMissing: Error, CustomStringConvertible {
    let variable: String

    package var description: String {
        "\(variable): expected a port, an access key and a secret key, got nothing; `make test` starts the server and sets it"
    }
}
