import Foundation

/// Everything that one call of the bench has measured: what the results file holds.
public struct Results: Codable, Sendable, Equatable {
    /// When it began, UTC: also the file's name.
    public var started: String
    /// Whether it was a full run, whose numbers aren't those of another.
    public var isFull: Bool
    /// The machine and the server's settings that matter, by name.
    public var machine: [String: String]
    public var contenders: [Facts]
    public var samples: [Sample] = []

    public init(started: String, isFull: Bool, machine: [String: String], contenders: [Facts]) {
        self.started = started
        self.isFull = isFull
        self.machine = machine
        self.contenders = contenders
    }

    /// What a contender says of itself; the names are those of its own JSON.
    public struct Facts: Codable, Sendable, Equatable {
        public var name: String
        public var version: String
        public var settings: String
        public var finished_job_is: String
        /// SQL that is true while a job isn't finished.
        public var unfinished: String
        public var bulk: String
        public var language: String

        public init(
            name: String, version: String, settings: String, finished_job_is: String, unfinished: String, bulk: String,
            language: String
        ) {
            self.name = name
            self.version = version
            self.settings = settings
            self.finished_job_is = finished_job_is
            self.unfinished = unfinished
            self.bulk = bulk
            self.language = language
        }
    }

    /// What one contender gave in one round of one scenario.
    public struct Sample: Codable, Sendable, Equatable {
        public var scenario: String
        public var contender: String
        /// Counted from 1.
        public var round: Int
        /// The machine's load in the minute before.
        public var load: Double
        public var values: Values

        public init(scenario: String, contender: String, round: Int, load: Double, values: Values) {
            self.scenario = scenario
            self.contender = contender
            self.round = round
            self.load = load
            self.values = values
        }
    }
}

// MARK: - In files
extension Results {
    public init(json: Data) throws {
        self = try JSONDecoder().decode(Results.self, from: json)
    }

    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + Data("\n".utf8)
    }
}

// MARK: - By series
extension Results {
    /// Which number: one metric of one contender in one scenario.
    public struct Key: Hashable, Sendable {
        public var scenario: String
        public var contender: String
        public var metric: Metric

        public init(_ scenario: String, _ contender: String, _ metric: Metric) {
            self.scenario = scenario
            self.contender = contender
            self.metric = metric
        }
    }

    /// The rounds of each number.
    public var series: [Key: Series] {
        var rounds: [Key: [Double]] = [:]
        for sample in samples {
            for (metric, value) in sample.values {
                rounds[Key(sample.scenario, sample.contender, metric), default: []].append(value)
            }
        }
        return rounds.compactMapValues(Series.init)
    }

    /// Each once, in the order in which they were first measured.
    public var scenarios: [String] { Self.unique(samples.map(\.scenario)) }

    public func contenders(in scenario: String) -> [String] {
        Self.unique(samples.filter { $0.scenario == scenario }.map(\.contender))
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }
}
