import Glibc

/// What went wrong between us and an object store.
package struct StorageError: Error, Sendable {
    /// What kind of failure it was. More may come: compare, and have a default.
    package struct Code: Hashable, Sendable {
        let name: String
        /// There is no such object.
        package static let notFound = Code(name: "not found")
        /// The key is not of the form that keys have.
        package static let badKey = Code(name: "bad key")
        /// The store has no room left.
        package static let full = Code(name: "full")
        /// We may not do that there.
        package static let denied = Code(name: "denied")
        /// Anything else: the same call may succeed later.
        package static let failed = Code(name: "failed")
    }

    package let code: Code
    package let detail: String

    package init(_ code: Code, _ detail: String) {
        self.code = code
        self.detail = detail
    }

    /// Whether trying the same again is of no use.
    package var isPermanent: Bool { [.notFound, .badKey].contains(code) }

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
            case EACCES, EPERM, EROFS, ELOOP: .denied
            default: .failed
            }
        self.init(code, "\(what): \(String(cString: strerror(number)))")
    }
}

extension StorageError: CustomStringConvertible {
    package var description: String { "storage: \(code.name): \(detail)" }
}
