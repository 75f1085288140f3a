import Errand
import ErrandStorage

/// Keeps a receipt in a folder or a bucket.
public struct ArchiveReceipt: Job {
    public static let kind: JobKind = "archive_receipt"
    public static let policy = JobPolicy(circuits: ["storage"])
    public var order: Int
    public var text: String

    public init(order: Int, text: String) {
        self.order = order
        self.text = text
    }
}

public struct ArchiveReceiptHandler: JobHandler {
    let store: any ObjectStore

    public init(store: any ObjectStore) { self.store = store }

    public func run(_ job: ArchiveReceipt, in context: JobContext) async throws -> Outcome {
        do {
            let key = try ObjectKey("receipts/\(job.order).txt")
            // Idempotent: a second attempt finds the same bytes.
            try await store.putOnce(Array(job.text.utf8), at: key, type: ContentType(rawValue: "text/plain"))
            return .done
        } catch {
            if error.isUnreachable { return .unavailable("storage", reason: "\(error)") }
            if error.isPermanent { return .fail(error) }
            throw error
        }
    }
}

/// The store at `file:///…` or `s3://…`.
public func openStore(_ url: String, credentials: S3Credentials?) throws -> any ObjectStore {
    switch try StorageLocation(url: url, credentials: credentials) {
    case .folder(let path): try FolderStore(root: path)
    case .bucket(let configuration): try S3Store(configuration)
    }
}
