import Synchronization
import Testing
import Waiting

@Suite("Tasks that wait for a value") struct WaitersTests {
    @Test("a value that comes before its task has gone to sleep is there when it does, once")
    func early() async {
        let waiters = Mutex(Waiters<String>())
        let id = waiters.withLock { $0.add() }
        let other = waiters.withLock { $0.add() }
        #expect(id != other)
        #expect(waiters.withLock { $0.wake(id, with: "early") } == nil)
        let value = await withCheckedContinuation { continuation in
            let early = waiters.withLock { $0.sleep(id, as: continuation) }
            if let early { continuation.resume(returning: early) }
        }
        #expect(value == "early")
    }

    @Test("a task that sleeps is resumed with the value that comes")
    func late() async {
        let waiters = Mutex(Waiters<String>())
        let id = waiters.withLock { $0.add() }
        let value = await withCheckedContinuation { continuation in
            #expect(waiters.withLock { $0.sleep(id, as: continuation) } == nil)
            waiters.withLock { $0.wake(id, with: "late") }?.resume(returning: "late")
        }
        #expect(value == "late")
    }
}
