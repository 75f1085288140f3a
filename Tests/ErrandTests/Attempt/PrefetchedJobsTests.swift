import ErrandTestKit
import Postgres
import Synchronization
import Testing

@testable import Errand

/// A job that takes no time, or a time that the test sets.
private struct Mixed: Job {
    static let kind: JobKind = "mixed"
    var waits = false
}

@Suite("Prefetched jobs") struct PrefetchedJobsTests {
    @Test("with any number of prefetched jobs, never more run than there are slots")
    func slots() async throws {
        let running = Mutex((now: 0, most: 0))
        let largest = Mutex(0)
        let handler = MixedHandler { _, _ in
            running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
            }
            await Task.yield()
            running.withLock { $0.now -= 1 }
        }
        try await withWorker([handler]) { configuration in
            configuration.queues = ["default": 3]
            configuration.onRoundTrip = { trip in largest.withLock { $0 = max($0, trip.claimed) } }
        } _: { database, queue in
            try await queue.enqueue(all: [Mixed](repeating: Mixed(), count: 1000))
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where state = 'succeeded' and attempt = 1") == 1000)
        }
        #expect(running.withLock(\.most) <= 3)
        #expect(largest.withLock(\.self) > 3)
    }

    @Test("claims of one job each get through as well, and the worker stops")
    func single() async throws {
        try await withWorker { configuration in
            configuration.batch = 1
        } _: { database, queue in
            try await queue.enqueue(all: [Noop](repeating: Noop(), count: 300))
            #expect(try await database.drains())
        }
    }

    @Test("the oldest jobs begin first, though one in ten takes long and others are handed back behind it")
    func order() async throws {
        let begun = Mutex<[Int64]>([])
        let handler = MixedHandler { job, id in
            begun.withLock { $0.append(id) }
            if job.waits { try await Task.sleep(for: .milliseconds(200)) }
        }
        try await withWorker([handler]) { database, queue in
            try await queue.enqueue(all: (0..<700).map { Mixed(waits: $0 % 10 == 9) })
            #expect(try await database.drains(within: .seconds(120)))
        }
        let starts = begun.withLock { begun in begun.enumerated().map { ($0.offset, $0.element) } }
        // A claim returns up to 500 waiting jobs. No job is passed by more than that.
        for (start, id) in starts { #expect(start - Int(id) < 550, "job \(id) began as number \(start)") }
    }

    @Test("prefetched jobs behind long jobs are released without using an attempt")
    func stalled() async throws {
        let isOpen = Mutex(false)
        let handler = MixedHandler { job, _ in
            while job.waits, !isOpen.withLock(\.self) { try await Task.sleep(for: .milliseconds(5)) }
        }
        try await withWorker([handler]) { configuration in
            configuration.queues = ["default": 2]
        } _: { database, queue in
            try await queue.enqueue(all: [Mixed](repeating: Mixed(), count: 50))
            #expect(try await database.drains())
            let slow = [Mixed](repeating: Mixed(waits: true), count: 2)
            try await queue.enqueue(all: slow + [Mixed](repeating: Mixed(), count: 40))
            // Prefetched jobs are free for other workers; the two running jobs are not.
            let isBack = "(select count(*) from errand.job where state = 'available' and attempt = 0) = 40"
            #expect(try await database.becomes(isBack))
            #expect(try await database.count("from errand.job where state = 'running'") == 2)
            isOpen.withLock { $0 = true }
            #expect(try await database.drains())
            #expect(try await database.count("from errand.history where attempt = 1") == 92)
        }
    }
}

private struct MixedHandler: JobHandler {
    let body: @Sendable (Mixed, Int64) async throws -> Void

    func run(_ job: Mixed, in context: JobContext) async throws -> Outcome {
        try await body(job, context.id)
        return .done
    }
}
