import ArgumentParser

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show every setting in force and where it came from; secrets stay hidden.",
        discussion: """
            ERRAND_QUEUES=default=20 errand config

            Settings come from the environment, then from the JSON file that ERRAND_CONFIG names (or errand.json in the \
            working folder), then from defaults. In the file: {"errand": {"queues": "default=20", "log": {"level": "debug"}}}
            """)

    @Flag(help: "Print a JSON array of {\"setting\", \"value\", \"from\", \"expected\", \"purpose\", \"secret\"}.")
    var json = false

    struct Line: Encodable {
        let setting: String
        let key: String
        let value: String?
        let from: String
        let expected: String
        let purpose: String
        let secret: Bool
    }

    func run() async throws {
        let settings = try Settings.load()
        let lines = Setting.all.map { setting in
            let value = settings.value(setting)
            return Line(
                setting: setting.variable, key: setting.key,
                value: value.map { setting.mayShow($0.text) ? $0.text : "(hidden)" },
                from: value.map { "\($0.origin)" } ?? "unset", expected: setting.expected, purpose: setting.purpose,
                secret: setting.isSecret)
        }
        if json { return print(try Command.json(lines)) }
        for line in lines {
            print(
                "\(line.setting)=\((line.value ?? "").printable)\n    \(line.from); \(line.purpose): \(line.expected)")
        }
    }
}
