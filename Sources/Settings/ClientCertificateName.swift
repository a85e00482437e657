import TLS

/// What a verified certificate must say to be a client's: never its common name.
public enum ClientCertificateName: Sendable, Hashable {
  /// A subject alternative name, compared byte by byte.
  case uri(String)
  /// A subject alternative name, lower-case. A wildcard in a certificate stands for no client.
  case dns(String)
  /// SHA-256 of the certificate's SubjectPublicKeyInfo, 32 bytes.
  case pin([UInt8])
}

/// Clients by what their certificates say. Made once with the configuration.
public struct ClientCertificateNames: Sendable {
  /// Places in the configuration's clients.
  private let places: [ClientCertificateName: Int]

  public init(_ clients: [ClientSettings]) {
    var places: [ClientCertificateName: Int] = [:]
    for (place, client) in clients.enumerated() {
      if let name = client.certificate { places[name] = places[name] ?? place }
    }
    self.places = places
  }

  public var isEmpty: Bool { places.isEmpty }

  /// The place of the client that a certificate names; of several the first one in the configuration. nil: none.
  /// - Parameter certificate: verified.
  public func client(of certificate: Certificate) -> Int? {
    if places.isEmpty { return nil }
    let names = certificate.alternativeNames.compactMap { name -> ClientCertificateName? in
      switch name {
      case .uri(let text): .uri(text)
      case .dns(let text): .dns(text.lowercased())
      case .ip, .other: nil
      }
    }
    return (names + [.pin(certificate.publicKeyDigest)]).compactMap { places[$0] }.min()
  }
}
