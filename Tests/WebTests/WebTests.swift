import CoreMetrics
import ErrandTestKit
import Foundation
import Logging
import Postgres
import Testing

@testable import Web

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("What a process serves over HTTP") struct WebTests {
    @Test("a process that runs is alive, also while its database is away")
    func alive() async throws {
        try await withWeb(checks: [ReadinessCheck("database") { throw NotReady("away") }]) { port, _, _ in
            let (alive, ready) = (try await get(port, "healthz"), try await get(port, "readyz"))
            #expect(alive == Response(status: 200, text: "ok\n"))
            #expect(ready == Response(status: 503, text: "failed database: away\n"))
            #expect(try await get(port, "else").status == 404)
        }
    }

    @Test("a scrape has the samples of the process and of the queue, each line as Prometheus reads it")
    func metrics() async throws {
        try await withWeb { port, database, registry in
            try await database.execute("select errand.enqueue('noop', queue => 'photos')")
            Counter(label: "errand_worker_wake_ups_total", factory: registry).increment(by: 3)
            Timer(label: "errand_worker_claim_seconds", factory: registry).recordMilliseconds(4)
            let page = try await get(port, "metrics")
            #expect(page.status == 200)
            let lines = page.text.split(separator: "\n").map(String.init)
            #expect(lines.contains("errand_status_up 1"))
            #expect(lines.contains("errand_worker_wake_ups_total 3"))
            #expect(lines.contains { $0.hasPrefix("process_resident_memory_bytes ") })
            #expect(lines.contains { $0.hasPrefix("errand_schema_version ") })
            #expect(lines.contains(#"errand_jobs{queue="photos",state="available"} 1"#))
            let sample =
                /[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\.)*",?)*\})? (-?[0-9.e+-]+|[+-]Inf|NaN)/
            let type = /# TYPE [a-zA-Z_:][a-zA-Z0-9_:]* (counter|gauge|histogram|summary)/
            let help = /# HELP [a-zA-Z_:][a-zA-Z0-9_:]* [^\n]+/
            for line in lines {
                let isFit = line.wholeMatch(of: sample) != nil || line.wholeMatch(of: type) != nil
                #expect(isFit || line.wholeMatch(of: help) != nil, "\(line)")
            }
            let types = lines.filter { $0.hasPrefix("#") }
            #expect(Set(types).count == types.count)
            #expect(lines.contains(#"errand_build_info{version="1"} 1"#))
            let undescribed = lines.filter { $0.hasSuffix(" \(MetricHelp["of a handler"])") }
            #expect(undescribed == [], "they have no entry in MetricHelp")
        }
    }

    @Test("a scrape without a database has the process's own metrics")
    func withoutDatabase() async throws {
        try await withWeb { port, database, _ in
            await database.close()
            let page = try await get(port, "metrics")
            #expect(page.status == 200 && page.text.contains("errand_status_up 0\n"))
            #expect(page.text.contains("process_cpu_seconds_total "))
        }
    }

    @Test("the queue's samples are read and written, by `make faults` in at most 60 ms")
    func fast() async throws {
        try await withTestDatabase { database, _ in
            for queue in 0..<20 {
                try await database.execute(Statement("select errand.enqueue('noop', queue => $1)", ["queue\(queue)"]))
            }
            try await database.execute("select errand_internal.update_statistics()")
            let samples = StatusSamples(database: database, logger: Logger(label: "test"))
            var times: [Duration] = []
            for _ in 0..<(Hardness.isFull ? 20 : 2) {
                let start = ContinuousClock.now
                var page = MetricPage()
                for sample in try #require(await samples.read()) {
                    page.add(sample.name, sample.type, sample.labels, sample.value)
                }
                ProcessSamples.write(to: &page, start: .now)
                #expect(page.text.contains("queue19"))
                times.append(.now - start)
            }
            #expect(times.sorted()[0] <= .milliseconds(60) || !Hardness.isFull, "\(times.sorted())")
        }
    }

    @Test("of several databases each has its samples with its name, and one that hangs costs 5 s and shows as down")
    func cells() async throws {
        try await withTestDatabase { database, configuration in
            try await database.execute("select errand.enqueue('noop')")
            let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            // Its statements wait for a connection, which another holds.
            let hanging = Database(
                configuration: configuration, maximumConnections: 1, waitLimit: .seconds(60), logger: quiet)
            let web = Web(
                address: .init(host: "127.0.0.1", port: 0), version: "1",
                queues: [("db0/q", database), ("db1/q", hanging)], registry: MetricRegistry(), checks: [],
                logger: quiet)
            try await hanging.withConnection { _ in
                let start = ContinuousClock.now
                let page = await web.metrics()
                #expect(ContinuousClock.now - start < .seconds(30))
                #expect(page.contains("errand_status_up{cell=\"db0/q\"} 1\nerrand_status_up{cell=\"db1/q\"} 0\n"))
                let samples = page.split(separator: "\n").filter {
                    $0.hasPrefix("errand_") && !$0.contains("build_info")
                }
                #expect(samples.contains { $0.hasPrefix("errand_jobs{queue=\"default\"") })
                #expect(samples.allSatisfy { $0.contains("cell=\"db") })
            }
            await hanging.close()
        }
    }

    @Test("one of many workers leaves the queue's samples to others")
    func ownSamples() async throws {
        try await withWeb(servesQueue: false) { port, _, registry in
            Counter(label: "errand_worker_wake_ups_total", factory: registry).increment()
            let page = try await get(port, "metrics").text
            #expect(page.contains("errand_worker_wake_ups_total 1\n") && page.contains("process_cpu_seconds_total "))
            #expect(!page.contains("errand_status_up") && !page.contains("errand_jobs"))
        }
    }

    @Test("a peer that never ends its request doesn't hold up the end")
    func halfRequest() async throws {
        try await withWeb { port, _, _ in
            let peer = try connect(port)
            defer { close(peer) }
            let request = Array("GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n".utf8)
            #expect(write(peer, request, request.count) == request.count)
            // The request still runs when `withWeb` stops the service.
            #expect(try await get(port, "healthz").status == 200)
        }
    }

    @Test("a probe gets a response while others hold 450 connections, idle or in the middle of a request")
    func blocked() async throws {
        try await withWeb { port, _, _ in
            var peers: [Int32] = []
            defer { peers.forEach { close($0) } }
            let half = Array("GET /healthz HTTP/1.1\r\nHost:".utf8)
            for index in 0..<450 {
                let peer = try connect(port)
                peers.append(peer)
                if index.isMultiple(of: 2) { #expect(write(peer, half, half.count) == half.count) }
            }
            let start = ContinuousClock.now
            #expect(try await get(port, "healthz").status == 200)
            #expect(ContinuousClock.now - start < .seconds(15))
        }
    }

    @Test("at a loopback address a foreign name that leads here gets no state and no metrics")
    func rebinding() async throws {
        try await withWeb { port, _, _ in
            for path in ["readyz", "metrics"] {
                for (host, status) in [
                    ("evil.example", 421), ("127.0.0.1.evil.example:\(port)", 421), ("localhost:\(port)", 200),
                    ("[::1]:\(port)", 200), ("127.1.2.3", 200),
                ] {
                    let got = try await ask(port, "GET /\(path) HTTP/1.1", "Host: \(host)")
                    #expect(got == status, "\(path) \(host)")
                }
            }
        }
        #expect(Web.Address(host: "0.0.0.0", port: 80).serves("errand.internal"))
    }

    @Test("HEAD has the status of GET")
    func head() async throws {
        try await withWeb(checks: [ReadinessCheck("database") { throw NotReady("away") }]) { port, _, _ in
            for (path, status) in [("healthz", 200), ("readyz", 503), ("metrics", 200), ("else", 404)] {
                let got = try await ask(port, "HEAD /\(path) HTTP/1.1", "Host: localhost")
                #expect(got == status, "\(path)")
            }
        }
    }

    @Test("a request without a host, or with an end that nobody knows, is refused with 400, and HTTP/1.0 needs no host")
    func malformedRequests() async throws {
        try await withWeb { port, _, _ in
            let coded = ["xchunked", "gzip", "chunked, identity"].map {
                (["POST /healthz HTTP/1.1", "Host: localhost", "Transfer-Encoding: \($0)"], 400)
            }
            for (lines, status) in coded + [
                (["GET /healthz HTTP/1.1"], 400),
                (["GET /healthz HTTP/1.1", "Host: localhost", "Host: evil.example"], 400),
                (["GET /readyz HTTP/1.0"], 200),
            ] {
                let got = try await ask(port, lines)
                #expect(got == status, "\(lines)")
            }
        }
    }

    @Test("an address that is taken is an error, not a wait")
    func taken() async throws {
        try await withWeb { port, database, registry in
            let second = Web(
                address: .init(host: "127.0.0.1", port: port), version: "1", queues: [(nil, database)],
                registry: registry,
                checks: [], logger: Logger(label: "test"))
            let error = await #expect(throws: ListenError.self) { try await second.run() }
            #expect(error?.description == "Address already in use")
        }
    }

    @Test(
        "an address is a host and a port",
        arguments: [
            ("127.0.0.1:8080", "127.0.0.1", 8080), ("[::1]:0", "::1", 0), ("0.0.0.0:65535", "0.0.0.0", 65535),
            ("web.internal:80", "web.internal", 80),
        ])
    func address(text: String, host: String, port: Int) throws {
        let address = try #require(Web.Address(text))
        #expect(address == Web.Address(host: host, port: port))
        #expect(address.description == text)
    }

    @Test(
        "what isn't one is refused",
        arguments: ["", "8080", ":8080", "host", "host:", "host:65536", "::1:80", "host:-1"])
    func malformed(text: String) {
        #expect(Web.Address(text) == nil)
    }
}

