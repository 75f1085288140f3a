import Glibc
import Outbound

/// Why an object store did not do what it was asked.
public struct StorageError: Error, OutboundError, Sendable, Hashable {
    /// What kind of failure it was. More may come: compare, and have a default.
    public struct Code: Hashable, Sendable {
        let name: String
        /// There is no such object.
        public static let notFound = Code(name: "not found")
        /// The key is not of the form that keys have.
        public static let badKey = Code(name: "bad key")
        /// The store refuses this key, while it serves another one.
        public static let forbidden = Code(name: "forbidden")
        /// The store has no room left.
        public static let full = Code(name: "full")
        /// The key's file is no regular file, such as a symbolic link.
        public static let denied = Code(name: "denied")
        /// Nothing can be sent: refused, no route, no address, no TLS, no reply to the connect.
        public static let unreachable = Code(name: "unreachable")
        /// It took longer than it may, in all or between two pieces.
        public static let timedOut = Code(name: "timed out")
        /// The connection was lost on the way: what was asked may have been done.
        public static let interrupted = Code(name: "interrupted")
        /// The store can't serve the request now: 5xx, too many requests, a conflict.
        public static let busy = Code(name: "busy")
        /// Keys, rights, bucket, region or clock are wrong. An operator has to fix that.
        public static let misconfigured = Code(name: "misconfigured")
        /// The bucket keeps versions, so a delete would remove nothing. An operator has to fix that.
        public static let keepsVersions = Code(name: "keeps versions")
        /// It is not the store that was expected: a disk that isn't mounted, another bucket or prefix.
        public static let wrongStore = Code(name: "wrong store")
        /// The bytes that arrived are not those that were sent.
        public static let corrupt = Code(name: "corrupt")
        /// The key has another object.
        public static let taken = Code(name: "taken")
        /// The object is larger than the caller's limit.
        public static let tooLarge = Code(name: "too large")
        /// The store doesn't accept such a request, now or later.
        public static let rejected = Code(name: "rejected")
        /// Anything else: the same call may succeed later.
        public static let failed = Code(name: "failed")
    }

    /// What kind of failure it was.
    public let code: Code
    /// What the store or the system said. It holds no secret.
    public let detail: String
    /// Whether the store has refused such a request, or this key, to credentials that it knows.
    var isAboutRights = false

    /// - Parameters:
    ///   - code: what kind of failure it was.
    ///   - detail: one line without secrets.
    public init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Whether nothing could be sent.
    public var isUnreachable: Bool { code == .unreachable }

    package var fault: OutboundFault {
        switch code {
        case .misconfigured, .keepsVersions, .wrongStore: .configuration
        case .notFound, .badKey, .denied, .corrupt, .taken, .tooLarge, .rejected: .ours
        default: .transient
        }
    }

    /// Whether the same call would fail again, even after an operator has fixed the store.
    public var isPermanent: Bool { fault == .ours }

    /// Whether the same call may succeed later, by itself or after an operator has fixed the store.
    public var isTransient: Bool { !isPermanent }
}

extension StorageError {
    /// The system's error number for `what`.
    init(errno number: Int32, _ what: String) {
        let code: Code =
            switch number {
            case ENOENT, ENOTDIR: .notFound
            case ENOSPC, EDQUOT: .full
            case ELOOP: .denied
            case EACCES, EPERM, EROFS: .misconfigured
            case ENOTCONN, EHOSTDOWN, ETIMEDOUT, ESTALE: .unreachable
            default: .failed
            }
        self.init(code, "\(what): \(String(cString: strerror(number)))")
    }
}

extension StorageError: CustomStringConvertible {
    public var description: String { "storage: \(code.name): \(detail)" }
}
