import Testing

@testable import Errand

@Suite("Prefetching")
struct PrefetchTests {
    @Test("nothing is prefetched before an attempt has ended, nor after some were found stuck")
    func unknown() {
        var ahead = Prefetch()
        #expect(ahead.count(slots: 10, atMost: 400) == 0)
        ahead.completed(1, tookTogether: .microseconds(5))
        #expect(ahead.count(slots: 10, atMost: 400) == 400)
        ahead.stalled()
        #expect(ahead.count(slots: 10, atMost: 400) == 0)
    }

    @Test(
        "as many wait as begin within 20 ms",
        arguments: [(1, 200), (3, 60), (10, 20), (19, 10), (20, 10), (21, 0), (1000, 0)])
    func moment(milliseconds: Int, count: Int) {
        var ahead = Prefetch()
        ahead.completed(1, tookTogether: .milliseconds(milliseconds))
        #expect(ahead.count(slots: 10, atMost: 1000) == count)
    }

    @Test("one attempt among a hundred that was held up for 10 ms changes nothing")
    func heldUp() {
        var ahead = Prefetch()
        ahead.completed(100, tookTogether: .microseconds(99 * 5 + 10_000))
        #expect(ahead.count(slots: 10, atMost: 400) == 400)
        ahead.completed(0, tookTogether: .zero)
        #expect(ahead.count(slots: 10, atMost: 400) == 400)
    }

    @Test("a slow attempt counts for some dozens of groups")
    func memory() {
        var ahead = Prefetch()
        ahead.completed(1, tookTogether: .seconds(60))
        var groups = 0
        while ahead.count(slots: 10, atMost: 400) == 0 {
            ahead.completed(1, tookTogether: .microseconds(5))
            groups += 1
        }
        #expect((50...70).contains(groups))
    }

    @Test("of large payloads no more wait than fit into 16 MiB, until dozens of groups had small ones")
    func bytes() {
        var ahead = Prefetch()
        ahead.completed(1, tookTogether: .microseconds(5))
        ahead.claimed(10, bytes: 10 << 20)
        #expect(ahead.count(slots: 10, atMost: 400) == 16)
        ahead.claimed(1, bytes: 100)
        #expect(ahead.count(slots: 10, atMost: 400) == 18)
        for _ in 1...40 { ahead.claimed(100, bytes: 10_000) }
        #expect(ahead.count(slots: 10, atMost: 400) == 400)
    }

    @Test(
        "many queues together prefetch no more than sixteen do",
        arguments: [(0, 2000), (30_500, 1_500), (33_000, 0)])
    func manyQueues(heldByOthers: Int, most: Int) {
        #expect(Prefetch.most(batch: 500, heldByOthers: heldByOthers) == most)
    }
}
