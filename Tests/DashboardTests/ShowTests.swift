import Foundation
import Testing

@testable import Dashboard

@Suite("What the page shows") struct ShowTests {
    @Test("HTML's characters are escaped one by one, also before an accent that joins them")
    func escaped() {
        let html = PageHTML()
        #expect(html.escapeText("<a href=\"x\">'&") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;")
        #expect(html.escapeText("\"\u{301} onfocus=x").unicodeScalars.starts(with: "&quot;\u{301}".unicodeScalars))
        #expect(html.escapeText("a\u{202E}b\u{0}c\r\nd") == "a\u{FFFD}b\u{FFFD}c\u{FFFD}\nd")
    }

    @Test("no template leaves a value unescaped, or has a script or a style of its own")
    func templates() throws {
        let files = Embedded.files.filter { $0.key.hasSuffix(".mustache") }
        #expect(files.count >= 13)
        for (path, text) in files {
            #expect(!text.contains("{{{") && !text.contains("{{&"), "\(path)")
            #expect(!text.contains("style=") && !text.contains("<style"), "\(path)")
            #expect(
                text.firstMatch(of: /<script(?! src)/) == nil && text.firstMatch(of: /\son[a-z]+=/) == nil, "\(path)")
            // A value in an attribute is in quotes.
            #expect(text.firstMatch(of: /=\{\{/) == nil, "\(path)")
            // Each form that changes something has the token; the log-in has none yet.
            let forms = text.split(separator: "<form").dropFirst().filter { $0.prefix(200).contains("method=\"post\"") }
            for form in forms where !form.contains("action=\"/log-in\"") {
                #expect(form.contains("{{>token}}") || form.contains("name=\"token\""), "\(path)")
            }
        }
        let page = try Templates().render("token", ["layout": ["formToken": "\"\u{301}>"]])
        #expect(!page.contains("\"\u{301}") && page.unicodeScalars.contains("\u{301}"))
    }

    @Test("a view's fields are read with those of its parts, and nil is no field")
    func views() throws {
        struct Part {
            let name: String
            let link: String?
        }
        struct View {
            let part: Part
            let parts: [Part?]
            let count: Int?
            let isEmpty = false
        }
        let part = Part(name: "a", link: nil)
        let view = View(part: part, parts: [part, nil, Part(name: "b", link: "/b")], count: 3)
        let fields = try #require(Templates.fields(of: view) as? [String: Any])
        #expect(fields.keys.sorted() == ["count", "isEmpty", "part", "parts"])
        #expect(fields["part"] as? [String: String] == ["name": "a"])
        #expect(fields["parts"] as? [[String: String]] == [["name": "a"], ["name": "b", "link": "/b"]])
        #expect(fields["count"] as? Int == 3 && fields["isEmpty"] as? Bool == false)
        #expect(Templates.fields(of: Part?.none as Any) == nil)
    }

    @Test(
        "a time is relative to the database's time, and exact in its title",
        arguments: [
            (0.2, "just now"), (-5, "5 s ago"), (-300, "5 min ago"), (7200, "in 2 h"), (-864_000, "10 d ago"),
        ])
    func times(seconds: Double, text: String) throws {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let shown = try #require(ShownTime(Moment(now + seconds), now: now))
        #expect(shown.relative == text)
        #expect(shown.exact.hasSuffix(" UTC") && shown.machine.hasSuffix("Z"))
    }

    @Test("a time of the database is read to the day, also around leap days and infinity")
    func moments() throws {
        let texts = #"["2024-02-29T23:59:59.5+00:00", "1969-12-31T00:00:00+00:00", "infinity", "2026-11-25T01:02:03Z"]"#
        let moments = try JSONDecoder().decode([Moment].self, from: Data(texts.utf8))
        #expect(moments.map { $0.date?.timeIntervalSince1970 } == [1_709_251_199.5, -86_400, nil, 1_795_568_523])
    }

    @Test(
        "what is no time of the database is refused",
        arguments: [
            "", "T", "T.Z", "2026-11-25T.Z", "2026-11-25T01:02:03", "2026-11-25T01:02Z", "2026-11-25T01:02:+3Z",
            "2026-11-T01:02:03Z", "2026-11-25T01:02:03.x+00:00", "2026-11-25T01:02:03+01:00",
        ])
    func noMoments(text: String) throws {
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode([Moment].self, from: JSONEncoder().encode([text]))
        }
    }

    @Test("numbers have thousands apart, and durations one unit")
    func amounts() {
        #expect(Amount.count(1_234_567) == "1\u{202F}234\u{202F}567" && Amount.count(-999) == "−999")
        #expect(Amount.rate(0) == "0" && Amount.rate(0.04) == "<0.1" && Amount.rate(3.25) == "3.2")
        #expect(Amount.duration(0.85) == "850 ms" && Amount.duration(119.9) == "119 s")
        #expect(Amount.duration(172_800) == "2 d")
    }

    @Test("an hour is 60 points between the edges of its box, and a quiet hour is none")
    func sparkline() throws {
        let rows = [
            Overview.MinuteRow(queue: "a", minutesAgo: 1, succeeded: 10, failed: 1, retried: 0),
            Overview.MinuteRow(queue: "a", minutesAgo: 60, succeeded: 22, failed: 0, retried: 0),
            // The current minute is incomplete.
            Overview.MinuteRow(queue: "a", minutesAgo: 0, succeeded: 99, failed: 0, retried: 0),
        ]
        let hour = Overview.hour(of: rows)
        #expect(hour.count == 60 && hour.first == 22 && hour.last == 11 && hour.reduce(0, +) == 33)
        let line = try #require(Sparkline(minutes: hour))
        #expect(line.points.hasPrefix("0.0,1.5 ") && line.points.hasSuffix(" 120.0,12.0"))
        #expect(Sparkline(minutes: Array(repeating: 0, count: 60)) == nil)
    }

    @Test("past ticks lie left of now and next ones right of it")
    func strip() throws {
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let strip = try #require(
            TickStrip(
                past: [
                    Schedules.PastTick(tick: Moment(now - 100), outcome: "late"),
                    Schedules.PastTick(tick: Moment(now - 50), outcome: "enqueued"),
                ], coming: [Moment(now + 10)], now: now))
        #expect(strip.marks.map(\.x) == ["3.0", "50.5", "197.0"])
        #expect(strip.marks.map(\.tone) == ["held", "good", "coming"])
        #expect(TickStrip(past: [], coming: [], now: now) == nil)
    }

    @Test(
        "an address to come back to is one of this server",
        arguments: [
            ("/jobs?state=failed", "/jobs?state=failed"), ("//evil.example", "/"), ("https://evil.example", "/"),
            ("/\\evil.example", "/"), ("/jobs\r\nSet-Cookie: a=b", "/"), ("", "/"), ("/a\u{e9}", "/"),
        ])
    func localAddress(given: String, wanted: String) { #expect(Dashboard.localAddress(given) == wanted) }

    @Test("a form's fields are decoded, and broken ones do no harm")
    func fields() {
        let fields = FormFields("a=1+2%26&b=%zz&c&d=%00x&a=3&e=%F0%9F%99%82&=x&f=%E9")
        #expect(fields["a"] == "3" && fields["b"] == "%zz" && fields["c"] == nil && fields["d"] == "\u{FFFD}x")
        #expect(fields["e"] == "🙂" && fields["f"] == "\u{FFFD}" && fields["g"] == nil)
        #expect(FormFields("p=+secret+").whole("p") == " secret ")
    }
}
