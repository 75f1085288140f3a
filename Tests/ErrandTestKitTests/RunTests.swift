import Errand
import ErrandTestKit
import Logging
import Testing

@Suite("Running one handler") struct RunTests {
    @Test("its outcome, report, progress and log can be read")
    func replies() async throws {
        let handler = LetterHandler { letter, context in
            context.logger.info("sending", metadata: ["to": "\(letter.to)"])
            context.progress(0.5, "half way")
            try context.output(["pages": 2])
            return context.attempt == context.maxAttempts ? .fail(reason: "\(context.tags)") : .done
        }
        try await withTestQueue { test in
            let run = try await test.run(handler, Letter(to: "anna"), .tags("a", "b"))
            #expect(run.outcome == .done)
            #expect(run.attemptOutcome == .succeeded)
            #expect(run.progress == 0.5)
            #expect(run.message == "half way")
            #expect(try run.output?.decode([String: Int].self) == ["pages": 2])
            #expect(run.log.count == 1)
            #expect(run.log.first?.hasSuffix("info sending to=anna") == true)
            let job = try await test.job(run.id)
            #expect(job.state == "succeeded")
            #expect(job.queue == "mail")
            #expect(job.log == run.log)
            let last = try await test.run(handler, Letter(to: "anna"), .tags("a", "b"), attempt: 3)
            #expect(last.outcome == .fail(reason: #"["a", "b"]"#))
            #expect(last.attemptOutcome == .failed)
        }
    }

    @Test("its error can be read, with the resulting outcome")
    func throwsErrors() async throws {
        try await withTestQueue { test in
            let transient = try await test.run(LetterHandler { _, _ in throw Refused() }, Letter(to: "x"))
            #expect(transient.error is Refused)
            #expect(transient.outcome == nil)
            #expect(transient.attemptOutcome == .retried)
            #expect(try await test.job(transient.id).state == "scheduled")
            let permanent = try await test.run(
                LetterHandler { _, _ in throw Refused(isPermanent: true) }, Letter(to: "x"))
            #expect(permanent.attemptOutcome == .failed)
            #expect(permanent.reason == "refused")
            let down = try await test.run(
                LetterHandler { _, _ in throw Unavailable("smtp", reason: "no route") }, Letter(to: "x"))
            #expect(down.attemptOutcome == .parked)
        }
    }

    @Test("its transaction commits with the job's completion, and rolls back if it throws")
    func commits() async throws {
        let handler = LetterHandler { letter, context in
            try await context.transaction { transaction in
                try await transaction.execute(Statement("insert into public.sent values ($1)", [letter.to]))
                if letter.to == "nobody" { throw Refused() }
                return try .done(["sent": true])
            }
        }
        try await withTestQueue(schema: ["create table public.sent (name text)"]) { test in
            let good = try await test.run(handler, Letter(to: "anna"))
            #expect(good.attemptOutcome == .succeeded)
            #expect(try await test.job(good.id).output?.decode([String: Bool].self) == ["sent": true])
            let bad = try await test.run(handler, Letter(to: "nobody"))
            #expect(bad.attemptOutcome == .retried)
            let sent = try await test.database.query("select name from public.sent").column(0, as: String.self)
            #expect(sent == ["anna"])
        }
    }

    @Test("it is stopped at its deadline, or from the start, and knows why", arguments: [Interruption.shutdown, nil])
    func interrupts(interruption: Interruption?) async throws {
        let seen = Log()
        let handler = LetterHandler { _, context in
            do {
                try await Task.sleep(for: .seconds(60))
            } catch {
                seen.add(context.interruption?.rawValue ?? "nothing")
                throw error
            }
            return .done
        }
        try await withTestQueue { test in
            let run = try await test.run(
                handler, Letter(to: "x"), deadline: .milliseconds(30), interruptedBy: interruption)
            #expect(run.attemptOutcome == (interruption == nil ? .retried : .released))
            #expect(seen.all == [interruption?.rawValue ?? "deadline"])
        }
    }

    @Test("an attempt whose job was cancelled or lost changes nothing")
    func refused() async throws {
        let handler = LetterHandler { _, _ in .done }
        try await withTestQueue { test in
            let cancelled = try await test.run(handler, Letter(to: "x"), interruptedBy: .cancelled)
            #expect(cancelled.isRefused)
            #expect(try await test.job(cancelled.id).state == "cancelled")
            let lost = try await test.run(handler, Letter(to: "x"), interruptedBy: .leaseLost)
            #expect(lost.isRefused)
            #expect(try await test.job(lost.id).state == "available")
        }
    }
}
