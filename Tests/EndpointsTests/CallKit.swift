import Errand
import Logging
import NIOSSL
import Outbound
import Postgres
import Synchronization

@testable import Endpoints

/// What tests of calls share: a caller with one secret, and an attempt.
struct CallKit {
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    var resolver: any HostResolver = SystemResolver()
    var authorities: [NIOSSLCertificate] = []
    var callbackBase = ""
    var secrets = "shop=\(CallKit.secret)"

    func caller() throws -> HTTPEndpointCaller {
        var configuration = HTTPEndpointCaller.Configuration(secrets: SecretSource(try EndpointSecrets(secrets)))
        configuration.resolver = resolver
        configuration.authorities = authorities
        configuration.callbackBase = callbackBase
        configuration.limits.connect = .seconds(2)
        return HTTPEndpointCaller(configuration)
    }

    static func endpoint(
        _ url: String, secret: String = "shop", timeout: Duration = .seconds(30), allowsPrivate: Bool = true
    ) -> Endpoint {
        Endpoint(
            name: "shop", url: url, secretName: secret, timeout: timeout, callbackTimeout: .seconds(60),
            allowsPrivate: allowsPrivate)
    }

    static func request(_ payload: String = #"{"order": 17}"#, job: Int64 = 17, attempt: Int = 1) -> EndpointRequest {
        EndpointRequest(
            jobID: job, kind: "send_mail", queue: "default", attempt: attempt, maxAttempts: 5,
            payload: JSONB(payload), traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            callbackToken: "17.9.00ff")
    }
}

/// Gives names the addresses of a table, in each lookup the next of its lists, and counts lookups.
final class TableResolver: HostResolver {
    private let table: [String: [[String]]]
    private let counts = Mutex<[String: Int]>([:])

    init(_ table: [String: [[String]]]) { self.table = table }

    var lookups: Int { counts.withLock { $0.values.reduce(0, +) } }

    func addresses(of host: String) async throws -> [IPAddress] {
        let count = counts.withLock { counts in
            counts[host, default: 0] += 1
            return counts[host, default: 0]
        }
        guard let lists = table[host], !lists.isEmpty else { throw UnknownHost() }
        return lists[min(count, lists.count) - 1].compactMap { IPAddress($0) }
    }
}

/// Finds loopback, once it is told to.
final class SlowResolver: HostResolver {
    private let mayProceed = Mutex(false)

    func proceed() { mayProceed.withLock { $0 = true } }

    func addresses(of host: String) async throws -> [IPAddress] {
        while !mayProceed.withLock(\.self) { try await Task.sleep(for: .milliseconds(2)) }
        return ["127.0.0.1"].compactMap { IPAddress($0) }
    }
}
