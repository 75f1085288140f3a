import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Command

@Suite("errand queue, worker list and circuit") struct QueueTests {
    @Test("a queue is listed, paused and resumed, and for a typo the most similar name is suggested")
    func queue() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["queue"] + arguments, settings: settings)
            }
            try await database.execute("select errand.enqueue('noop', queue => 'images')")
            #expect(
                try await errand("pause", "images", "--reason", "moves", "--until", "2h").output == "images: paused\n")
            let isSet = try await database.query(
                "select paused_until - paused_at = interval '2 hours' from errand.queues where queue = 'images'")
            #expect(try isSet.scalar(Bool.self))
            let list = try await errand("list")
            #expect(list.output.hasPrefix("QUEUE "))
            #expect(list.output.contains("\nimages  1        0        0      0       0       "))
            #expect(list.output.hasSuffix("  moves\n"))
            struct Line: Decodable { let queue: String, waiting: Int, paused_reason: String?, paused_until: String? }
            let lines = try JSONDecoder().decode(
                [Line].self, from: Data(try await errand("list", "--json").output.utf8))
            try #require(lines.map(\.queue) == ["images"])
            #expect(lines[0].waiting == 1 && lines[0].paused_reason == "moves" && lines[0].paused_until != nil)
            #expect(
                try await errand("resume", "images", "--json").output == #"{"done":"resumed","queue":"images"}"# + "\n")
            #expect(try await errand("resume", "images").output == "images: was not paused\n")
            let typo = try await errand("pause", "imges", "--reason", "moves")
            #expect(typo.code == 1)
            #expect(
                typo.error == "errand: there is no queue 'imges'; did you mean images? "
                    + "(--unused pauses one that nobody has used yet)")
            #expect(
                try await errand("resume", "imges").error == "errand: there is no queue 'imges'; did you mean images?")
            #expect(try await errand("pause", "later", "--reason", "moves", "--unused").code == 0)
        }
    }

    @Test("workers with a lease are listed, and the lost one is marked")
    func workers() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            let none = try await Program.run(["worker", "list"], settings: settings)
            #expect(none.output == "no worker is alive: start `errand worker`\n")
            try await database.execute(
                """
                insert into errand.worker (name, version, queues, kinds, lease, heartbeat_at)
                values ('host:1', '0.1', '{default,images}', '{noop}', interval '20 s', now()),
                    ('host:2', '0.1', '{default}', '{noop}', interval '20 s', now() - interval '1 hour')
                """)
            let people = try await Program.run(["worker", "list"], settings: settings)
            let lines = people.output.split(separator: "\n")
            try #require(lines.count == 3)
            #expect(lines[0] == "ID  NAME    VERSION  QUEUES          KINDS  RUNNING  HEARD    STATE")
            #expect(lines[1].contains(/^1   host:1  0.1      default,images  noop   0        \ds ago   alive/))
            #expect(lines[2].hasSuffix("60m ago  lost"))
            let machine = try await Program.run(["worker", "list", "--json"], settings: settings)
            struct Line: Decodable { let id: Int, queues: [String], kinds: [String], is_lost: Bool }
            let workers = try JSONDecoder().decode([Line].self, from: Data(machine.output.utf8))
            #expect(workers.map(\.is_lost) == [false, true])
            #expect(workers[0].queues == ["default", "images"])
            let drained = try await Program.run(["worker", "drain", "1", "--reason", "restarts"], settings: settings)
            #expect(drained.output == "worker 1: drained; it ran 0 jobs at its last heartbeat\n")
            let list = try await Program.run(["worker", "list"], settings: settings).output
            #expect(list.split(separator: "\n")[1].hasSuffix("drained: restarts"))
            let undrained = try await Program.run(["worker", "undrain", "1"], settings: settings)
            #expect(undrained.output == "worker 1: claims\n")
            #expect(try await Program.run(["worker", "drain", "9", "--reason", "x"], settings: settings).code != 0)
        }
    }

    @Test("a circuit is opened, listed and closed, and for a typo the most similar name is suggested")
    func circuit() async throws {
        try await withTestDatabase { _, configuration in
            let settings = try reaching(configuration)
            func errand(_ arguments: String...) async throws -> Program {
                try await Program.run(["circuit"] + arguments, settings: settings)
            }
            #expect(try await errand("list").output == "no circuit is known\n")
            let unknown = try await errand("open", "storage", "--reason", "moves")
            #expect(unknown.code == 1)
            #expect(
                unknown.error
                    == "errand: there is no circuit 'storage' (--unused opens one that no kind needs yet)")
            let open = try await errand("open", "storage", "--reason", "moves", "--until", "10m", "--unused")
            #expect(open.output == "storage: open\n")
            let list = try await errand("list")
            #expect(list.output.contains("\nstorage  open   2"))
            #expect(list.output.hasSuffix("  0       moves\n"))
            struct Line: Decodable { let name: String, state: String, opened_by: String?, until: String?, parked: Int }
            let lines = try JSONDecoder().decode(
                [Line].self, from: Data(try await errand("list", "--json").output.utf8))
            try #require(lines.map(\.state) == ["open"])
            #expect(lines[0].opened_by == "ops" && lines[0].until != nil)
            #expect(
                try await errand("close", "storag").error
                    == "errand: there is no circuit 'storag'; did you mean storage?")
            #expect(
                try await errand("close", "storage", "--json").output
                    == #"{"circuit":"storage","done":"closed"}"# + "\n")
            #expect(try await errand("close", "storage").output == "storage: was not open\n")
        }
    }

    @Test("an enqueue of an unknown kind or queue succeeds, and suggests the nearest name")
    func enqueue() async throws {
        try await withTestDatabase { database, configuration in
            let settings = try reaching(configuration)
            try await database.execute(
                "insert into errand.kind (name, queue, max_attempts, priority) values ('image_compression', 'images', 4, 2)"
            )
            try await database.execute(
                """
                insert into errand.worker (name, version, queues, kinds, lease)
                values ('host:1', '0.1', '{images}', '{image_compression}', interval '20 s')
                """)
            let typo = try await Program.run(["enqueue", "image_compresion", "--queue", "image"], settings: settings)
            #expect(typo.code == 0)
            #expect(typo.output == "1\n")
            #expect(
                typo.errors == "errand: no worker has registered the kind 'image_compresion' so far; did you mean "
                    + "image_compression?\nerrand: no worker claims from the queue 'image'; did you mean images?\n")
            let unlike = try await Program.run(["enqueue", "wash"], settings: settings)
            #expect(
                unlike.error
                    == "errand: no worker has registered the kind 'wash' so far: it waits for one that does")
            let right = try await Program.run(["enqueue", "image_compression"], settings: settings)
            #expect(right.errors == "")
        }
    }
}
