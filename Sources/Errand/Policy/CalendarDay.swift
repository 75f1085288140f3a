/// A day of the Gregorian calendar, without a time zone.
struct CalendarDay: Hashable {
    let year: Int
    /// 1...12
    let month: Int
    /// 1...31
    let day: Int
    /// 0 is Sunday.
    let weekday: Int

    /// The day of that number, counted from 1970-01-01.
    ///
    /// Years are counted from March, so that a leap day is a year's last day, in eras of 400 years, which are all alike
    /// (Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013).
    init(_ number: Int64) {
        let sinceMarch0 = number + 719_468
        let era = sinceMarch0.flooredQuotient(146_097)
        let dayOfEra = sinceMarch0 - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        weekday = Int(number + 4 - (number + 4).flooredQuotient(7) * 7)
    }

    /// The number of a date, counted from 1970-01-01.
    static func number(year: Int, month: Int, day: Int) -> Int64 {
        let year = Int64(month <= 2 ? year - 1 : year)
        let era = year.flooredQuotient(400)
        let yearOfEra = year - era * 400
        let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    static func days(inMonth month: Int, of year: Int) -> Int {
        month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    var daysInMonth: Int { Self.days(inMonth: month, of: year) }
}

extension Int64 {
    /// The quotient, rounded down below 0 as well.
    func flooredQuotient(_ divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
