import Synchronization

/// The hosts of a database URL, and the order in which connections try them. All connections of a configuration share
/// it.
final class Hosts: Sendable {
    /// The settings of each host: `host`, `hostaddr` and `port`. One entry without any if libpq is to choose itself.
    let settings: [[String: String]]
    private let order: Mutex<HostOrder>

    /// - Parameter all: the settings of a URL, with lists for several hosts.
    init(_ all: [String: String]) {
        // For this value libpq goes twice over the whole list.
        let isOneList = all["target_session_attrs"] == "prefer-standby"
        let lists = ["host", "hostaddr", "port"].compactMap { name in
            all[name].map { (name, $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)) }
        }
        let count = lists.filter { $0.0 != "port" }.map(\.1.count).max() ?? 1
        // Lists of different lengths are an error of the URL, which libpq explains.
        let fits = lists.allSatisfy { $0.1.count == count || ($0.0 == "port" && $0.1.count == 1) }
        if count > 1, fits, !isOneList {
            settings = (0..<count).map { index in
                Dictionary(uniqueKeysWithValues: lists.map { ($0.0, $0.1[$0.1.count == 1 ? 0 : index]) })
            }
        } else {
            settings = [[:]]
        }
        order = Mutex(HostOrder(count: settings.count))
    }

    func next(after tried: [Int]) -> Int? { order.withLock { $0.next(after: tried, at: .now) } }

    func note(_ outcome: HostOrder.Outcome, of host: Int) { order.withLock { $0.note(outcome, of: host, at: .now) } }

    func stalled(_ host: Int) { order.withLock { $0.stalled(host, at: .now) } }

    func hasStalled(_ host: Int, since opened: ContinuousClock.Instant) -> Bool {
        order.withLock { $0.hasStalled(host, since: opened) }
    }
}
