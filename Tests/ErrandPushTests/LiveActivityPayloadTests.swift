import Foundation
import Testing

@testable import ErrandPush

@Suite("The payload of a push to a Live Activity") struct LiveActivityPayloadTests {
    @Test("an end has timestamp, event, final content and when it leaves the lock screen, and nothing else")
    func end() {
        let payload = LiveActivityPayload(
            .end, timestamp: 17, contentState: Array(#"{"a": 1.10}"#.utf8), dismissal: 18)
        #expect(
            String(decoding: payload.bytes, as: UTF8.self)
                == #"{"aps":{"timestamp":17,"event":"end","content-state":{"a": 1.10},"dismissal-date":18}}"#)
    }

    @Test("any text comes out as it went in", arguments: ["a\"b\\c", "\u{0}\n\t\u{1b}", "é👩‍👩‍👧 \u{2028}", "</script>"])
    func texts(text: String) throws {
        let payload = LiveActivityPayload(
            .start, timestamp: 17, contentState: Array("{}".utf8),
            attributes: .init(type: text, json: Array("{}".utf8)), alert: .init(title: text, body: text))
        let read = try JSONSerialization.jsonObject(with: Data(payload.bytes)) as? [String: [String: Any]]
        let alert = read?["aps"]?["alert"] as? [String: String]
        #expect(alert == ["title": text, "body": text, "sound": "default"])
        #expect(read?["aps"]?["attributes-type"] as? String == text)
        #expect(read?["aps"]?["event"] as? String == "start")
    }
}
