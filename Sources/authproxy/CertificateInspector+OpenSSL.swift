import CSystem
import ConfigurationFile
import Credentials
import TLS

extension CertificateInspector {
  /// What OpenSSL makes of the certificates, keys and CRLs that a configuration names. Dates are warnings, as they change without
  /// the file and must not keep a proxy from starting; what cannot be used at all is an error.
  static let openSSL = CertificateInspector(
    certificate: { @Sendable der in
      guard let certificate = try? Certificate(der: der) else {
        return [Finding(.error, "holds a certificate that OpenSSL cannot read")]
      }
      return dates(certificate)
    },
    revocationList: { @Sendable der in
      guard let list = try? CertificateList(der: der) else { return [Finding(.error, "holds a CRL that OpenSSL cannot read")] }
      guard let next = list.nextUpdate, next < Days.now else { return [] }
      return [Finding(.warning, "holds a CRL that was to be replaced by \(Days.date(next)) (\(Days.distance(next)))")]
    },
    privateKey: { @Sendable pem, passphrase in
      if (try? PrivateKey(pem: pem.bytes, passphrase: passphrase?.bytes)) != nil { return [] }
      return [
        Finding(
          .error,
          passphrase == nil
            ? "holds a private key that OpenSSL cannot read" : "holds a private key that the passphrase does not open")
      ]
    },
    keyPair: { @Sendable chain, pem, passphrase in
      // What cannot be read was reported where it was read.
      guard let leaf = chain.first.flatMap({ try? Certificate(der: $0) }),
        let key = try? PrivateKey(pem: pem.bytes, passphrase: passphrase?.bytes)
      else { return [] }
      if leaf.publicKeyInfo == key.publicKeyInfo { return [] }
      return [Finding(.error, "begins with the certificate \(leaf.subject), which does not belong to the private key")]
    })

  private static func dates(_ certificate: Certificate) -> [Finding] {
    let name = certificate.subject.isEmpty ? "a certificate" : certificate.subject
    if certificate.notBefore > Days.now {
      return [Finding(.warning, "holds \(name), which is not valid before \(Days.date(certificate.notBefore))")]
    }
    guard Days.isNear(certificate.notAfter) else { return [] }
    let verb = certificate.notAfter < Days.now ? "expired" : "expires"
    return [
      Finding(
        .warning, "holds \(name), which \(verb) \(Days.date(certificate.notAfter)) (\(Days.distance(certificate.notAfter)))")
    ]
  }
}

/// Dates as far from today as people think of them. All times are seconds since 1970.
enum Days {
  /// Time enough to have a certificate made, or pins rolled out.
  private static let near: Int64 = 30 * day
  private static let day: Int64 = 86_400

  static var now: Int64 { csys_wall_clock() / 1_000_000_000 }
  static func isNear(_ time: Int64) -> Bool { time - now < near }

  /// `2027-06-01`, UTC.
  static func date(_ time: Int64) -> String {
    var clock = time_t(time)
    var parts = tm()
    gmtime_r(&clock, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
  }

  /// `in 12 days`, `3 days ago`, `today`.
  static func distance(_ time: Int64) -> String {
    let days = (time - now) / day
    switch days {
    case 0: return "today"
    case 1: return "tomorrow"
    case -1: return "yesterday"
    default: return days > 0 ? "in \(days) days" : "\(-days) days ago"
    }
  }
}
