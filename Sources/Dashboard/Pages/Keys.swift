import Foundation
import Listings

/// An order key that a failed job blocks.
struct BlockedKey {
    struct Row: Decodable {
        let orderKey: String
        let jobId: Int
        let kind: String
        let queue: String
        let blockedAt: Moment?
        let error: String?
        let waiting: Int
    }

    let name: String
    let job: Int
    let kind: String
    let blocked: ShownTime?
    let error: String?
    let waiting: String

    init(_ row: Row, now: Date) {
        name = Self.short(row.orderKey)
        job = row.jobId
        kind = row.kind
        blocked = ShownTime(row.blockedAt, now: now)
        error = row.error.map { Self.short($0, most: 500) }
        waiting = Amount.count(row.waiting, most: 10_000)
    }

    /// What fits into a row of a table.
    static func short(_ text: String, most: Int = 200) -> String {
        text.unicodeScalars.count > most ? String(text.unicodeScalars.prefix(most)) + "…" : text
    }

    static let query = Query(Listing.blockedKeys.query(limit: "\(mostKeys + 1)"))
    /// On the page.
    static let mostKeys = 50
}

/// The rate of a key.
struct KeyRate {
    struct Row: Decodable {
        let name: String
        let setAs: String?
        let per: String?
        let allowed: Int?
        let burst: Int?
        let isFull: Bool?
        let reserved: Int
        let nextAt: Moment?
        let lastAt: Moment?
    }

    let name: String
    /// The pattern that bounds the key, if that is another text.
    let pattern: String?
    /// What its form changes: the key or the pattern.
    let key: String
    let isSet: Bool
    /// As its form shows them.
    let number: String?
    let per: String?
    let burst: String?
    let allowed: String
    let isFull: Bool
    let reserved: String
    let next: ShownTime?
    let last: ShownTime?

    init(_ row: Row, now: Date) {
        name = BlockedKey.short(row.name)
        pattern = row.setAs == row.name ? nil : row.setAs.map { BlockedKey.short($0) }
        key = row.setAs ?? row.name
        isSet = row.setAs != nil
        number = row.allowed.map { "\($0)" }
        per = row.per
        burst = row.burst.map { "\($0)" }
        let more = row.burst.flatMap { $0 > 1 ? ", \(Amount.count($0)) at once" : nil } ?? ""
        allowed = row.allowed.map { "\(Amount.count($0)) in \(row.per ?? "")\(more)" } ?? "any"
        isFull = row.isFull ?? false
        reserved = Amount.count(row.reserved, most: 10_000)
        next = ShownTime(row.nextAt, now: now)
        last = ShownTime(row.lastAt, now: now)
    }

    /// Any of them, if there are more: an order would count the starts of all.
    static let query = Query(
        """
        select *
        from (
            select name, set_as, per::text as per, allowed, burst, is_full, reserved, next_at, last_at
            from errand.key_rates
            limit \(mostKeys + 1)) as some_of_them
        order by name
        """)
    /// On the page.
    static let mostKeys = 100
}

/// What the page of limits says of keys.
struct Keys {
    let blocked: [BlockedKey]
    let hasBlocked: Bool
    let isMoreBlocked: Bool
    let rates: [KeyRate]
    let hasRates: Bool
    let isMoreRates: Bool

    init(_ blocked: [BlockedKey.Row], _ rates: [KeyRate.Row], now: Date) {
        self.blocked = blocked.prefix(BlockedKey.mostKeys).map { BlockedKey($0, now: now) }
        hasBlocked = !blocked.isEmpty
        isMoreBlocked = blocked.count > BlockedKey.mostKeys
        self.rates = rates.prefix(KeyRate.mostKeys).map { KeyRate($0, now: now) }
        hasRates = !rates.isEmpty
        isMoreRates = rates.count > KeyRate.mostKeys
    }
}