/// Runs a web service on a free port over its own database while `body` runs. The service must then stop at once.
private func withWeb(
    checks: [ReadinessCheck] = [], servesQueue: Bool = true,
    _ body: @Sendable (_ port: Int, Database, MetricRegistry) async throws -> Void
) async throws {
    try await withTestDatabase { database, configuration in
        let registry = MetricRegistry()
        let (ports, listening) = AsyncStream.makeStream(of: Int.self)
        let own = Database(configuration: configuration, maximumConnections: 2, logger: Logger(label: "test"))
        let web = Web(
            address: .init(host: "127.0.0.1", port: 0), version: "1", queues: servesQueue ? [(nil, own)] : [],
            registry: registry, checks: checks, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onListening: { listening.yield($0) })
        let serving = Task { try await web.run() }
        let port = try #require(await ports.first { _ in true })
        do {
            try await body(port, own, registry)
        } catch {
            serving.cancel()
            await own.close()
            throw error
        }
        // The client keeps the last connection alive. It must not delay the stop.
        let start = ContinuousClock.now
        serving.cancel()
        _ = try? await serving.value
        #expect(ContinuousClock.now - start < .seconds(20))
        await own.close()
    }
}

private struct Response: Equatable {
    let status: Int
    let text: String
}

private func get(_ port: Int, _ path: String) async throws -> Response {
    let url = try #require(URL(string: "http://127.0.0.1:\(port)/\(path)"))
    let (data, response) = try await URLSession.shared.data(from: url)
    return Response(
        status: (response as? HTTPURLResponse)?.statusCode ?? 0, text: String(decoding: data, as: UTF8.self))
}

/// Sends a request as it is, and returns the status of the response; 0 without one within 30 s.
private func ask(_ port: Int, _ lines: String...) async throws -> Int { try await ask(port, lines) }

private func ask(_ port: Int, _ lines: [String]) async throws -> Int {
    let peer = try connect(port)
    defer { close(peer) }
    var limit = timeval(tv_sec: 30, tv_usec: 0)
    setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let request = Array((lines + ["Connection: close", "", ""]).joined(separator: "\r\n").utf8)
    try #require(write(peer, request, request.count) == request.count)
    // The status line begins with `HTTP/1.1 200`. The server may need the thread that would wait for it here.
    return await withCheckedContinuation { status in
        Thread.detachNewThread {
            var reply = [UInt8](repeating: 0, count: 12)
            let isWhole = recv(peer, &reply, reply.count, Int32(MSG_WAITALL)) == reply.count
            status.resume(returning: isWhole ? Int(String(decoding: reply.suffix(3), as: UTF8.self)) ?? 0 : 0)
        }
    }
}

private func connect(_ port: Int) throws -> Int32 {
    let peer = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = UInt16(port).bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(peer, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    try #require(code == 0)
    return peer
}
