import Testing

@testable import Errand

@Suite("The lease keeper's rest") struct KeeperBellTests {
    private let long: Duration = .seconds(60)

    @Test("what begins to run ends a rest, also where it began just before")
    func stirs() async {
        let bell = KeeperBell()
        bell.stir()
        #expect(await bell.wait(atMost: long, resting: true).stirred)
        async let news = bell.wait(atMost: long, resting: true)
        try? await Task.sleep(for: .milliseconds(20))
        bell.stir()
        #expect(await news.stirred)
        #expect(await !bell.wait(atMost: .milliseconds(1), resting: true).stirred)
    }

    @Test("while it doesn't rest only what hurries ends its wait, and what began is told at its end")
    func hurries() async {
        let bell = KeeperBell()
        bell.stir()
        let quiet = await bell.wait(atMost: .milliseconds(1), resting: false)
        #expect(quiet.stirred && !quiet.hurries)
        bell.hurry()
        #expect(await bell.wait(atMost: long, resting: false).hurries)
    }
}
