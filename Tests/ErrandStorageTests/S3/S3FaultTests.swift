import Foundation
import StorageKit
import Synchronization
import Testing

@testable import ErrandStorage
@testable import Outbound

@Suite("A bucket when things go wrong") struct S3FaultTests {
    private let key: ObjectKey

    init() throws { key = try ObjectKey("photos/1.jpg") }

    @Test("a response that is lost after the server has stored costs nothing: one object, the right one")
    func lostResponse() async throws {
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { $0.number == 1 ? .loseResponse : .none }
        try await withBucket(try .moto(), through: proxy) { store in
            let isNew = try await store.putOnce([1, 2, 3], at: key, type: .jpeg)
            #expect(!isNew, "the first one had stored it")
            #expect(try await store.get(key) == [1, 2, 3])
            #expect(try await store.keys(beginning: "", after: nil, atMost: 10) == [key])
            #expect(proxy.requests.prefix(3).map(\.method) == ["PUT", "PUT", "HEAD"])
        }
    }

    @Test("a connection that breaks in the middle of the body leaves no object, and the next try brings the whole one")
    func cutBody() async throws {
        for server in [try BucketServer.moto(), try .rclone()] {
            let first = server.isWhole ? 1 : 2
            let proxy = try FaultProxy(to: server.port) { $0.number == first ? .cutBody : .none }
            try await withBucket(server, through: proxy) { store in
                let bytes = [UInt8](repeating: 7, count: 400_000)
                try await store.putOnce(bytes, at: key, type: .jpeg)
                #expect(try await store.get(key) == bytes)
                #expect(proxy.requests.filter { $0.method == "PUT" }.count == 2)
            }
        }
    }

    @Test(
        "what the server says is told apart: to be tried again, to be fixed, ours",
        arguments: [
            (500, "InternalError", OutboundFault.transient), (503, "SlowDown", .transient),
            (503, "", .transient), (429, "", .transient), (400, "RequestTimeout", .transient),
            (409, "ConditionalRequestConflict", .transient), (502, "", .transient), (504, "", .transient),
            (403, "AccessDenied", .configuration), (403, "SignatureDoesNotMatch", .configuration),
            (403, "InvalidAccessKeyId", .configuration), (403, "RequestTimeTooSkewed", .configuration),
            (404, "NoSuchBucket", .configuration), (301, "PermanentRedirect", .configuration),
            (400, "EntityTooLarge", .ours), (400, "InvalidDigest", .ours), (400, "BadDigest", .ours),
            (405, "MethodNotAllowed", .ours),
        ])
    func classes(status: Int, code: String, fault: OutboundFault) async throws {
        let proxy = try FaultProxy(to: 1) { _ in .respond(status, code: code) }
        try await withBucket(try .moto(), through: proxy) { store in
            let error = await #expect(throws: StorageError.self) { try await store.put([1], at: key) }
            #expect(error?.fault == fault, "\(error as Any)")
            // Only a damaged request is sent again.
            #expect(proxy.requests.count == (code == "BadDigest" ? 2 : 1))
        }
    }

