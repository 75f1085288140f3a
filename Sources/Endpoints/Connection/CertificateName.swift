import NIOSSL

extension NIOSSLCertificate {
    /// Whether the certificate is for a server of this name, in small letters.
    ///
    /// NIOSSL, which has verified the certificate, also takes one that is only for the server's IP address. Who changes
    /// a name's address can get a certificate for his own address, so that would prove nothing.
    func names(_ host: String) -> Bool {
        let rest = host.drop { $0 != "." }
        return _subjectAlternativeNames().contains { entry in
            guard entry.nameType == .dnsName else { return false }
            let name = String(decoding: entry.contents, as: UTF8.self).lowercased()
            // `*` is the whole first label, and no part of one.
            return name == host || !rest.isEmpty && name == "*\(rest)"
        }
    }
}
