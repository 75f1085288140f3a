import Foundation

/// A store's address as one text: the path of a folder, as it is or as `file:///var/lib/errand`, or a bucket.
///
/// ```text
/// s3://photos?region=eu-central-1
/// s3://photos/production?endpoint=https://minio.example.com:9000&region=us-east-1
/// s3://photos.example.app?endpoint=https://storage.googleapis.com&region=auto&conditions=head
/// ```
/// | option | default | |
/// |---|---|---|
/// | `endpoint` | `https://s3.REGION.amazonaws.com` | the server; `http://` only together with `plaintext=true` |
/// | `region` | `us-east-1` | |
/// | `style` | `virtual` for Amazon, else `path` | the bucket's name is in the host or in the path |
/// | `conditions` | `native` | `head` for servers that don't know `If-None-Match` |
/// | `versions` | `refused` | of a bucket that keeps versions: `refused`, `removed`, `unchecked` |
/// | `authorities` | | a PEM file of authorities to trust besides the system's |
/// | `plaintext` | `false` | `true` allows an endpoint without TLS |
///
/// A URL with credentials is refused, because URLs are logged.
public enum StorageLocation: Sendable {
    /// A path, for a ``FolderStore``. A relative one begins at the process's folder.
    case folder(path: String)
    /// For an ``S3Store``.
    case bucket(S3Configuration)

    /// - Parameters:
    ///   - text: the path or URL.
    ///   - credentials: needed for a bucket.
    /// - Throws: ``MalformedLocation``, which shows nothing of the text but names of options.
    public init(url text: String, credentials: S3Credentials?) throws(MalformedLocation) {
        // Any other text could be meant as a bucket.
        if text.hasPrefix("/") || text.hasPrefix(".") {
            self = .folder(path: text)
            return
        }
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased() else {
            throw MalformedLocation("expected the path of a folder, from / or ., or s3://bucket?…")
        }
        guard url.user == nil, url.password == nil else {
            throw MalformedLocation("expected no user and no password in it; the keys have settings of their own")
        }
        switch scheme {
        case "file":
            guard (url.host ?? "").isEmpty, url.path.hasPrefix("/"), url.path.count > 1, url.query == nil else {
                throw MalformedLocation("expected file:/// and the path of a folder")
            }
            self = .folder(path: url.path)
        case "s3":
            guard let credentials else {
                throw MalformedLocation("a bucket needs STORAGE_ACCESS_KEY and STORAGE_SECRET_KEY")
            }
            self = .bucket(try Self.bucket(url, credentials))
        default:
            throw MalformedLocation("expected the path of a folder, file:///… or s3://bucket?…, got another scheme")
        }
    }
}

/// A location that can't be used. Its description says what was expected.
public struct MalformedLocation: Error, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

// MARK: - Buckets
extension StorageLocation {
    private static let options: Set = [
        "endpoint", "region", "style", "conditions", "versions", "authorities", "plaintext",
    ]

    private static func bucket(
        _ url: URLComponents, _ credentials: S3Credentials
    ) throws(MalformedLocation) -> S3Configuration {
        let name = url.host ?? ""
        guard name.wholeMatch(of: #/[A-Za-z0-9][A-Za-z0-9._-]{1,220}[A-Za-z0-9]/#) != nil else {
            throw MalformedLocation("expected a bucket's name behind s3://")
        }
        guard url.port == nil, url.fragment == nil else {
            throw MalformedLocation("expected a port in the option endpoint alone, and no #")
        }
        var values: [String: String] = [:]
        for item in url.queryItems ?? [] {
            guard options.contains(item.name) else {
                let known = options.sorted().joined(separator: ", ")
                throw MalformedLocation("expected of options \(known), got \(item.name.prefix(40).filter(\.isLetter))")
            }
            guard let value = item.value, !value.isEmpty, values[item.name] == nil else {
                throw MalformedLocation("\(item.name): expected one value")
            }
            values[item.name] = value
        }
        var made = S3Configuration(bucket: name, host: "", credentials: credentials)
        made.prefix = url.path.split(separator: "/").joined(separator: "/")
        if !made.prefix.isEmpty, (try? ObjectKey(made.prefix)) == nil {
            throw MalformedLocation("expected a path of the letters that keys have behind the bucket")
        }
        made.region = values["region"] ?? made.region
        let amazon = "s3.\(made.region).amazonaws.com"
        try take(endpoint: values["endpoint"] ?? "https://\(amazon)", isPlaintextWanted: values["plaintext"], &made)
        // A certificate for *.host doesn't hold for a bucket whose name has dots.
        let isVirtual = made.host.hasSuffix(".amazonaws.com") && !name.contains(".")
        made.style = try choice(values["style"], "style", isVirtual ? .virtual : .path)
        made.conditions = try choice(values["conditions"], "conditions", .native)
        made.versions = try choice(values["versions"], "versions", .refused)
        made.authorities = values["authorities"]
        return made
    }

    private static func take(
        endpoint: String, isPlaintextWanted plaintext: String?, _ made: inout S3Configuration
    ) throws(MalformedLocation) {
        guard let url = URLComponents(string: endpoint), let host = url.host, !host.isEmpty,
            ["http", "https"].contains(url.scheme), url.user == nil, url.query == nil, url.path.count <= 1
        else {
            throw MalformedLocation("endpoint: expected https://host or https://host:port")
        }
        guard ["true", "false", nil].contains(plaintext) else {
            throw MalformedLocation("plaintext: expected true or false")
        }
        guard url.scheme == "https" || plaintext == "true" else {
            throw MalformedLocation(
                "endpoint: expected https://…, got http://; plaintext=true allows it, photos in the clear included")
        }
        made.isTLS = url.scheme == "https"
        made.host = host
        made.port = url.port
    }

    private static func choice<T: RawRepresentable<String>>(
        _ text: String?, _ option: String, _ fallback: T
    ) throws(MalformedLocation) -> T {
        guard let text else { return fallback }
        guard let value = T(rawValue: text) else { throw MalformedLocation("\(option): expected one of its words") }
        return value
    }
}
