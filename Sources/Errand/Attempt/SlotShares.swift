/// Shares the slots of one queue among workers of several databases in one process.
///
/// A pure decision: ``SharedSlots`` keeps it under its lock. Each worker holds a grant, which is the most attempts that
/// it runs. Grants together never exceed the slots. A worker that is to release slots begins no more attempts than its
/// limit, and releases the slots of those that run once they end. A worker that needs fewer than its share leaves the
/// rest to the others; those that need more get the same number each. A share that isn't whole rotates, so that one
/// slot serves any number of databases.
///
/// A grant falls only if another worker needs the slot. So workers with little to do begin their jobs at once.
struct SlotShares {
    /// How long a worker keeps a slot that goes round. Prefetched jobs are as many as begin within 20 ms, and wait for
    /// at most 250 ms.
    static let rotation: Duration = .milliseconds(50)

    struct Member {
        /// The most attempts that it runs now.
        var grant = 0
        /// How many it could run: `Int.max` if it claims and doesn't know how many jobs wait.
        var demand = 0
    }

    /// What a worker learns from an update.
    struct Update: Equatable {
        let grant: Int
        /// The most attempts that it may begin: fewer than the grant while running ones hold slots that others need.
        let limit: Int
        /// Workers that should update theirs too: slots are free for them, or they hold some that others need.
        var others: [Int] = []
    }

    let slots: Int
    private(set) var members: [Member] = []

    init(slots: Int) { self.slots = slots }

    /// Adds a worker without a grant. Returns its index.
    mutating func join() -> Int {
        members.append(Member())
        return members.count - 1
    }

    /// A worker says what it runs and needs, and learns its new grant, which is never less than what it runs.
    ///
    /// - Parameter time: any monotonic clock, the same for all workers.
    mutating func update(_ index: Int, running: Int, demand: Int, at time: Duration) -> Update {
        members[index].demand = max(demand, running)
        let shares = shares(at: time)
        let needed = members.indices.reduce(0) { sum, other in
            other == index ? sum : sum + max(0, shares[other] - members[other].grant)
        }
        let own = members[index].grant
        var limit: Int?
        if own > shares[index] {
            // The free slots come first, then those that it doesn't use, then those of attempts that end.
            let claimed = min(own - shares[index], max(0, needed - free))
            let released = min(claimed, max(0, own - running))
            members[index].grant -= released
            limit = members[index].grant - (claimed - released)
        } else {
            members[index].grant += min(shares[index] - own, free)
        }
        let isShort = members[index].grant < shares[index]
        let others = members.indices.filter { other in
            guard other != index else { return false }
            return members[other].grant < shares[other] ? free > 0 : isShort && members[other].grant > shares[other]
        }
        return Update(grant: members[index].grant, limit: limit ?? members[index].grant, others: others)
    }

    /// A worker has stopped. Returns the workers that should update theirs.
    mutating func leave(_ index: Int) -> [Int] {
        members[index] = Member()
        return members.indices.filter { $0 != index && members[$0].demand > members[$0].grant }
    }

    private var free: Int { slots - members.reduce(0) { $0 + $1.grant } }

    /// How many slots each worker may have at most. Those that need least are served first.
    private func shares(at time: Duration) -> [Int] {
        let rotation = Int(time / Self.rotation)
        let order = members.indices.sorted { first, second in
            let demands = (members[first].demand, members[second].demand)
            guard demands.0 == demands.1 else { return demands.0 < demands.1 }
            return (first + rotation) % members.count < (second + rotation) % members.count
        }
        var shares = [Int](repeating: 0, count: members.count)
        var rest = slots
        for (served, index) in order.enumerated() {
            shares[index] = min(members[index].demand, rest / (order.count - served))
            rest -= shares[index]
        }
        return shares
    }
}
