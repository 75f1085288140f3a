import Errand

extension Settings {
    /// The keys of encrypted payloads; nil if ERRAND_PAYLOAD_KEYS isn't set.
    func payloadKeys() throws -> PayloadKeys? {
        let setting = Setting.payloadKeys
        guard let (text, _) = value(setting) else { return nil }
        do {
            return text.contains("=") ? try PayloadKeys(text) : try PayloadKeys(path: text)
        } catch {
            throw ConfigurationError("\(setting.variable): \(error)")
        }
    }
}
