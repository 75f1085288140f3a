import Foundation
import Testing

@testable import Errand

@Suite("Zone") struct ZoneTests {
    @Test(
        "offsets are those of Foundation, at every second hour from 2007 to 2060",
        arguments: ["Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Europe/Dublin"])
    func offsets(name: String) throws {
        let zone = try Zone(named: name)
        let other = try #require(TimeZone(identifier: name))
        let start = CalendarDay.number(year: 2007, month: 4, day: 1) * 86400
        let end = CalendarDay.number(year: 2060, month: 1, day: 1) * 86400
        let wrong = stride(from: start, to: end, by: 7200).filter { time in
            zone.stretch(at: time).offset != other.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time)))
        }
        #expect(wrong.isEmpty, "\(wrong.prefix(3))")
    }

    @Test("a skipped time is the moment of the change, and a doubled one its first moment")
    func localTimes() throws {
        let paris = try Zone(named: "Europe/Paris")
        let spring = CalendarDay.number(year: 2027, month: 3, day: 28) * 86400
        #expect(paris.firstMoment(showing: spring + 2 * 3600 + 1800) == spring + 3600)
        #expect(paris.firstMoment(showing: spring + 3 * 3600) == spring + 3600)
        let autumn = CalendarDay.number(year: 2026, month: 10, day: 25) * 86400
        #expect(paris.firstMoment(showing: autumn + 2 * 3600 + 1800) == autumn + 1800)
        #expect(paris.highestLocalTime(through: autumn + 3600 + 60) == autumn + 3 * 3600 - 1)
        let apia = try Zone(named: "Pacific/Apia")
        let missing = CalendarDay.number(year: 2011, month: 12, day: 30)
        #expect([missing - 1, missing, missing + 1].map(apia.hasDay) == [true, false, true])
    }

    @Test(
        "the rules at the end of time-zone files are read, in all their forms",
        arguments: [
            ("<+0545>-5:45", 2030, []),
            ("CET-1CEST,M3.5.0,M10.5.0/3", 2027, ["2027-03-28T01:00:00Z 7200", "2027-10-31T01:00:00Z 3600"]),
            ("IST-1GMT0,M10.5.0,M3.5.0/1", 2027, ["2027-03-28T01:00:00Z 3600", "2027-10-31T01:00:00Z 0"]),
            (
                "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", 2027,
                ["2027-04-03T15:00:00Z 37800", "2027-10-02T15:30:00Z 39600"]
            ),
            ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2027, ["2027-03-28T01:00:00Z -3600", "2027-10-31T01:00:00Z -7200"]),
            ("EET-2EEST,M3.4.4/50,M10.4.4/50", 2027, ["2027-03-27T00:00:00Z 10800", "2027-10-29T23:00:00Z 7200"]),
            ("A01-1B02,J60/0,300/1:30", 2028, ["2028-02-29T23:00:00Z 7200", "2028-10-26T23:30:00Z 3600"]),
        ] as [(String, Int, [String])])
    func rules(text: String, year: Int, expected: [String]) throws {
        let rule = try #require(ZoneRule(text.replacing("A01", with: "AAA").replacing("B02", with: "BBB")))
        let first = CalendarDay.number(year: year, month: 1, day: 1) * 86400
        let changes = rule.changes(after: first, through: year).map { change, offset in
            "\(Date(timeIntervalSince1970: Double(change)).formatted(.iso8601)) \(offset)"
        }
        #expect(changes == expected)
    }

    @Test(
        "what is no zone is refused by name, and leads to no other file",
        arguments: [
            "Mars/Olympus", "", "../passwd", "Europe/../Europe/Paris", "/etc/passwd", "Europe", "tzdata.zi", "é",
        ])
    func refuses(name: String) {
        let error = #expect(throws: ScheduleError.self) { try Zone(named: name) }
        #expect(error?.description.hasPrefix("time zone") == true)
    }

    @Test("a damaged file is refused, wherever it breaks off")
    func damaged() throws {
        let paris = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "/usr/share/zoneinfo/Europe/Paris")))
        for count in stride(from: 0, to: paris.count - 30, by: 7) {
            #expect(throws: ScheduleError.self) { try Zone(name: "cut", file: Array(paris.prefix(count))) }
        }
    }
}
