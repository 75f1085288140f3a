import Testing

@testable import Command

@Suite("What settings are written as") struct ParsingTests {
    @Test(
        "a duration is a whole number with a unit",
        arguments: [
            ("250ms", Duration.milliseconds(250)), ("20s", .seconds(20)), ("5m", .seconds(300)), ("1h", .seconds(3600)),
            ("7d", .seconds(604_800)), ("0s", .zero),
        ])
    func duration(text: String, expected: Duration) {
        #expect(Duration(setting: text) == expected)
    }

    @Test(
        "whatever else is no duration",
        arguments: ["", "5", "s", "5 s", "1.5s", "-5s", "5S", "5min", "1m30s", "99999999999999999999s", "٥s"])
    func noDuration(text: String) {
        #expect(Duration(setting: text) == nil)
    }

    @Test("a duration below the least one is refused, and the least one is not")
    func leastDuration() {
        #expect(Duration(setting: "999ms", atLeast: .seconds(1)) == nil)
        #expect(Duration(setting: "1s", atLeast: .seconds(1)) == .seconds(1))
        #expect(Duration(setting: "soon", atLeast: .seconds(1)) == nil)
    }

    @Test("queues are names with numbers")
    func queues() {
        #expect(parseQueues("default=10,images=2") == ["default": 10, "images": 2])
        #expect(parseQueues("mail=1") == ["mail": 1])
        #expect(parseQueues(" a = 1 , b = 2 ") == ["a": 1, "b": 2])
    }

    @Test(
        "whatever else is no list of queues",
        arguments: ["", "default", "default=", "=3", "a=0", "a=-1", "a=1,", "a=1,a=2", "a=1;b=2", "a=b", "a=10001"])
    func noQueues(text: String) {
        #expect(parseQueues(text) == nil)
    }

    @Test(
        "the distance of two words is the number of letters to change, add or leave out",
        arguments: [
            ("lease", "lease", 0), ("leese", "lease", 1), ("beet", "beat", 1), ("", "abc", 3), ("kitten", "sitting", 3),
        ])
    func distance(one: String, other: String, expected: Int) {
        #expect(one.distance(to: other) == expected)
        #expect(other.distance(to: one) == expected)
    }

    @Test("the nearest name in any case is suggested, and none if none is near")
    func closest() {
        let names = ["ERRAND_QUEUES", "ERRAND_LEASE", "ERRAND_HEARTBEAT_INTERVAL"]
        #expect(names.closest(to: "ERRAND_QEUES") == "ERRAND_QUEUES")
        #expect(names.closest(to: "errand_lease") == "ERRAND_LEASE")
        #expect(names.closest(to: "ERRAND_COMPLETELY_ELSE") == nil)
    }

    @Test("printed values stay on one line and control no terminal")
    func printable() {
        #expect(
            "a\nb\r\u{1B}[31m\u{9B}1m\u{202E}\u{2028}".printable == #"a\u{a}b\u{d}\u{1b}[31m\u{9b}1m\u{202e}\u{2028}"#)
        #expect("a\tb".printable == "a b")
        #expect("Grüße, 世界 👋".printable == "Grüße, 世界 👋")
    }
}
