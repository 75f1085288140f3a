import Errand
import ErrandTestKit
import Testing

@Suite("Expecting enqueued jobs") struct ExpectTests {
    @Test("a job is found by its payload and by the options that are named")
    func finds() async throws {
        try await withTestQueue([LetterHandler { _, _ in .done }]) { test in
            try await test.queue.enqueue(
                Letter(to: "anna"), .after(.seconds(60)), .unique("anna"), .tags("a"), .maxAttempts(7))
            let job = try await test.expectEnqueued(
                Letter(to: "anna"), .after(.seconds(60)), .unique("anna"), .tags("a"), .maxAttempts(7), .queue("mail"),
                .priority(3))
            #expect(job.state == "scheduled")
            try await test.expectEnqueued(Letter.self) { $0.to.hasPrefix("a") }
            try await test.expectNotEnqueued(Letter.self) { $0.to == "bert" }
            try await test.drain(within: .seconds(60))
            #expect(try await test.expectEnqueued(Letter(to: "anna")).state == "succeeded", "ended ones are found too")
        }
    }

    @Test("a failed expectation reports the actual jobs")
    func tells() async throws {
        try await withTestQueue([LetterHandler { _, _ in .done }]) { test in
            let nothing = await #expect(throws: UnmetExpectation.self) {
                try await test.expectEnqueued(Letter(to: "anna"))
            }
            #expect(
                nothing?.description == #"""
                    expected one job letter {"to":"anna"}
                    there is no job at all
                    """#)
            try await test.queue.enqueue(Letter(to: "bert"), .queue("slow"))
            let other = await #expect(throws: UnmetExpectation.self) {
                try await test.expectEnqueued(Letter(to: "anna"))
            }
            #expect(
                other?.description == #"""
                    expected one job letter {"to":"anna"}
                    there is:
                        job 1 letter {"to": "bert"}: available in queue slow
                    """#)
            let options = await #expect(throws: UnmetExpectation.self) {
                try await test.expectEnqueued(Letter(to: "bert"), .queue("mail"), .after(.seconds(5)))
            }
            #expect(
                options?.description == #"""
                    expected one job letter {"to":"bert"} with these options, got queue: expected mail, got slow; after: \#
                    expected 5.0 seconds, got 0.0 seconds
                    there is:
                        job 1 letter {"to": "bert"}: available in queue slow
                    """#)
            try await test.queue.enqueue(Letter(to: "bert"))
            await #expect(throws: UnmetExpectation.self, "twice is not once") {
                try await test.expectEnqueued(Letter(to: "bert"))
            }
            await #expect(throws: UnmetExpectation.self) { try await test.expectEnqueued(Letter.self, count: 3) }
            await #expect(throws: UnmetExpectation.self) { try await test.expectNotEnqueued(Letter.self) }
            await #expect(throws: UnmetExpectation.self) { try await test.job(4711) }
        }
    }
}
