import Foundation
import Logging
import TraceExport
import Tracing

extension Environment {
    /// Makes this process trace, so it must come before services with spans. Once per process.
    ///
    /// - Returns: what exports the spans; nil without OTEL_EXPORTER_OTLP_ENDPOINT.
    func traces() throws -> SpanExporter? {
        guard settings.value(.traceEndpoint) != nil else { return nil }
        let headers = settings.value(.traceHeaders)?.text ?? ""
        let collector = try settings.value(.traceEndpoint) { TraceCollector(endpoint: $0, headers: headers) }
        let process = ProcessInfo.processInfo
        let exporter = SpanExporter(
            to: collector, service: try settings.value(.serviceName) { $0 },
            instance: "\(process.hostName):\(process.processIdentifier)", version: ErrandCommand.version, logger: logger
        )
        InstrumentationSystem.bootstrap(ExportTracer(exporter))
        return exporter
    }
}
