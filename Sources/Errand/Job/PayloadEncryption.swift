import Cryptography
import Foundation
import Postgres

/// Encrypts payloads: only programs with a key read them, and nobody without one changes them unnoticed.
///
/// ```swift
/// let encryption = PayloadEncryption(try PayloadKeys(path: "/etc/shop/payload.keys"))
/// let queue = Queue(database: database, middleware: [encryption])
/// let worker = Worker(database: database, middleware: [encryption]) { SendReceiptHandler(mail: mail) }
/// ```
/// AES-256-GCM; a payload belongs to its kind, and doesn't decrypt under another one. The database has
/// `{"$enc": 1, "kid": …, "n": …, "c": …}`: guards, SQL functions, endpoints and operators see nothing else, and the
/// 256 KB of a payload are those of this text, so a payload has 192 KB. Outputs, errors, tags and keys of jobs aren't
/// encrypted.
public struct PayloadEncryption: Middleware {
    private let keys: PayloadKeys
    private let kinds: Set<JobKind>?
    private let readsPlain: Bool

    /// - Parameters:
    ///   - keys: the key that encrypts, and those that decrypt.
    ///   - kinds: those whose payloads are encrypted; nil: all.
    ///   - readsPlain: whether these kinds may also have payloads that aren't encrypted, such as those of SQL, of
    ///     schedules and of older programs. If not, such a job fails for good.
    public init(_ keys: PayloadKeys, of kinds: Set<JobKind>? = nil, readsPlain: Bool = true) {
        self.keys = keys
        self.kinds = kinds
        self.readsPlain = readsPlain
    }

    public func encode(_ payload: JSONB, of kind: JobKind) throws -> JSONB {
        guard kinds?.contains(kind) ?? true, let cipher = keys[keys.writing] else { return payload }
        let (nonce, sealed) = try cipher.seal(payload.bytes, context: Array(kind.rawValue.utf8))
        return try JSONB(encoding: EncryptedPayload(kid: keys.writing, n: Data(nonce), c: Data(sealed)))
    }

    public func decode(_ payload: JSONB, of kind: JobKind) throws -> JSONB {
        guard EncryptedPayload.isOne(payload) else {
            guard readsPlain || !(kinds?.contains(kind) ?? true) else { throw UnreadablePayload.plain(kind) }
            return payload
        }
        guard let stored = try? payload.decode(EncryptedPayload.self), stored.form == 1 else {
            throw UnreadablePayload.malformed(kind)
        }
        guard let cipher = keys[stored.kid] else { throw UnreadablePayload.unknownKey(kind, id: stored.kid) }
        let message = try cipher.open(Array(stored.c), nonce: Array(stored.n), context: Array(kind.rawValue.utf8))
        guard let message else { throw UnreadablePayload.refused(kind, id: stored.kid) }
        return JSONB(bytes: message)
    }
}

/// An encrypted payload as it is stored. The text with its tag and the nonce are base64.
struct EncryptedPayload: Codable {
    var form = 1
    let kid: String
    let n: Data
    let c: Data

    private enum CodingKeys: String, CodingKey {
        case form = "$enc"
        case kid, n, c
    }

    init(kid: String, n: Data, c: Data) {
        self.kid = kid
        self.n = n
        self.c = c
    }

    private struct Mark: Decodable {
        let isThere: Bool

        init(from decoder: any Decoder) throws {
            isThere = try decoder.container(keyedBy: CodingKeys.self).contains(.form)
        }
    }

    private static let mark = Data("\"$enc\"".utf8)
    private static let end = Array("\"$enc\": ".utf8)

    /// Whether a payload says that it is encrypted. One that doesn't is only searched, not parsed.
    static func isOne(_ payload: JSONB) -> Bool {
        Data(payload.bytes).range(of: mark) != nil && (try? payload.decode(Mark.self))?.isThere == true
    }

    /// Whether a payload has the form in which PostgreSQL writes an encrypted one, with its longest key last.
    /// Only looks at its end.
    static func isStored(_ payload: JSONB) -> Bool { payload.bytes.dropLast(2).suffix(end.count).elementsEqual(end) }
}

/// An encrypted payload that can't be read: a retry would fail again. Its text shows nothing of it.
enum UnreadablePayload: ClassifiedError, CustomStringConvertible {
    /// The worker has no encryption.
    case noKeys(JobKind)
    case unknownKey(JobKind, id: String)
    case refused(JobKind, id: String)
    case malformed(JobKind)
    case plain(JobKind)

    var isPermanent: Bool { true }

    var description: String {
        switch self {
        case .noKeys(let kind): "payload of \(kind) is encrypted: expected a worker with its keys, got one without"
        case .unknownKey(let kind, let id):
            "payload of \(kind): expected a key that this worker has, got '\(id.prefix(40))'"
        case .refused(let kind, let id):
            "payload of \(kind) can't be decrypted: expected one that key '\(id.prefix(40))' has encrypted for this kind, "
                + "got another key's, another kind's or a changed text"
        case .malformed(let kind):
            "payload of \(kind): expected {\"$enc\": 1, \"kid\", \"n\", \"c\"}, got another form"
        case .plain(let kind): "payload of \(kind): expected an encrypted one, got one that isn't"
        }
    }
}
