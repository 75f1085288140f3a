import Endpoints
import Errand
import Foundation
import Logging
import NIOSSL

extension Settings {
    /// What calls endpoints; nil if ERRAND_ENDPOINT_SECRETS isn't set. Then their jobs are left to other workers.
    func endpointCaller(_ logger: Logger) throws -> (any EndpointCaller)? {
        guard let (text, _) = value(.endpointSecrets) else { return nil }
        var configuration = HTTPEndpointCaller.Configuration(secrets: try secretSource(text, logger))
        configuration.secretsSetting = Setting.endpointSecrets.variable
        if let (url, _) = value(.apiURL) {
            configuration.callbackBase = url.hasSuffix("/") ? String(url.dropLast()) : url
        }
        if let (path, _) = value(.endpointAuthorities) {
            do {
                configuration.authorities = try NIOSSLCertificate.fromPEMFile(path)
            } catch {
                let setting = Setting.endpointAuthorities
                throw ConfigurationError("\(setting.variable): expected \(setting.expected), got something else")
            }
        }
        return MeasuredEndpoints(HTTPEndpointCaller(configuration), logger: logger)
    }

    /// The secrets themselves, or the file with this name.
    private func secretSource(_ text: String, _ logger: Logger) throws -> SecretSource {
        do {
            return text.contains("=")
                ? SecretSource(try EndpointSecrets(text)) : try SecretSource(path: text, logger: logger)
        } catch {
            throw ConfigurationError("\(Setting.endpointSecrets.variable): \(error)")
        }
    }
}
