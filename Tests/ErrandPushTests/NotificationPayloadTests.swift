import Foundation
import Testing

@testable import ErrandPush

@Suite("The payload of a notification") struct NotificationPayloadTests {
    @Test("Apple's has the alert in aps and the data beside it, Google's has both as objects")
    func shown() throws {
        let payload = try NotificationPayload(title: "Ada \u{1}", body: "\"hi\" \\ 日本", data: ["b": "2", "a": "1"])
        #expect(
            String(decoding: payload.bytes(for: .apns), as: UTF8.self)
                == #"{"aps":{"alert":{"body":"\"hi\" \\ 日本","title":"Ada \u0001"},"sound":"default"},"a":"1","b":"2"}"#)
        #expect(
            String(decoding: payload.bytes(for: .fcm), as: UTF8.self)
                == #"{"notification":{"body":"\"hi\" \\ 日本","title":"Ada \u0001"},"data":{"a":"1","b":"2"}}"#)
    }

    @Test("without title and body nothing is shown, and the app is woken")
    func silent() throws {
        let payload = try NotificationPayload()
        #expect(String(decoding: payload.bytes(for: .apns), as: UTF8.self) == #"{"aps":{"content-available":1}}"#)
        #expect(String(decoding: payload.bytes(for: .fcm), as: UTF8.self) == #"{"data":{}}"#)
    }

    @Test("a style is in the words of each service; one that wakes the app is data alone at Google")
    func styled() throws {
        func text(_ style: NotificationPayload.Style, _ route: PushRoute) throws -> String {
            let payload = try NotificationPayload(title: "Ada", body: "Hi", data: ["a": "1"], style: style)
            return String(decoding: payload.bytes(for: route), as: UTF8.self)
        }
        let full = NotificationPayload.Style(
            wakes: true, isMutable: true, badge: 2, sound: "ping.caf", category: "REPLY", thread: "m", channel: "c")
        #expect(
            try text(full, .apns)
                == #"{"aps":{"alert":{"body":"Hi","title":"Ada"},"sound":"ping.caf","category":"REPLY","thread-id":"m","mutable-content":1,"badge":2,"content-available":1},"a":"1"}"#
        )
        #expect(try text(full, .fcm) == #"{"data":{"a":"1","body":"Hi","channel":"c","title":"Ada"}}"#)
        #expect(
            try text(.init(sound: nil, category: "REPLY", channel: "c"), .fcm)
                == #"{"android":{"notification":{"channel_id":"c","click_action":"REPLY"}},"notification":{"body":"Hi","title":"Ada"},"data":{"a":"1"}}"#
        )
        #expect(
            try text(.init(sound: nil), .apns) == #"{"aps":{"alert":{"body":"Hi","title":"Ada"}},"a":"1"}"#)
    }

    @Test("names that Apple or Google keep for themselves are refused", arguments: ["aps", "from", "gcm", "google.x"])
    func reserved(name: String) {
        let error = #expect(throws: MalformedNotification.self) {
            try NotificationPayload(data: ["ok": "", name: "1"])
        }
        #expect(error?.description.hasSuffix("got \(name)") == true)
    }
}
