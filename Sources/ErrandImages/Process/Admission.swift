/// Decides who may use one of a few places now: first come, first served, but never two who need a lot of memory.
struct Admission: Sendable {
    struct Visitor: Equatable, Sendable {
        let number: Int
        let needsMuchMemory: Bool
    }

    private(set) var free: Int
    private var bigOneIsIn = false
    private(set) var waiting: [Visitor] = []

    init(places: Int) { free = places }

    /// Whether the visitor may go in at once. If not, it waits, and a later call names it.
    mutating func arrive(_ visitor: Visitor) -> Bool {
        waiting.append(visitor)
        return next() == visitor
    }

    /// One has left: returns who may go in now.
    mutating func leave(_ visitor: Visitor) -> [Visitor] {
        free += 1
        if visitor.needsMuchMemory { bigOneIsIn = false }
        var admitted: [Visitor] = []
        while let visitor = next() { admitted.append(visitor) }
        return admitted
    }

    /// Takes back one that waits; false where it is in already.
    mutating func giveUp(_ number: Int) -> Bool {
        guard let index = waiting.firstIndex(where: { $0.number == number }) else { return false }
        waiting.remove(at: index)
        return true
    }

    private mutating func next() -> Visitor? {
        guard free > 0, let index = waiting.firstIndex(where: { !($0.needsMuchMemory && bigOneIsIn) }) else {
            return nil
        }
        free -= 1
        bigOneIsIn = bigOneIsIn || waiting[index].needsMuchMemory
        return waiting.remove(at: index)
    }
}
