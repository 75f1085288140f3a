import CoreMetrics
import MetricsTestKit
import StorageKit
import Testing

@testable import ErrandStorage

@Suite("Metrics of a store") struct MeasuredStoreTests {
    @Test("each call is measured by its operation, and a failed one is counted by its error")
    func counts() async throws {
        try await withFolder { root in
            let metrics = TestMetrics()
            let folder = try FolderStore(root: root)
            let store = withMetricsFactory(metrics) { MeasuredStore(folder) }
            let key = try ObjectKey("a/b")
            try await store.put([1, 2, 3], at: key)
            #expect(try await store.get(key) == [1, 2, 3])
            #expect(try await store.size(of: key) == 3)
            #expect(try await store.keys(beginning: "", after: nil, atMost: 9) == [key])
            let error = await #expect(throws: StorageError.self) { try await store.get(ObjectKey("a/c")) }
            #expect(error?.code == .notFound)
            let writer = try await store.writer(of: ObjectKey("c"), type: .bytes)
            try await writer.write([1])
            try await writer.write([2])
            try await writer.commit()
            #expect(try await store.delete([key, ObjectKey("c")]).isEmpty)
            try await store.check()
            await store.stop()
            let counts = [
                "put": 1, "get": 2, "status": 1, "list": 1, "begin": 1, "write": 2, "commit": 1, "delete": 1,
                "check": 1,
            ]
            for (operation, count) in counts {
                let times = try metrics.expectTimer("errand_storage_seconds", [("operation", operation)]).values
                #expect(times.count == count && times.allSatisfy { $0 > 0 }, "\(operation)")
            }
            #expect(metrics.counterTotal(label: "errand_storage_errors_total") == 1)
            let missing = metrics.counterTotal(
                label: "errand_storage_errors_total", dimensions: [("operation", "get"), ("error", "not_found")])
            #expect(missing == 1)
        }
    }

    @Test("an object that a delete leaves is an error of it, though the call returns")
    func partly() async throws {
        let metrics = TestMetrics()
        let store = withMetricsFactory(metrics) { MeasuredStore(StubbornStore()) }
        let keys = try ["a", "b", "c"].map { try ObjectKey($0) }
        #expect(try await store.delete(keys).count == 2)
        let busy = metrics.counterTotal(
            label: "errand_storage_errors_total", dimensions: [("operation", "delete"), ("error", "busy")])
        #expect(busy == 2)
        #expect(try metrics.expectTimer("errand_storage_seconds", [("operation", "delete")]).values.count == 1)
    }

    @Test("without a backend nothing is counted, and the writer is the store's own")
    func none() async throws {
        try await withFolder { root in
            let folder = try FolderStore(root: root)
            let store = withMetricsFactory(NOOPMetricsHandler.instance) { MeasuredStore(folder) }
            let writer = try await store.writer(of: ObjectKey("c"), type: .bytes)
            #expect(writer is FolderWriter)
            await writer.abort()
        }
    }
}

/// Deletes the first object only.
private struct StubbornStore: ObjectStore {
    private var error: StorageError { StorageError(.busy, "later") }

    func delete(_ keys: [ObjectKey]) async throws(StorageError) -> [ObjectKey: StorageError] {
        Dictionary(uniqueKeysWithValues: keys.dropFirst().map { ($0, error) })
    }

    func put(
        _ content: ObjectContent, at key: ObjectKey, type: ContentType, if condition: PutCondition
    ) async throws(StorageError) -> Bool { throw error }
    func writer(of key: ObjectKey, type: ContentType) async throws(StorageError) -> any ObjectWriter { throw error }
    func get(_ key: ObjectKey, atMost limit: Int) async throws(StorageError) -> [UInt8] { throw error }
    func get(_ key: ObjectKey, _ range: Range<Int>) async throws(StorageError) -> [UInt8] { throw error }
    func get(_ key: ObjectKey, toFile path: String) async throws(StorageError) { throw error }
    func status(of key: ObjectKey) async throws(StorageError) -> ObjectStatus? { throw error }
    func delete(_ key: ObjectKey) async throws(StorageError) { throw error }
    func keys(
        beginning prefix: String, after: ObjectKey?, atMost count: Int
    ) async throws(StorageError) -> [ObjectKey] { throw error }
    func deleteAll(below prefix: String, atMost count: Int) async throws(StorageError) -> Int { throw error }
    func check() async throws(StorageError) { throw error }
    func stop() async {}
}
