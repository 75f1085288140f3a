import AppTestKit
import Errand
import ErrandPush
import ErrandTestKit
import Foundation
import Postgres
import PushKit
import Testing

@testable import Jobs

@Suite("Pushes of the daily quote") struct QuotePushTests {
    @Test("a batch has the texts of each device's language, and a text of the call comes first")
    func batch() async throws {
        let stubs = try await PushStubs()
        try await withNotifications(stubs) { test in
            let database = test.database
            try await database.execute(
                """
                select devices.register('u-' || n, 'apns', lpad(to_hex(n), 64, '0'), locale => case n when 1 then 'fr' end)
                from generate_series(1, 101) as n
                """)
            try await database.execute(
                """
                select notify.send(array_agg('u-' || n), body => 'Know thyself', profile => 'daily_quote')
                from generate_series(1, 101) as n
                """)
            try await test.drain()
            let shown = stubs.apple.accepted.compactMap { $0.aps("alert") as? [String: String] }
            #expect(shown.count == 101 && shown.allSatisfy { $0["body"] == "Know thyself" })
            #expect(shown.count { $0["title"] == "Citation du jour" } == 1)
            #expect(shown.count { $0["title"] == "Quote of the day" } == 100)
            #expect(stubs.apple.accepted.allSatisfy { $0.aps("content-available") == nil })
        }
    }
}
