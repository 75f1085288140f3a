/// A metric's type, as Prometheus names it.
enum MetricType: String, Sendable {
    case counter, gauge, histogram, summary
}

/// A label of a sample: its name, with characters that Prometheus allows, and its value, which may be any text.
struct Label: Hashable, Sendable, Comparable {
    let name: String
    let value: String

    init(_ name: String, _ value: String) {
        self.name = name.metricName.replacing(":", with: "_")
        self.value = value
    }

    static func < (left: Label, right: Label) -> Bool { (left.name, left.value) < (right.name, right.value) }
}

/// A page of samples in Prometheus's text format 0.0.4: all samples of a metric are together, whenever they were added.
struct MetricPage {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private var metrics: [String: String] = [:]
    private var order: [String] = []

    mutating func add(_ name: String, _ type: MetricType, suffix: String = "", _ labels: [Label], _ value: Double) {
        if metrics[name] == nil {
            metrics[name] = "# HELP \(name) \(MetricHelp[name])\n# TYPE \(name) \(type.rawValue)\n"
            order.append(name)
        }
        let pairs = labels.map { "\($0.name)=\"\($0.value.escaped)\"" }.joined(separator: ",")
        metrics[name, default: ""] += "\(name)\(suffix)\(pairs.isEmpty ? "" : "{\(pairs)}") \(value.metricText)\n"
    }

    var text: String { order.compactMap { metrics[$0] }.joined() }
}

extension String {
    /// The text with `_` for characters that Prometheus doesn't allow in names.
    var metricName: String {
        var name = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isFit = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            name.append(isFit || scalar == "_" || scalar == ":" ? scalar : "_")
        }
        return name.first.map { ("0"..."9").contains($0) } ?? true ? "_" + String(name) : String(name)
    }

    fileprivate var escaped: String {
        guard utf8.contains(where: { [UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "\n")].contains($0) }) else {
            return self
        }
        return replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

extension Double {
    /// As Prometheus reads it; whole numbers without a fraction.
    var metricText: String {
        if isNaN { return "NaN" }
        if isInfinite { return self > 0 ? "+Inf" : "-Inf" }
        return Int64(exactly: self).map { "\($0)" } ?? "\(self)"
    }
}
