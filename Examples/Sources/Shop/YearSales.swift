import Errand

/// Adds up the sales of a month.
public struct MonthSales: Job {
    public static let kind: JobKind = "month_sales"
    public let year: Int
    public let month: Int
}

/// Adds up the sales of a year, once its months are there.
public struct YearSales: Job {
    public static let kind: JobKind = "year_sales"
    public let year: Int
}

public struct MonthSalesHandler: JobHandler {
    public init() {}

    public func run(_ job: MonthSales, in context: JobContext) async throws -> Outcome {
        let cents = try await context.database.query(
            Statement(
                """
                select coalesce(sum(cents), 0) from public.orders
                where paid_at >= make_date($1::int4, $2::int4, 1)
                    and paid_at < make_date($1::int4, $2::int4, 1) + interval '1 month'
                """, [job.year, job.month])
        ).scalar(Int.self)
        return try .done(cents)
    }
}

public struct YearSalesHandler: JobHandler {
    public init() {}

    public func run(_ job: YearSales, in context: JobContext) async throws -> Outcome {
        let months = try await context.parents()
        return try .done(months.compactMap { try $0.output(as: Int.self) }.reduce(0, +))
    }
}

extension Shop {
    /// Enqueues the months of a year, and the year, which waits for them. Returns the job of the year.
    public func addUpSales(of year: Int) async throws -> Int64 {
        let months = try await queue.enqueue(all: (1...12).map { MonthSales(year: year, month: $0) })
        return try await queue.enqueue(YearSales(year: year), .after(months), .followed).id
    }
}
