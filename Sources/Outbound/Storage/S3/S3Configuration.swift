/// Which bucket, where, and how it is spoken to.
package struct S3Configuration: Sendable {
    package var bucket: String
    /// Put before every key, with a slash between; empty for none.
    package var prefix = ""
    package var region = "us-east-1"
    package var isTLS = true
    package var host: String
    /// Nil is the scheme's own.
    package var port: Int?
    package var style = Style.path
    package var conditions = Conditions.native
    package var versions = Versions.refused
    package var credentials: Credentials
    /// A PEM file of authorities that are trusted besides the system's.
    package var authorities: String?
    package var limits = Limits()
    /// Addresses of names, for servers that no name server knows.
    package var addresses: [String: String] = [:]

    package init(bucket: String, host: String, credentials: Credentials) {
        self.bucket = bucket
        self.host = host
        self.credentials = credentials
    }

    /// Where the bucket's name stands.
    package enum Style: String, Sendable {
        /// `https://host/bucket/key`
        case path
        /// `https://bucket.host/key`
        case virtual
    }

    /// How an object is put only where there is none.
    package enum Conditions: String, Sendable {
        /// The server heeds `If-None-Match: *`.
        case native
        /// It doesn't: it is asked first. Two that put at the same moment both do.
        case head
    }

    /// What a bucket that keeps versions means: there a delete only hides an object.
    package enum Versions: String, Sendable {
        /// Such a bucket is refused.
        case refused
        /// Every version is removed with its object.
        case removed
        /// Nobody looks: the operator answers for it.
        case unchecked
    }

    /// How long things may take.
    package struct Limits: Sendable {
        /// Until a connection is there, TLS included.
        package var connect: Duration = .seconds(1)
        /// Between two pieces that are sent or received.
        package var idle: Duration = .seconds(10)
        /// One request in all, beside what its size takes.
        package var total: Duration = .seconds(20)
        /// The slowest that an object may come or go, in bytes a second: its size adds so much to the total.
        package var slowest = 256 << 10
        /// The biggest object that is read into memory.
        package var memory = 512 << 20

        package init() {}
    }
}

extension S3Configuration {
    /// The host that requests go to, as the header says it.
    var authority: String {
        let name = style == .virtual ? "\(bucket).\(host)" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// The decoded path of a key or, with nil, of the bucket itself.
    func path(of key: String?) -> String {
        let root = style == .virtual ? "/" : "/\(bucket)"
        guard let key else { return root }
        return (style == .virtual ? "" : root) + "/" + key
    }
}
