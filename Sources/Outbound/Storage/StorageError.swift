import Glibc

/// What went wrong between us and an object store.
package struct StorageError: OutboundError, Sendable, Hashable {
    /// What kind of failure it was. More may come: compare, and have a default.
    package struct Code: Hashable, Sendable {
        let name: String
        /// There is no such object.
        package static let notFound = Code(name: "not found")
        /// The key is not of the form that keys have.
        package static let badKey = Code(name: "bad key")
        /// The store has no room left.
        package static let full = Code(name: "full")
        /// What lies under the key is no object, such as a link that somebody laid there.
        package static let denied = Code(name: "denied")
        /// Nothing can be sent: refused, no route, no address, no TLS, no answer to the connect.
        package static let unreachable = Code(name: "unreachable")
        /// It took longer than it may, in all or between two pieces.
        package static let timedOut = Code(name: "timed out")
        /// The connection was lost on the way: what was asked may have been done.
        package static let interrupted = Code(name: "interrupted")
        /// It is there and can't serve us now: 5xx, too many requests, a conflict.
        package static let busy = Code(name: "busy")
        /// Keys, rights, bucket, region or clock are not as they have to be: somebody has to mend that.
        package static let misconfigured = Code(name: "misconfigured")
        /// The bucket keeps versions, so that nothing that is deleted there would be gone: to be mended as `misconfigured`.
        package static let keepsVersions = Code(name: "keeps versions")
        /// It isn't the database's store: a disk that isn't mounted, another bucket or prefix. Nothing in it is believed.
        package static let wrongStore = Code(name: "wrong store")
        /// What arrived is not what was sent.
        package static let corrupt = Code(name: "corrupt")
        /// The key has another object than the one that was to be there.
        package static let taken = Code(name: "taken")
        /// The object is bigger than the caller takes.
        package static let tooLarge = Code(name: "too large")
        /// The store doesn't accept such a request, now or later.
        package static let rejected = Code(name: "rejected")
        /// Anything else: the same call may succeed later.
        package static let failed = Code(name: "failed")
    }

    package let code: Code
    package let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    package var isUnreachable: Bool { code == .unreachable }

    package var fault: OutboundFault {
        switch code {
        case .misconfigured, .keepsVersions, .wrongStore: .configuration
        case .notFound, .badKey, .denied, .corrupt, .taken, .tooLarge, .rejected: .ours
        default: .transient
        }
    }

    /// Whether trying the same again is of no use, even once somebody has mended the store.
    package var isPermanent: Bool { fault == .ours }

    /// Whether the same call may succeed later, by itself or once somebody has mended the store.
    package var isTransient: Bool { !isPermanent }
}

extension StorageError {
    /// What the system answered, about `what`.
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

extension StorageError {
    package var description: String { "storage: \(code.name): \(detail)" }
}
