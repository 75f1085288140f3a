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

    @Test("names that Apple or Google keep for themselves are refused", arguments: ["aps", "from", "gcm", "google.x"])
    func reserved(name: String) {
        let error = #expect(throws: MalformedNotification.self) {
            try NotificationPayload(data: ["ok": "", name: "1"])
        }
        #expect(error?.description.hasSuffix("got \(name)") == true)
    }
}
