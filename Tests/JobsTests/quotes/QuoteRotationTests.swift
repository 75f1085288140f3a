import AppTestKit
import Errand
import ErrandTestKit
import Foundation
import Postgres
import Testing

@testable import Jobs

@Suite("Quote of the day") struct QuoteRotationTests {
    static let categories = ["Humor", "Love", "Motivation", "Success", "Wisdom"]

    @Test(
        "Q1: an installation brings more than 120 quotes with authors along, at least 15 of each category, none twice")
    func seeds() async throws {
        try await withAppDatabase { database, _ in
            let counts = try await database.query(
                "select category, count(*) from quotes.quote group by category order by category"
            ).map { try $0.decode(String.self, Int.self) }
            #expect(counts.map(\.0) == Self.categories)
            #expect(counts.allSatisfy { $0.1 >= 15 })
            #expect(counts.map(\.1).reduce(0, +) >= 120)
            let odd = try await database.number(
                """
                select count(*) from quotes.quote
                where text <> btrim(text) or author <> btrim(author) or text !~ '[.!?]$' or id > 1000
                    or source is null and author <> 'Benjamin Disraeli'
                """)
            #expect(odd == 0)
            let distinct = try await database.number(
                "select count(distinct lower(regexp_replace(text, '\\W', '', 'g'))) from quotes.quote")
            #expect(try await database.number("select count(*) from quotes.quote") == distinct)
        }
    }

