import Crypto
import TLS

/// A server certificate that the proxy made for one host, with its key and what goes with it in the handshake.
public struct Leaf: Sendable {
  /// Leaf first, without the root.
  public let identity: TLSIdentity
  /// Seconds since 1970.
  public let notAfter: Int64
  /// Seconds since 1970: the first handshake from then on makes another one.
  public let renewal: Int64
}

extension SigningCA {
  /// Makes a leaf for a host that it permits: this host and no other name, so that no client can use the connection for another.
  ///
  /// Takes 0.2 ms with an EC key; see `signsSlowly`.
  /// - Parameters:
  ///   - host: not a wildcard.
  ///   - lifetime: seconds.
  ///   - now: seconds since 1970.
  public func makeLeaf(for host: PeerName, lifetime: Int64, now: Int64) throws(OpenSSLError) -> Leaf {
    try makeLeaf(forAll: [host], lifetime: lifetime, now: now)
  }

  /// As `makeLeaf(for:)`, for a listener of the proxy's own, which has several names.
  /// - Parameter hosts: at least one.
  public func makeLeaf(forAll hosts: [PeerName], lifetime: Int64, now: Int64) throws(OpenSSLError) -> Leaf {
    guard let first = hosts.first, hosts.allSatisfy(permits), !isExpired(at: now) else {
      let names = hosts.map(\.text).joined(separator: ", ")
      throw OpenSSLError(.configuration, "no leaf for \(names): the CA does not permit it, or has expired")
    }
    // OpenSSL holds a common name against DNS constraints if there is no DNS name, so an address gets none. It holds 64 characters.
    let hasCommonName = first.address == nil && first.text.utf8.count <= 64
    var builder = CertificateBuilder(commonName: hasCommonName ? first.text : "")
    for host in hosts {
      if host.address == nil { builder.dnsNames.append(host.text) } else { builder.addresses.append(host.text) }
    }
    builder.purposes = [.serverAuth]
    builder.notBefore = now - 3600
    builder.notAfter = min(now + lifetime, notAfter)
    let key = try PrivateKey.generateP256()
    let certificate = try builder.issued(to: key, by: chain[0], self.key)
    return Leaf(
      identity: try TLSIdentity(chain: [certificate] + chain.dropLast(), key: key), notAfter: builder.notAfter,
      renewal: now + (builder.notAfter - now) / 2)
  }
}

/// The authorities of a configuration, in its order.
public struct SigningCAs: Sendable, Hashable {
  public let list: [SigningCA]

  public init(_ list: [SigningCA]) { self.list = list }

  /// The first that permits the host and has not expired; nil: nobody can sign for it now.
  /// - Parameter now: seconds since 1970.
  public func signer(for host: PeerName, at now: Int64) -> SigningCA? {
    list.first { !$0.isExpired(at: now) && $0.permits(host) }
  }

  /// The first that permits all of these and has not expired.
  public func signer(forAll hosts: [PeerName], at now: Int64) -> SigningCA? {
    list.first { !$0.isExpired(at: now) && hosts.allSatisfy($0.permits) }
  }

  /// The first that permits every name below `base`.
  public func signer(forNamesBelow base: String, at now: Int64) -> SigningCA? {
    list.first { !$0.isExpired(at: now) && $0.permits(namesBelow: base) }
  }

  /// What apps are to trust, each once.
  public func roots(at now: Int64) -> [Certificate] {
    var seen: Set<Certificate> = []
    return list.filter { !$0.isExpired(at: now) }.map(\.root).filter { seen.insert($0).inserted }
  }
}
