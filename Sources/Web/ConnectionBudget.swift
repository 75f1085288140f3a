import HTTPTypes
import NIOCore
import NIOHTTPTypes
import Synchronization

/// Decides which connection is closed when there are too many, so that a new one is always served.
struct ConnectionBudget<ID: Hashable> {
    private struct Entry {
        /// The order of its last event: opened, or a response completed.
        var since: UInt64
        /// It has sent a whole request, and waits for the response.
        var awaitsResponse = false
    }

    private let limit: Int
    private var entries: [ID: Entry] = [:]
    private var events: UInt64 = 0

    init(limit: Int) { self.limit = limit }

    /// - Returns: the connection to close, nil while there is room: the one that has been idle, or sending its request,
    ///   for longest. One that waits for a response is closed only if all others do too.
    mutating func opened(_ id: ID) -> ID? {
        let victim =
            entries.count < limit
            ? nil
            : entries.min {
                ($0.value.awaitsResponse ? 1 : 0, $0.value.since) < ($1.value.awaitsResponse ? 1 : 0, $1.value.since)
            }?.key
        if let victim { entries[victim] = nil }
        events += 1
        entries[id] = Entry(since: events)
        return victim
    }

    mutating func received(_ id: ID) { entries[id]?.awaitsResponse = true }

    mutating func responded(_ id: ID) {
        events += 1
        let since = events
        if entries[id] != nil { entries[id] = Entry(since: since) }
    }

    mutating func closed(_ id: ID) { entries[id] = nil }
}

/// The open connections of a listener.
final class OpenConnections: Sendable {
    private struct State {
        var budget: ConnectionBudget<ObjectIdentifier>
        var channels: [ObjectIdentifier: any Channel] = [:]
    }

    private let state: Mutex<State>

    init(limit: Int) { state = Mutex(State(budget: ConnectionBudget(limit: limit))) }

    /// A handler for the pipeline of one connection, which counts it.
    func handler() -> any RemovableChannelHandler { Handler(connections: self) }

    private func opened(_ channel: any Channel) {
        let victim = state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = channel
            return state.budget.opened(ObjectIdentifier(channel)).flatMap { state.channels.removeValue(forKey: $0) }
        }
        victim?.close(promise: nil)
    }

    private func closed(_ channel: any Channel) {
        state.withLock { state in
            state.channels[ObjectIdentifier(channel)] = nil
            state.budget.closed(ObjectIdentifier(channel))
        }
    }

    private final class Handler: ChannelDuplexHandler, RemovableChannelHandler {
        typealias InboundIn = HTTPRequestPart
        typealias InboundOut = HTTPRequestPart
        typealias OutboundIn = HTTPResponsePart
        typealias OutboundOut = HTTPResponsePart

        private let connections: OpenConnections

        init(connections: OpenConnections) { self.connections = connections }

        func handlerAdded(context: ChannelHandlerContext) { RequestCheck.add(to: context.pipeline) }

        func channelActive(context: ChannelHandlerContext) {
            connections.opened(context.channel)
            context.fireChannelActive()
        }

        func channelInactive(context: ChannelHandlerContext) {
            connections.closed(context.channel)
            context.fireChannelInactive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if case .end = unwrapInboundIn(data) {
                connections.state.withLock { $0.budget.received(ObjectIdentifier(context.channel)) }
            }
            context.fireChannelRead(data)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            if case .end = unwrapOutboundIn(data) {
                connections.state.withLock { $0.budget.responded(ObjectIdentifier(context.channel)) }
            }
            context.write(data, promise: promise)
        }
    }
}
