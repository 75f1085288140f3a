import Foundation
import Postgres

/// A network namespace for a worker, with a link to that of the tests and a firewall. Needs root.
final class Namespace {
    /// What the firewall drops.
    enum Cut: String, CaseIterable {
        case all
        /// What the worker sends arrives, and is executed.
        case replies
    }

    let name: String
    /// The address of the tests' end.
    let address: String
    /// The worker's address.
    let worker: String

    init() async throws {
        let number = Int(getpid()) % 250
        name = "errand-\(number)"
        address = "10.213.\(number).1"
        worker = "10.213.\(number).2"
        try await shell(
            """
            ip netns add \(name)
            trap 'ip netns delete \(name)' ERR
            ip link add \(name) type veth peer name eth0 netns \(name)
            ip address add \(address)/30 dev \(name)
            ip link set \(name) up
            ip -n \(name) address add \(worker)/30 dev eth0
            ip -n \(name) link set eth0 up
            ip -n \(name) link set lo up
            """)
    }

    /// Drops packets without a word from now on.
    func cut(_ what: Cut) async throws {
        let hooks = what == .all ? ["input", "output"] : ["input"]
        let chains = hooks.map { "add chain inet cut \($0) { type filter hook \($0) priority 0; policy drop; }" }
        try await shell("ip netns exec \(name) nft 'add table inet cut; \(chains.joined(separator: "; "))'")
    }

    func restore() async throws { try await shell("ip netns exec \(name) nft delete table inet cut") }

    func drop() async throws { try await shell("ip netns delete \(name)") }

    /// The local ports of the worker's established connections.
    func ports(of program: Program) -> Set<Int> {
        let table = (try? String(contentsOfFile: "/proc/\(program.id)/net/tcp", encoding: .utf8)) ?? ""
        // sl, local address, remote address, state: 01 is ESTABLISHED.
        let rows = table.split(separator: "\n").dropFirst().map { $0.split(separator: " ") }
        return Set(
            rows.filter { $0.count > 3 && $0[3] == "01" }.compactMap { row in
                row[1].split(separator: ":").last.flatMap { Int($0, radix: 16) }
            })
    }
}

extension KillableCluster {
    /// Has the server listen on the namespace's link. Returns its URL there.
    func listen(to namespace: Namespace) async throws -> String {
        try await shell(
            """
            psql -X -q '\(await url())' -c "alter system set listen_addresses = '\(namespace.address)'"
            echo 'host all all \(namespace.worker)/32 trust' >> '\(folder.path)/data/pg_hba.conf'
            """)
        try await stop()
        try await start()
        return "postgresql://postgres@\(namespace.address):5432/errand"
    }
}
