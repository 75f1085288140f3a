/// One of the six fields of a cron expression: its values and their names.
struct CronField {
    let name: String
    let values: ClosedRange<Int>
    /// Full names in lower case, from the lowest value on; three letters of each are enough.
    var words: [String] = []
    /// What else the field accepts, for errors.
    var others = ""

    static let second = CronField(name: "second", values: 0...59)
    static let minute = CronField(name: "minute", values: 0...59)
    static let hour = CronField(name: "hour", values: 0...23)
    static let dayOfMonth = CronField(name: "day of month", values: 1...31, others: ", or L (the last), L-1 to L-30")
    static let month = CronField(
        name: "month", values: 1...12,
        words: [
            "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
            "november", "december",
        ])
    /// Sunday is 0 and 7.
    static let dayOfWeek = CronField(
        name: "day of week", values: 0...7,
        words: ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"],
        others: ", or FRI#2 (the second Friday), FRIL (the last)")
}

extension CronField {
    /// The values of a field's text, one bit each.
    func bits(_ text: Substring) throws(ScheduleError) -> UInt64 {
        var bits: UInt64 = 0
        for item in text.split(separator: ",", omittingEmptySubsequences: false) { bits |= try self.bits(ofItem: item) }
        return bits
    }

    /// The values of one item of a field's list.
    func bits(ofItem item: Substring) throws(ScheduleError) -> UInt64 {
        let halves = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        let step = halves.count == 2 ? try self.step(halves[1], in: item) : nil
        let range = try self.range(halves[0], in: item, hasStep: step != nil)
        var bits: UInt64 = 0
        for value in stride(from: range.lowerBound, through: range.upperBound, by: step ?? 1) { bits |= 1 << value }
        return bits
    }

    /// A single value, by its number or its name.
    ///
    /// - Parameter item: what an error shows.
    func value(_ text: Substring, in item: Substring) throws(ScheduleError) -> Int {
        if let value = Self.number(text), values.contains(value) { return value }
        let word = text.lowercased()
        if let index = words.firstIndex(where: { $0 == word || $0.prefix(3) == word }) {
            return values.lowerBound + index
        }
        throw unexpected(item)
    }

    /// One or two digits; nil if the text is anything else.
    static func number(_ text: Substring) -> Int? {
        text.utf8.count <= 2 && text.utf8.allSatisfy { (48...57).contains($0) } ? Int(text) : nil
    }

    /// The error for an item that this field doesn't accept.
    func unexpected(_ item: Substring) -> ScheduleError {
        let numbers = "\(values.lowerBound) to \(values.upperBound)"
        let names =
            words.isEmpty ? "" : " or \(words[0].prefix(3).uppercased()) to \(words.last!.prefix(3).uppercased())"
        let start = words.isEmpty && others.isEmpty ? "* or " : "*, "
        return ScheduleError(name, expected: start + numbers + names + others, came: String(item))
    }

    private func range(_ text: Substring, in item: Substring, hasStep: Bool) throws(ScheduleError) -> ClosedRange<Int> {
        // The second Sunday, 7, is the same day: a wildcard leaves it out, so that its steps count from one Sunday
        // only.
        if text == "*" { return values.lowerBound...(self.name == "day of week" ? 6 : values.upperBound) }
        let ends = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = try value(ends[0], in: item)
        guard ends.count == 2 else { return first...(hasStep ? values.upperBound : first) }
        var last = try value(ends[1], in: item)
        if last == 0, first > 0, values.upperBound == 7 { last = 7 }
        guard first <= last else {
            throw ScheduleError(
                name,
                expected: "a range that goes up, such as \(last)-\(first) or \(first)-\(values.upperBound),"
                    + "\(values.lowerBound)-\(last)", came: String(item))
        }
        return first...last
    }

    private func step(_ text: Substring, in item: Substring) throws(ScheduleError) -> Int {
        if let step = Self.number(text), (1...values.upperBound).contains(step) { return step }
        throw ScheduleError(name, expected: "a step of 1 to \(values.upperBound) behind /", came: String(item))
    }
}
