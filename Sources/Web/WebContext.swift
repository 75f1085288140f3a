import Hummingbird
import NIOCore

/// What a route knows of its request: also the address of its sender.
package struct WebContext: RequestContext {
    package var coreContext: CoreRequestContextStorage
    /// Nil for a sender without an IP address.
    package let sender: SocketAddress?

    package init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        sender = source.channel.remoteAddress
    }
}
