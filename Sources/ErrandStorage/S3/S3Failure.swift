/// An error of an S3 server, and its class.
struct S3Failure: Sendable {
    let status: Int
    /// The server's error code, such as `SlowDown`; empty if it sent none, as for a HEAD.
    let code: String
    let message: String

    init(status: Int, body: [UInt8]) {
        self.status = status
        let response = XMLElement(document: body)
        let error = response?.name == "Error" ? response : response?["Error"]
        code = error?["Code"]?.text ?? ""
        message = error?["Message"]?.text ?? ""
    }

    init(code: String, message: String) {
        status = 200
        self.code = code
        self.message = message
    }

    /// The error about `what`, without credentials that the server has repeated.
    func error(_ what: String, hiding credentials: S3Credentials) -> StorageError {
        let said = [code, message].filter { !$0.isEmpty }.joined(separator: ", ")
        let shown = credentials.hidden(in: said).unicodeScalars.map { $0.value < 32 ? " " : Character($0) }
        let statusText = status == 200 ? "" : "\(status) "
        var error = StorageError(kind, "\(what): \(statusText)\(String(shown.prefix(300)))")
        // A HEAD's response has no code.
        error.isAboutRights = code == "AccessDenied" || code.isEmpty && status == 403
        return error
    }

    private var kind: StorageError.Code {
        if let known = Self.byCode[code] { return known }
        return switch status {
        case 301, 302, 307, 308, 401, 403: .misconfigured
        case 404: .notFound
        case 408, 409, 425, 429: .busy
        case 507: .full
        case 500...599: .busy
        // An error in a response with status 200 is transient, unless its code is known.
        case 200: .busy
        default: .rejected
        }
    }

    /// The server's code takes precedence over the status, which is less specific.
    private static let byCode: [String: StorageError.Code] = [
        "NoSuchKey": .notFound, "NoSuchVersion": .notFound,
        "NoSuchBucket": .misconfigured, "AccessDenied": .misconfigured, "SignatureDoesNotMatch": .misconfigured,
        "InvalidAccessKeyId": .misconfigured, "RequestTimeTooSkewed": .misconfigured, "ExpiredToken": .misconfigured,
        "InvalidToken": .misconfigured, "TokenRefreshRequired": .misconfigured, "InvalidSecurity": .misconfigured,
        "AuthorizationHeaderMalformed": .misconfigured, "PermanentRedirect": .misconfigured,
        "InvalidBucketName": .misconfigured, "IllegalLocationConstraintException": .misconfigured,
        "AccountProblem": .misconfigured, "AllAccessDisabled": .misconfigured, "NotSignedUp": .misconfigured,
        "RequestTimeout": .busy, "SlowDown": .busy, "ServiceUnavailable": .busy, "InternalError": .busy,
        "OperationAborted": .busy, "ConditionalRequestConflict": .busy, "TooManyRequests": .busy,
        "BadDigest": .corrupt, "XAmzContentSHA256Mismatch": .corrupt, "IncompleteBody": .interrupted,
        "EntityTooLarge": .rejected, "InvalidDigest": .rejected, "KeyTooLongError": .rejected,
        "QuotaExceeded": .full, "XMinioStorageFull": .full,
    ]
}
