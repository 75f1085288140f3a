import ErrandStorage

/// A store that calls a function of the test right after a put, or after a writer was made.
struct HookedStore: ObjectStore {
    let plain: any ObjectStore
    var afterPut: @Sendable () async throws -> Void = {}
    var afterWriter: @Sendable () async throws -> Void = {}

    func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool {
        let isStored = try await plain.put(content, at: key, type: type, if: condition)
        do { try await afterPut() } catch { throw StorageError(.failed, "\(error)") }
        return isStored
    }
    func writer(of key: ObjectKey, type: ContentType) async throws(StorageError) -> any ObjectWriter {
        let writer = try await plain.writer(of: key, type: type)
        do { try await afterWriter() } catch { throw StorageError(.failed, "\(error)") }
        return writer
    }
    func get(_ key: ObjectKey, atMost limit: Int) async throws(StorageError) -> [UInt8] {
        try await plain.get(key, atMost: limit)
    }
    func get(_ key: ObjectKey, _ range: Range<Int>) async throws(StorageError) -> [UInt8] {
        try await plain.get(key, range)
    }
    func get(_ key: ObjectKey, toFile path: String) async throws(StorageError) {
        try await plain.get(key, toFile: path)
    }
    func status(of key: ObjectKey) async throws(StorageError) -> ObjectStatus? { try await plain.status(of: key) }
    func delete(_ key: ObjectKey) async throws(StorageError) { try await plain.delete(key) }
    func delete(_ keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError] {
        try await plain.delete(keys)
    }
    func keys(beginning prefix: String, after: ObjectKey?, atMost count: Int) async throws(StorageError) -> [ObjectKey]
    {
        try await plain.keys(beginning: prefix, after: after, atMost: count)
    }
    func deleteAll(below prefix: String, atMost count: Int) async throws(StorageError) -> Int {
        try await plain.deleteAll(below: prefix, atMost: count)
    }
    func check() async throws(StorageError) { try await plain.check() }
    func stop() async { await plain.stop() }
}
