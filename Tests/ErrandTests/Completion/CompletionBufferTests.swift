import Testing

@testable import Errand

@Suite("Completions that are to be written") struct CompletionBufferTests {
    private func completion(
        _ id: Int64, limitKey: String? = nil, workerID: Int64 = 1
    ) -> Completion {
        .succeeded(.sample(id, limitKey: limitKey, workerID: workerID))
    }

    @Test("a batch is all that has come since the last one, in its order")
    func batches() {
        var buffer = CompletionBuffer()
        #expect(buffer.take().isEmpty && buffer.writes == 0)
        for id in 1...3 { buffer.add(completion(Int64(id))) }
        let first = buffer.take()
        #expect(first.map(\.job.id) == [1, 2, 3] && buffer.writes == 1)
        buffer.add(completion(4))
        let second = buffer.take()
        #expect(second.map(\.job.id) == [4] && buffer.writes == 2)
        buffer.add(completion(5))
        #expect(buffer.jobs.map(\.id) == [5, 1, 2, 3, 4])
        #expect(buffer.written(first) == nil && buffer.writes == 1)
        #expect(buffer.jobs.map(\.id) == [5, 4])
    }

    @Test("outcomes of locked jobs are written again after 5 ms, and twice as long each time, up to 100 ms")
    func locked() {
        var buffer = CompletionBuffer()
        buffer.add(completion(1))
        let delays = (0..<6).map { _ in
            defer { buffer.resume() }
            let batch = buffer.take()
            return buffer.written(batch, except: batch)
        }
        #expect(delays.compactMap(\.self) == [5, 10, 20, 40, 80, 100].map { .milliseconds($0) })
        let first = buffer.take()
        buffer.add(completion(2))
        let second = buffer.take()
        #expect(buffer.written(first, except: first) == .milliseconds(100))
        #expect(buffer.written(second, except: second) == nil, "that is planned already")
        #expect(buffer.isEmpty && buffer.hasUnwritten(1))
        buffer.resume()
        let both = buffer.take()
        #expect(both.map(\.job.id) == [1, 2] && buffer.written(both) == nil)
        buffer.add(completion(3))
        let third = buffer.take()
        #expect(buffer.written(third, except: third) == .milliseconds(5), "short again without locked jobs")
    }

    @Test("a batch that is refused is written one by one, and the completion that is refused alone fails its job")
    func refused() {
        var buffer = CompletionBuffer()
        for id in 1...3 { buffer.add(completion(Int64(id))) }
        buffer.notWritten(buffer.take(), because: .valueRefused)
        #expect(buffer.isIsolating)
        let first = buffer.take()
        #expect(first.map(\.job.id) == [1] && buffer.written(first) == nil)
        let second = buffer.take()
        buffer.notWritten(second, because: .valueRefused)
        let failed = buffer.take()
        #expect(failed.map(\.job.id) == [2] && failed[0].outcome == .failed)
        #expect(failed[0].error == "its outcome could not be written: succeeded was refused")
        #expect(buffer.take().map(\.job.id) == [3] && !buffer.isIsolating)
    }

    @Test("a completion that is refused alone for another reason than its values is kept, and written after the others")
    func refusedForNow() {
        var buffer = CompletionBuffer()
        buffer.add(completion(1))
        let first = buffer.take()
        buffer.add(completion(2))
        buffer.notWritten(first, because: .refused)
        #expect(buffer.take().map(\.job.id) == [2])
        let again = buffer.take()
        #expect(again.map(\.job.id) == [1] && again[0].outcome == .succeeded)
    }

    @Test("a batch that could not be written for another reason is written again as it was, before later ones")
    func lost() {
        var buffer = CompletionBuffer()
        for id in 1...2 { buffer.add(completion(Int64(id))) }
        let batch = buffer.take()
        buffer.add(completion(3))
        buffer.notWritten(batch, because: .interrupted)
        #expect(buffer.writes == 0 && buffer.take().map(\.job.id) == [1, 2, 3])
    }

    @Test("limits are released behind the completions that a claim follows; without a claim the next one releases them")
    func limits() {
        var buffer = CompletionBuffer()
        let batch = [completion(1, limitKey: "a"), completion(2)]
        #expect(buffer.limitsToRelease(after: batch, isClaiming: false) == [] && buffer.hasUnreleased)
        #expect(buffer.limitsToRelease(after: [completion(3, limitKey: "b")], isClaiming: true) == ["a", "b"])
        #expect(!buffer.hasUnreleased)
        buffer.omitRelease()
        #expect(buffer.takeOmission() && !buffer.takeOmission())
    }

    @Test("a worker id has unwritten outcomes until they are all written")
    func hasUnwritten() {
        var buffer = CompletionBuffer()
        #expect(!buffer.hasUnwritten(7))
        buffer.add(completion(1, workerID: 7))
        #expect(buffer.hasUnwritten(7) && !buffer.hasUnwritten(8))
        let batch = buffer.take()
        #expect(buffer.hasUnwritten(7))
        _ = buffer.written(batch, except: batch)
        #expect(buffer.hasUnwritten(7) && !buffer.hasUnwritten(8))
    }
}