    @Test("Q1: an editor's changes stay when the seeds are applied again, and there are no duplicates")
    func editing() async throws {
        try await withAppDatabase { database, configuration in
            try await database.execute("select quotes.put('Corrected.', 'Somebody', 'Love', id => 3)")
            try await database.execute("select quotes.retire(4, 'doubtful')")
            let before = try await database.lines("select * from quotes.quote order by id")
            let days = try await database.lines("select day, quote_id from quotes.day order by day")
            let seeds = URL(fileURLWithPath: #filePath).appending(path: "../../../../sql/apps/quotes/seeds/quotes.sql")
            let script = try String(contentsOf: seeds.standardizedFileURL, encoding: .utf8)
            #expect(!(try psql(script, of: configuration)).contains("ERROR"))
            #expect(try await database.lines("select * from quotes.quote order by id") == before)
            #expect(try await database.lines("select day, quote_id from quotes.day order by day") == days)
            for call in ["put('', 'a', 'Love')", "put('a', '', 'Love')", "put('a', 'b', 'love')", "retire(5, '')"] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select quotes.\(call)"))
                }
                #expect(error?.sqlState == "ER422", "\(call)")
            }
            for (call, state) in [
                ("put('Corrected.', 'b', 'Love')", "ER409"), ("put('a', 'b', 'Love', id => 999)", "ER404"),
                ("retire(999, 'x')", "ER404"),
            ] {
                let error = await #expect(throws: PostgresError.self) {
                    try await database.execute(Statement("select quotes.\(call)"))
                }
                #expect(error?.sqlState == state, "\(call)")
            }
        }
    }

    @Test("Q3: the job writes yesterday to 8 days ahead, and those days only once")
    func writes() async throws {
        try await withAppQueue { test in
            try await test.database.execute("delete from quotes.day")
            let first = try await test.run("quote_rotation")
            #expect(first.output?.text == #"{"written": 10}"#)
            #expect(
                try await test.database.lines(
                    """
                    select min(day) - (now() at time zone 'UTC')::date, max(day) - (now() at time zone 'UTC')::date, count(*)
                    from quotes.quote_days
                    """) == ["-1|8|10"])
            for _ in 1...4 { try await test.database.execute("select errand.enqueue('quote_rotation')") }
            #expect(try await test.drain().outcomes == Array(repeating: .succeeded, count: 4))
            #expect(try await test.database.number("select count(*) from quotes.day") == 10)
        }
    }

    @Test(
        "Q2, Q3: ten years, often with 7 days down: each day has a quote, another than the day before, each once a cycle"
    )
    func tenYears() async throws {
        try await withAppDatabase { database, _ in
            try await database.live(from: "2026-11-21", to: "2036-11-21")
            #expect(try await database.number("select max(day) - min(day) + 1 - count(*) from quotes.day") == 0)
            #expect(try await database.number("select count(*) from quotes.day where day >= '2026-11-21'") >= 3_654)
            try await database.expectCycles()
            // Between two days of one quote, at least half of all quotes are shown, also across two cycles.
            #expect(
                try await database.number(
                    """
                    select min(gap) * 2 - (select count(*) from quotes.quote) from (
                        select day - lag(day) over (partition by quote_id order by day) as gap from quotes.day
                    ) as gaps
                    """) > 0)
        }
    }

    @Test("Q2: without a row the rule returns the same, and so does a database that has lost all that was written")
    func rule() async throws {
        try await withAppDatabase { database, _ in
            let all = """
                select day::date, quote_id
                from generate_series('2026-01-01'::date, '2031-01-01', interval '11 days') as day
                cross join quotes.of_the_day(day::date)
                order by day
                """
            let ahead = try await database.lines(all)
            #expect(ahead.count == 167)
            try await database.live(from: "2026-11-21", to: "2031-01-01")
            #expect(try await database.lines(all) == ahead)
            let december =
                "select day, quote_id from quotes.day where day between '2030-12-02' and '2031-01-01' order by day"
            let written = try await database.lines(december)
            try await database.execute("truncate quotes.day, quotes.cycle")
            try await database.execute("select quotes.rotate_v1('2030-12-03')")
            try await database.live(from: "2030-12-03", to: "2031-01-01")
            #expect(try await database.lines(december) == written)
            #expect(try await database.lines("select quote_id from quotes.of_the_day('2019-12-31')") == [])
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select quotes.of_the_day('2100-01-01')")
            }
            #expect(error?.sqlState == "ER422")
        }
    }

    @Test("Q2: a quote that is added changes no day that is given out, and joins with the next cycle")
    func adding() async throws {
        try await withAppDatabase { database, _ in
            try await database.execute("truncate quotes.day, quotes.cycle")
            let given = """
                select quote_id
                from generate_series(-1, 8) as n
                cross join quotes.of_the_day((now() at time zone 'UTC')::date + n)
                order by n
                """
            let before = try await database.lines(given)
            let id = try await database.number("select quotes.put('New.', 'Somebody', 'Love')")
            #expect(try await database.lines(given) == before)
            let days = try await database.number(
                "select max(first_day + cardinality(quote_ids)) - (now() at time zone 'UTC')::date from quotes.cycle")
            try await database.live(from: "today", to: "today", days: days + 400)
            try await database.expectCycles()
            #expect(
                try await database.number(
                    "select count(*) from quotes.cycle where \(id) = any (quote_ids) and first_day <= now()") == 0)
            #expect(try await database.number("select count(*) from quotes.day where quote_id = \(id)") >= 2)
        }
    }

    @Test("Q2: a retired quote isn't shown from the day on that is tomorrow everywhere, wherever in its cycle that is")
    func retiring() async throws {
        // The number of days from today to the end of its cycle.
        for left in [60, 5, 1] {
            try await withAppDatabase { database, _ in
                try await database.execute("truncate quotes.day, quotes.cycle")
                try await database.execute(
                    Statement(
                        """
                        insert into quotes.cycle (number, first_day, quote_ids)
                        select 1, (now() at time zone 'UTC')::date + \(left) - cardinality(ids) + 1, ids
                        from quotes.cycle_order(1, '{}') as ids
                        """))
                try await database.execute("select quotes.rotate_v1()")
                let days = "select day, quote_id from quotes.day where day <= current_date + 8 order by day"
                let before = try await database.lines(days)
                // The day after tomorrow: tomorrow may have begun at UTC+14.
                let victim = try await database.number(
                    "select quote_id from quotes.day where day = (now() at time zone 'UTC')::date + 2")
                try await database.execute(Statement("select quotes.retire(\(victim), 'doubtful')"))
                let after = try await database.lines(days)
                #expect(after.count == before.count)
                let changed = zip(before, after).count { $0 != $1 }
                // In the last days of a cycle, the next cycle's days move. A quote removed from it frees one day.
                #expect(changed == (left == 5 ? 7 : 1), "\(left)")
                try await database.live(from: "today", to: "today", days: 400)
                try await database.expectCycles()
                let shown = """
                    select count(*) from quotes.day
                    where quote_id = \(victim) and day > (now() at time zone 'UTC')::date
                    """
                #expect(try await database.number(shown) == 0)
            }
        }
    }

    @Test("Q2: few quotes alternate, the last one can't be retired, and without any no day has one")
    func few() async throws {
        try await withAppDatabase { database, _ in
            for count in 1...4 { try await rotates(of: count, in: database) }
        }
    }

    private func rotates(of count: Int, in database: Database) async throws {
        try await database.execute("truncate quotes.day, quotes.cycle, quotes.quote restart identity cascade")
        #expect(try await database.lines("select quote_id from quotes.of_the_day()") == [])
        #expect(try await database.number("select quotes.rotate_v1()") == 0)
        for n in 1...count { try await database.execute(Statement("select quotes.put('\(n)', 'a', 'Love')")) }
        // The first run has added the days around it.
        try await database.execute("truncate quotes.day, quotes.cycle")
        try await database.live(from: "today", to: "today", days: 100)
        try await database.expectCycles(alternates: count > 1)
        for n in 1..<count { try await database.execute(Statement("select quotes.retire(\(1000 + n), 'x')")) }
        let error = await #expect(throws: PostgresError.self) {
            try await database.execute(Statement("select quotes.retire(\(1000 + count), 'x')"))
        }
        #expect(error?.sqlState == "ER409")
        try await database.execute("select quotes.rotate_v1()")
        try await database.expectCycles(alternates: false)
    }

    @Test("quotes are found by words, category and author, page by page, each once, and retired ones not at all")
    func search() async throws {
        try await withAppDatabase { database, _ in
            var found: [String] = []
            while found.count < 1_000 {
                let after = found.last ?? "null"
                let page = try await database.lines("select id from quotes.search(after => \(after), most => 40)")
                if page.isEmpty { break }
                #expect(page.count <= 40)
                found += page
            }
            #expect(
                try await database.lines("select id from quotes.quote where retired_at is null order by id") == found)
            for column in ["category", "author"] {
                let name = column == "category" ? "categories" : "authors"
                let differing = """
                    select \(column) from quotes.\(name) as existing
                    where quotes <> (
                        select count(*) from quotes.search(\(column == "category" ? "in" : "by")_\(column) => \(column), most => 1000))
                    """
                #expect(try await database.lines(differing) == [])
            }
            let id = try await database.number(
                "select quotes.put('Teachers of failing students are taught', 'A. Tester', 'Wisdom')")
            let search = "select id from quotes.search($$student \"failing students\" -headmaster$$)"
            #expect(try await database.lines(search) == ["\(id)"])
            #expect(try await database.lines("select id from quotes.search('tester', 'Love')") == [])
            try await database.execute(Statement("select quotes.retire(\(id), 'a test')"))
            #expect(try await database.lines(search) == [])
            let error = await #expect(throws: PostgresError.self) {
                try await database.execute("select id from quotes.search(most => 0)")
            }
            #expect(error?.sqlState == "ER422")
        }
    }
}

