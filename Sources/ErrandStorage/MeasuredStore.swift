import Metrics

/// A store that counts its calls: how long each took, and which failed.
///
/// ```swift
/// let store = MeasuredStore(try S3Store(configuration))
/// ```
/// The metrics are `errand_storage_seconds`, by operation, and `errand_storage_errors_total`, by operation and error.
/// Without a backend of swift-metrics nothing is counted. No label has a key or an address.
public struct MeasuredStore: ObjectStore {
    private let base: any ObjectStore
    private let metrics: StorageMetrics?

    /// - Parameter base: the store that does the work. Calls that it refuses count as errors of it.
    public init(_ base: any ObjectStore) {
        self.base = base
        metrics = StorageMetrics()
    }

    public func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool {
        try await measure("put") { () async throws(StorageError) in
            try await base.put(content, at: key, type: type, if: condition)
        }
    }

    public func writer(of key: ObjectKey, type: ContentType) async throws(StorageError) -> any ObjectWriter {
        let writer = try await measure("begin") { () async throws(StorageError) in
            try await base.writer(of: key, type: type)
        }
        return metrics.map { MeasuredWriter(base: writer, metrics: $0) } ?? writer
    }

    public func get(_ key: ObjectKey, atMost limit: Int) async throws(StorageError) -> [UInt8] {
        try await measure("get") { () async throws(StorageError) in try await base.get(key, atMost: limit) }
    }

    public func get(_ key: ObjectKey, _ range: Range<Int>) async throws(StorageError) -> [UInt8] {
        try await measure("get") { () async throws(StorageError) in try await base.get(key, range) }
    }

    public func get(_ key: ObjectKey, toFile path: String) async throws(StorageError) {
        try await measure("get") { () async throws(StorageError) in try await base.get(key, toFile: path) }
    }

    public func status(of key: ObjectKey) async throws(StorageError) -> ObjectStatus? {
        try await measure("status") { () async throws(StorageError) in try await base.status(of: key) }
    }

    public func delete(_ key: ObjectKey) async throws(StorageError) {
        try await measure("delete") { () async throws(StorageError) in try await base.delete(key) }
    }

    public func delete(_ keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError] {
        let failures = try await measure("delete") { () async throws(StorageError) in try await base.delete(keys) }
        for error in failures.values { metrics?.failed("delete", with: error) }
        return failures
    }

    public func keys(
        beginning prefix: String, after: ObjectKey?, atMost count: Int
    ) async throws(StorageError) -> [ObjectKey] {
        try await measure("list") { () async throws(StorageError) in
            try await base.keys(beginning: prefix, after: after, atMost: count)
        }
    }

    public func deleteAll(below prefix: String, atMost count: Int) async throws(StorageError) -> Int {
        try await measure("delete_all") { () async throws(StorageError) in
            try await base.deleteAll(below: prefix, atMost: count)
        }
    }

    public func presignedURL(of key: ObjectKey, for span: Duration) throws(StorageError) -> String {
        try base.presignedURL(of: key, for: span)
    }

    public func check() async throws(StorageError) {
        try await measure("check") { () async throws(StorageError) in try await base.check() }
    }

    public func stop() async { await base.stop() }

    private func measure<T: Sendable>(
        _ operation: String, _ body: () async throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        guard let metrics else { return try await body() }
        return try await metrics.measure(operation, body)
    }
}

/// A writer whose pieces and commit are counted.
private struct MeasuredWriter: ObjectWriter {
    let base: any ObjectWriter
    let metrics: StorageMetrics

    func write(_ bytes: [UInt8]) async throws(StorageError) {
        try await metrics.measure("write") { () async throws(StorageError) in try await base.write(bytes) }
    }

    func commit() async throws(StorageError) {
        try await metrics.measure("commit") { () async throws(StorageError) in try await base.commit() }
    }

    func abort() async { await base.abort() }
}

/// The metrics of a store. They are described in `docs/metrics.md`. Handles are looked up each time: a call to a store
/// takes a thousand times as long.
private struct StorageMetrics: Sendable {
    private let factory: any MetricsFactory

    /// Nil if the program bootstrapped no metrics before it made the store.
    init?(factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        self.factory = factory
    }

    func measure<T: Sendable>(
        _ operation: String, _ body: () async throws(StorageError) -> T
    ) async throws(StorageError) -> T {
        let start = ContinuousClock.now
        defer {
            Timer(label: "errand_storage_seconds", dimensions: [("operation", operation)], factory: factory)
                .record(duration: .now - start)
        }
        do {
            return try await body()
        } catch {
            failed(operation, with: error)
            throw error
        }
    }

    func failed(_ operation: String, with error: StorageError) {
        Counter(
            label: "errand_storage_errors_total",
            dimensions: [("operation", operation), ("error", error.code.label)], factory: factory
        ).increment()
    }
}

extension StorageError.Code {
    /// The code as the value of a label: `not_found`.
    var label: String { name.replacing(" ", with: "_") }
}