    @Test("a denied delete stops neither writes nor reads nor lists, and further deletes for 5 s")
    func deniedDelete() async throws {
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            ["DELETE", "POST"].contains(request.method) ? .respond(403, code: "AccessDenied") : .none
        }
        try await withBucket(try .moto(), through: proxy) { store in
            try await store.put([1], at: key)
            #expect(await code { try await store.delete(key) } == .misconfigured)
            try await store.put([2], at: key)
            #expect(try await store.get(key) == [2])
            #expect(try await store.keys(beginning: "", after: nil, atMost: 10) == [key])
            let asked = proxy.requests.count
            #expect(await code { _ = try await store.delete([key]) } == .misconfigured)
            #expect(proxy.requests.count == asked)
        }
    }

    @Test("a refusal of one key is about that key alone, if the store's marker may be read and written")
    func forbidden() async throws {
        let id = UUID()
        let isAllDenied = Mutex(false)
        let proxy = try FaultProxy(to: try BucketServer.moto().port) { request in
            let isDenied = isAllDenied.withLock(\.self) || request.path.contains("hidden")
            return isDenied ? .respond(403, code: "AccessDenied") : .none
        }
        try await withBucket(try .moto(), through: proxy, identity: StoreIdentity { id }) { store in
            let plain = try S3Store(store.client.configuration)
            #expect(try await plain.mark(as: id, replacing: false))
            let hidden = try ObjectKey("hidden/1.jpg")
            for _ in 1...2 {
                #expect(await code { try await store.put([1], at: hidden) } == .forbidden)
                #expect(await code { _ = try await store.get(hidden) } == .forbidden)
                try await store.put([1], at: key)
                #expect(try await store.get(key) == [1])
            }
            #expect(try await plain.markedID() == id, "it was not written")
            isAllDenied.withLock { $0 = true }
            #expect(await code { try await store.put([1], at: hidden) } == .misconfigured)
            #expect(await code { _ = try await store.get(hidden) } == .misconfigured)
            await plain.stop()
        }
    }

    @Test("an error in a response with status 200 is an error")
    func errorIn200() async throws {
        let proxy = try FaultProxy(to: 1) { _ in .respond(200, code: "InternalError") }
        try await withBucket(try .moto(), through: proxy, options: "&versions=unchecked") { store in
            #expect(await code { try await store.put([1], at: key) } == .busy)
            #expect(await code { _ = try await store.delete([key]) } == .busy)
        }
    }

    @Test(
        "a server that refuses connections is unreachable immediately, and one failure counts for all callers for a moment"
    )
    func refused() async throws {
        let proxy = try FaultProxy(to: try BucketServer.moto().port)
        try await withBucket(try .moto(), through: proxy) { store in
            try await store.put([1], at: key)
            proxy.stop()
            let start = ContinuousClock.now
            for _ in 0..<200 {
                #expect(await code { try await store.put([1], at: key) } == .unreachable)
            }
            #expect(ContinuousClock.now - start < .seconds(10), "200 tries to connect would take longer")
            try proxy.start()
            try await Task.sleep(for: Reachability.retryDelay(after: StorageError(.unreachable, "")))
            try await store.put([2], at: key)
            #expect(try await store.get(key) == [2])
        }
    }

    @Test("a server that doesn't respond to a connect, and an unknown name, are unreachable")
    func blackHole() async throws {
        var limits = S3Configuration.Limits()
        limits.connect = .milliseconds(300)
        // A full queue accepts no connection, and sends no error.
        let hole = try BlackHole()
        try await withBucket(try .moto(), port: hole.port, limits: limits) { store in
            let start = ContinuousClock.now
            #expect(await code { try await store.put([1], at: key) } == .unreachable)
            #expect(ContinuousClock.now - start < .seconds(8), "the limits of one put are 20 s and more")
        }
        var configuration = S3Configuration(
            bucket: "photos", host: "no-such-host.invalid", credentials: S3Credentials(accessKey: "a", secretKey: "b"))
        configuration.limits = limits
        let store = try S3Store(configuration)
        #expect(await code { try await store.put([1], at: key) } == .unreachable)
        await store.stop()
    }

    @Test("a key that no header can hold is an error that doesn't show it")
    func unfitKey() async throws {
        let location = try StorageLocation(
            url: "s3://photos?endpoint=http://127.0.0.1:1&plaintext=true",
            credentials: S3Credentials(accessKey: "access\n", secretKey: "secret", sessionToken: "token\n"))
        guard case .bucket(let configuration) = location else { preconditionFailure("the URL names a bucket") }
        let store = try S3Store(configuration)
        let error = await #expect(throws: StorageError.self) { _ = try await store.get(ObjectKey("photos/1.jpg")) }
        await store.stop()
        let text = "\(try #require(error)) \(error?.detail ?? "")"
        #expect(!text.contains("access") && !text.contains("token"), "\(text)")
    }

    @Test("a server that stalls, and one that trickles, are given up in time")
    func slow() async throws {
        var limits = S3Configuration.Limits()
        limits.idle = .milliseconds(400)
        limits.total = .seconds(1)
        for fault in [FaultProxy.Fault.stall, .trickle(5)] {
            let proxy = try FaultProxy(to: try BucketServer.moto().port) { _ in fault }
            try await withBucket(try .moto(), through: proxy, limits: limits) { store in
                let start = ContinuousClock.now
                #expect(await code { try await store.put([1], at: key) } == .timedOut)
                #expect(
                    ContinuousClock.now - start < .seconds(8),
                    "its own limits are 0.4 and 1 s, the usual ones 10 and 20")
            }
        }
    }

    @Test("TLS, and a bucket whose name is part of the host: only with a certificate that can be verified")
    func certificates() async throws {
        let server = try BucketServer.secure()
        let certificate = try #require(server.certificate)
        for (authorities, host, expected) in [
            (nil, "errand.test", StorageError.Code.unreachable), (certificate, "errand.test", nil),
            (certificate, "other.test", .unreachable),
        ] as [(String?, String, StorageError.Code?)] {
            let url =
                "s3://photos/t-\(UUID().uuidString)?endpoint=https://\(host):\(server.port)&style=virtual&conditions=head"
                + (authorities.map { "&authorities=\($0)" } ?? "")
            let credentials = S3Credentials(accessKey: server.accessKey, secretKey: server.secretKey)
            guard case .bucket(var made) = try StorageLocation(url: url, credentials: credentials) else { return }
            made.addresses = ["photos.\(host)": "127.0.0.1"]
            let store = try S3Store(made)
            #expect(await code { try await store.putOnce([1], at: key, type: .jpeg) } == expected, "\(host)")
            if expected == nil { #expect(try await store.get(key) == [1]) }
            await store.stop()
        }
        let url = "s3://photos?endpoint=https://127.0.0.1:1&authorities=/nowhere.pem"
        guard
            case .bucket(let missing) = try StorageLocation(
                url: url, credentials: S3Credentials(accessKey: "a", secretKey: "b"))
        else { return }
        #expect(throws: StorageError.self) { try S3Store(missing) }
    }
}
