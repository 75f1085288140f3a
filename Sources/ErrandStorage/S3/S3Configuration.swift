/// A bucket, its server and its credentials.
///
/// ```swift
/// let credentials = S3Credentials(accessKey: "AKIA…", secretKey: secret)
/// var bucket = S3Configuration(bucket: "photos", host: "s3.eu-central-1.amazonaws.com", credentials: credentials)
/// bucket.region = "eu-central-1"
/// bucket.style = .virtual
/// let store = try S3Store(bucket)
/// ```
/// ``StorageLocation`` reads the same from a URL.
public struct S3Configuration: Sendable {
    /// The bucket's name.
    public var bucket: String
    /// Prepended to every key, with a slash between. Default empty: no prefix.
    public var prefix = ""
    /// The region in signatures. Default `us-east-1`.
    public var region = "us-east-1"
    /// Whether requests go over TLS. Default true.
    public var isTLS = true
    /// The server's name, without the bucket.
    public var host: String
    /// Default nil: 443, or 80 without TLS.
    public var port: Int?
    /// Where requests name the bucket. Default `path`.
    public var style = Style.path
    /// How a put with ``PutCondition/absent`` is done. Default `native`.
    public var conditions = Conditions.native
    /// Whether a bucket that keeps versions is used. Default `refused`.
    public var versions = Versions.refused
    /// What requests are signed with.
    public var credentials: S3Credentials
    /// The path of a PEM file with certificate authorities, trusted beside the system's. Default none.
    public var authorities: String?
    /// How long requests may take.
    public var limits = Limits()
    /// Addresses of names, for servers that no name server knows.
    package var addresses: [String: String] = [:]

    /// A bucket on a server, with the defaults.
    public init(bucket: String, host: String, credentials: S3Credentials) {
        self.bucket = bucket
        self.host = host
        self.credentials = credentials
    }

    /// Where requests name the bucket.
    public enum Style: String, Sendable {
        /// `https://host/bucket/key`
        case path
        /// `https://bucket.host/key`
        case virtual
    }

    /// How a put with ``PutCondition/absent`` is done.
    public enum Conditions: String, Sendable {
        /// By `If-None-Match: *`.
        case native
        /// By a HEAD before the put, for servers without conditions. Two concurrent puts may both succeed.
        case head
    }

    /// What to do with a bucket that keeps versions. A plain delete only hides an object there.
    public enum Versions: String, Sendable {
        /// Such a bucket is refused.
        case refused
        /// Every version is removed with its object.
        case removed
        /// The bucket is not asked.
        case unchecked
    }

    /// How long requests may take, and how large objects may be.
    public struct Limits: Sendable {
        /// Until a connection is open, TLS included. Default 1 s.
        public var connect: Duration = .seconds(1)
        /// Between two pieces that are sent or received. Default 10 s.
        public var idle: Duration = .seconds(10)
        /// A whole request, beside the time for its size. Default 20 s.
        public var total: Duration = .seconds(20)
        /// The slowest transfer, in bytes a second: the size adds that much time to the total. Default 256 KiB.
        public var slowest = 256 << 10
        /// The largest object that is read into memory, in bytes. Default 512 MiB.
        public var memory = 512 << 20

        /// The defaults.
        public init() {}
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
