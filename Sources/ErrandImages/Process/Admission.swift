/// Decides which callers get a permit: first come, first served, but never two photos that need much memory.
struct Admission: Sendable {
    struct Permit: Equatable, Sendable {
        let number: Int
        let needsMuchMemory: Bool
    }

    private(set) var free: Int
    private var isLargeRunning = false
    private(set) var waiting: [Permit] = []

    init(permits: Int) { free = permits }

    /// Requests a permit. Returns whether it is granted at once. If not, it waits, and a later ``release(_:)`` returns
    /// it.
    mutating func request(_ permit: Permit) -> Bool {
        waiting.append(permit)
        return next() == permit
    }

    /// Releases a permit. Returns the waiting permits that are granted now.
    mutating func release(_ permit: Permit) -> [Permit] {
        free += 1
        if permit.needsMuchMemory { isLargeRunning = false }
        var admitted: [Permit] = []
        while let permit = next() { admitted.append(permit) }
        return admitted
    }

    /// Cancels a waiting permit. Returns false if it was already granted.
    mutating func cancelWait(_ number: Int) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: index)
        return true
    }

    private mutating func next() -> Permit? {
        guard free > 0, let index = waiting.firstIndex(where: { !($0.needsMuchMemory && isLargeRunning) }) else {
            return nil
        }
        free -= 1
        isLargeRunning = isLargeRunning || waiting[index].needsMuchMemory
        return waiting.remove(at: index)
    }
}
