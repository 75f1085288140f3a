import Errand
import ErrandTestKit
import Testing

@Suite("Draining a test's queue") struct DrainTests {
    @Test("runs due jobs and the jobs that they enqueue, in other queues too, and leaves later ones")
    func runsAll() async throws {
        let sent = Log()
        let handler = LetterHandler { letter, context in
            sent.add(letter.to)
            if letter.to == "first" {
                let queue = Queue(database: context.database)
                try await queue.enqueue(Letter(to: "next"), .queue("elsewhere"))
                try await queue.enqueue(Letter(to: "tomorrow"), .after(.seconds(86_400)))
            }
            return .done
        }
        try await withTestQueue([handler]) { test in
            try await test.queue.enqueue(Letter(to: "first"))
            let drained = try await test.drain()
            #expect(drained.outcomes == [.succeeded, .succeeded])
            #expect(drained.attempts.map(\.queue) == ["mail", "elsewhere"])
            #expect(try drained.left.map { try $0.payload(as: Letter.self).to } == ["tomorrow"])
            #expect(sent.all == ["first", "next"])
            try await test.advance(by: .seconds(86_400))
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(try await test.drain().attempts.isEmpty)
        }
    }

    @Test("a retry waits for its delay, and runs to the end if time may pass")
    func retries() async throws {
        let handler = LetterHandler { _, context in throw Refused() }
        try await withTestQueue([handler]) { test in
            let id = try await test.queue.enqueue(Letter(to: "nobody")).id
            let drained = try await test.drain(within: .seconds(3600))
            #expect(drained.outcomes == [.retried, .retried, .failed])
            #expect(drained.attempts.map(\.number) == [1, 2, 3])
            #expect(drained.attempts.map(\.reason) == ["refused", "refused", "refused"])
            #expect(drained.left.isEmpty)
            let job = try await test.job(id)
            #expect(job.state == "failed")
            #expect(job.errors == ["refused", "refused", "refused"])
        }
    }

    @Test("the end of a wait for a signal is a due time too")
    func waits() async throws {
        let handler = LetterHandler { _, context in
            context.signal == nil ? .wait(for: "decision", until: context.createdAt + .seconds(3600)) : .done
        }
        try await withTestQueue([handler]) { test in
            try await test.queue.enqueue(Letter(to: "somebody"))
            #expect(try await test.drain(within: .seconds(3500)).outcomes == [.waiting])
            #expect(try await test.drain(within: .seconds(3700)).outcomes == [.succeeded])
        }
    }

    @Test("time that isn't enough for a retry doesn't pass")
    func tooLittleTime() async throws {
        let handler = LetterHandler { _, _ in .retry(after: .seconds(60), reason: "busy") }
        try await withTestQueue([handler]) { test in
            try await test.queue.enqueue(Letter(to: "somebody"))
            let drained = try await test.drain(within: .seconds(59))
            #expect(drained.outcomes == [.retried])
            #expect(drained.left.first?.state == "scheduled")
            #expect("\(drained)".contains("attempt 1: retried: busy"))
        }
    }

    @Test("a parked job stays while its circuit is open, and runs once it is back")
    func parks() async throws {
        let isDown = Log()
        let handler = LetterHandler { _, _ in isDown.all.isEmpty ? .unavailable("smtp") : .done }
        try await withTestQueue([handler]) { test in
            for number in 1...5 { try await test.queue.enqueue(Letter(to: "\(number)")) }
            let drained = try await test.drain()
            #expect(drained.outcomes.allSatisfy { $0 == .parked })
            #expect(drained.left.count == 5)
            isDown.add("back")
            try await test.advance(by: .seconds(60))
            #expect(try await test.drain().outcomes == Array(repeating: .succeeded, count: 5))
        }
    }

    @Test("a limit holds while it drains, and lets all of its jobs through in the end")
    func limits() async throws {
        let handler = LetterHandler { _, _ in .done }
        try await withTestQueue([handler]) { test in
            try await test.database.execute("select errand.set_limit('post', 1)")
            for number in 1...20 { try await test.queue.enqueue(Letter(to: "\(number)"), .limited(by: "post")) }
            #expect(try await test.drain().outcomes.count == 20)
        }
    }

    @Test("jobs of kinds without a handler and in paused queues stay, and are named")
    func leaves() async throws {
        try await withTestQueue([LetterHandler { _, _ in .done }]) { test in
            try await test.database.execute("select errand.enqueue('unheard_of')")
            try await test.queue.enqueue(Letter(to: "later"))
            try await test.database.execute(
                "select errand.pause_queue('mail', 'by the test', now() + interval '1 hour')")
            let drained = try await test.drain()
            #expect(drained.attempts.isEmpty)
            #expect(drained.left.map(\.kind) == ["unheard_of", "letter"])
            try await test.advance(by: .seconds(3600))
            #expect(try await test.drain().attempts.map(\.kind) == ["letter"])
        }
    }

    @Test("a handler that hangs is reported with the earlier jobs")
    func hangs() async throws {
        let handler = LetterHandler { letter, _ in
            if letter.to == "slow" { try await Task.sleep(for: .seconds(600)) }
            return .done
        }
        try await withTestQueue([handler]) { test in
            try await test.queue.enqueue(Letter(to: "quick"))
            try await test.queue.enqueue(Letter(to: "slow"))
            let error = await #expect(throws: NotDrained.self) {
                try await test.drain(limit: .seconds(2))
            }
            #expect(error?.done.outcomes.contains(.succeeded) == true)
            #expect(error?.done.left.count == 1)
        }
    }

    @Test("an attempt whose guard returns false at its completion is obsolete")
    func guards() async throws {
        let handler = LetterHandler { _, context in
            try await context.database.execute("update public.wish set holds = false")
            return .done
        }
        let schema = [
            """
            create table public.wish (holds boolean);
            insert into public.wish values (true);
            create function public.wished(payload jsonb) returns boolean language sql stable security definer
            set search_path = pg_catalog, pg_temp as $$ select holds from public.wish $$;
            select errand.put_guard('wished', 'public.wished');
            """
        ]
        try await withTestQueue([handler], schema: schema) { test in
            try await test.queue.enqueue(Letter(to: "x"), .guarded(by: "wished"))
            let drained = try await test.drain()
            #expect(drained.outcomes == [.obsolete])
            #expect(drained.attempts.first?.reason == "guard wished said no at completion")
        }
    }
}
