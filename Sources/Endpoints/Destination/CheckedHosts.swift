import NIOCore
import NIOPosix
import Outbound
import Synchronization

/// The addresses of hosts, and how far they reach. A host is looked up once for all calls of 30 s, so an address is
/// the one that was checked even if the name has another a moment later.
final class CheckedHosts: Sendable {
    /// How long a lookup counts.
    static let life: Duration = .seconds(30)

    struct Host: Sendable {
        /// At least one, that to try first in front.
        var addresses: [IPAddress]
        /// That of the address that reaches least.
        let reach: Reach
        fileprivate let foundAt: ContinuousClock.Instant

        init(addresses: [IPAddress], at now: ContinuousClock.Instant) {
            self.addresses = addresses
            reach = addresses.map(Reach.init).max() ?? .forbidden
            foundAt = now
        }
    }

    private struct State {
        var hosts: [String: Host] = [:]
        /// Lookups in progress.
        var lookups: [String: EventLoopFuture<Host>] = [:]
    }

    private let resolver: any HostResolver
    private let group: any EventLoopGroup
    private let state = Mutex(State())

    init(_ resolver: any HostResolver, on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton) {
        self.resolver = resolver
        self.group = group
    }

    /// A host, looked up at most 30 s ago.
    ///
    /// - Parameters:
    ///   - limit: how long to wait for a lookup.
    /// - Throws: ``UnknownHost``; ``LookupTimedOut``; a `CancellationError`.
    func host(
        of destination: Destination, at now: ContinuousClock.Instant, waiting limit: Duration
    ) async throws -> Host {
        if let address = destination.address { return Host(addresses: [address], at: now) }
        let name = destination.host
        let lookup: EventLoopFuture<Host>
        switch state.withLock({ Self.found(name, at: now, in: &$0, orBegin: begin) }) {
        case .host(let host): return host
        case .lookup(let future): lookup = future
        }
        return try await lookup.value(within: limit)
    }

    /// Has later calls try this address first.
    func prefer(_ address: IPAddress, of destination: Destination) {
        state.withLock { state in
            guard let addresses = state.hosts[destination.host]?.addresses,
                let index = addresses.firstIndex(of: address)
            else { return }
            state.hosts[destination.host]?.addresses.swapAt(0, index)
        }
    }

    private enum Found {
        case host(Host)
        case lookup(EventLoopFuture<Host>)
    }

    private static func found(
        _ name: String, at now: ContinuousClock.Instant, in state: inout State,
        orBegin begin: (String, ContinuousClock.Instant) -> EventLoopFuture<Host>
    ) -> Found {
        if let host = state.hosts[name], now - host.foundAt < life { return .host(host) }
        if let lookup = state.lookups[name] { return .lookup(lookup) }
        let lookup = begin(name, now)
        state.lookups[name] = lookup
        return .lookup(lookup)
    }

    /// The lookup goes on if its caller gives up, for the next one.
    private func begin(_ name: String, at now: ContinuousClock.Instant) -> EventLoopFuture<Host> {
        group.any().makeFutureWithTask { [resolver, self] in
            let result: Result<Host, any Error>
            do {
                result = .success(Host(addresses: try await resolver.addresses(of: name), at: now))
            } catch {
                result = .failure(error)
            }
            state.withLock { state in
                state.lookups[name] = nil
                // Those of hosts that nobody calls any more go too.
                state.hosts = state.hosts.filter { now - $0.value.foundAt < Self.life }
                if case .success(let host) = result { state.hosts[name] = host }
            }
            return try result.get()
        }
    }
}

/// No lookup ended in time.
struct LookupTimedOut: Error {}

extension EventLoopFuture where Value: Sendable {
    /// The value, unless it takes longer or the task is cancelled.
    fileprivate func value(within limit: Duration) async throws -> Value {
        let promise = eventLoop.makePromise(of: Value.self)
        cascade(to: promise)
        // Later results of a promise count for nothing.
        let alarm = eventLoop.scheduleTask(in: TimeAmount(limit)) { promise.fail(LookupTimedOut()) }
        defer { alarm.cancel() }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(CancellationError())
        }
    }
}