extension Database {
    /// Lets the job run day by day, and on every ninth day only after 7 days of downtime; all that has to be there each
    /// time is: yesterday to 7 days ahead, and tomorrow at the end of the downtime.
    fileprivate func live(from first: String, to last: String, days: Int = 0) async throws {
        try await execute(
            Statement(
                """
                do $$
                declare
                    today date := '\(first)';
                    last date := date '\(last)' + \(days);
                begin
                    while today <= last loop
                        perform quotes.rotate_v1(today);
                        if (select count(*) from quotes.day where day between today - 1 and today + 7) <> 9 then
                            raise 'a day around % is missing', today;
                        end if;
                        today := today + case when (today - date '2020-01-01') % 9 = 0 then 7 else 1 end;
                        if not exists (select from quotes.day where day = today + 1) then
                            raise 'the day after % is missing', today;
                        end if;
                    end loop;
                end
                $$
                """))
    }

    /// Each day has the quote of its place in its cycle, no cycle shows one twice, cycles join, and none stays a second
    /// day.
    fileprivate func expectCycles(
        alternates: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let strays = try await number(
            """
            select count(*) from quotes.day
            where not exists (
                select from quotes.cycle
                where day >= first_day and quote_ids[day - first_day + 1] = quote_id)
            """)
        #expect(strays == 0, sourceLocation: sourceLocation)
        let doubles = try await number(
            """
            select count(*) from quotes.cycle
            where (select count(distinct id) from unnest(quote_ids) as id) <> cardinality(quote_ids)
            """)
        #expect(doubles == 0, sourceLocation: sourceLocation)
        let gaps = try await number(
            """
            select count(*) from (
                select first_day - lag(first_day + cardinality(quote_ids)) over (order by number) as gap from quotes.cycle
            ) as seam
            where gap <> 0
            """)
        #expect(gaps == 0, sourceLocation: sourceLocation)
        let stays = try await number(
            """
            select count(*) from (
                select quote_id = lag(quote_id) over (order by day) as stays from quotes.day
            ) as pair
            where stays
            """)
        if alternates { #expect(stays == 0, sourceLocation: sourceLocation) }
    }
}
