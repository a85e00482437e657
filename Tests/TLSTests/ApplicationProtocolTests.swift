import COpenSSL
import Crypto
import Testing

@testable import TLS

/// Which version of HTTP two peers agree on.
@Suite struct ApplicationProtocolTests {
  private let authority: Authority
  init() throws { authority = try Authority() }

  private static let offers: [(ALPNOffer?, ApplicationProtocol)] = [
    // The context's.
    (nil, .http1), (.http1, .http1), (.http2, .http2), (.http2AndHTTP1, .http2),
  ]

  @Test(arguments: offers, [ProtocolVersion.tls12, .tls13])
  func `connections of one context offer each its own`(
    _ offer: (ALPNOffer?, ApplicationProtocol), _ version: ProtocolVersion
  ) throws {
    let client = try authority.client()
    let server = try authority.server {
      $0.alpn = ["h2", "http/1.1"]
      $0.maximumVersion = version
    }
    let wire = try Wire(client, server, host: "api.example.com", offering: offer.0)
    #expect(wire.handshake() == .done)
    #expect(wire.client.selectedProtocol == offer.1 && wire.client.selectedALPN == offer.1.rawValue)
    #expect(wire.server.selectedALPN == offer.1.rawValue)
    #expect(wire.client.mayCarryHTTP2)
  }

  @Test(arguments: offers)
  func `a server without ALPN speaks 1 point 1, whatever was offered`(_ offer: (ALPNOffer?, ApplicationProtocol)) throws {
    let wire = try Wire(authority.client(), authority.server { $0.alpn = [] }, host: "api.example.com", offering: offer.0)
    #expect(wire.handshake() == .done)
    #expect(wire.client.selectedALPN == nil && wire.client.selectedProtocol == .http1)
  }

  @Test func `the server's order decides, and its choice is the connection's`() throws {
    let client = try authority.client()
    let old = try Wire(
      client, authority.server { $0.alpn = ["http/1.1", "h2"] }, host: "api.example.com", offering: .http2AndHTTP1)
    #expect(old.handshake() == .done)
    #expect(old.client.selectedProtocol == .http1)
    let new = try Wire(client, authority.server { $0.alpn = ["h2"] }, host: "api.example.com", offering: .http2AndHTTP1)
    #expect(new.handshake() == .done)
    #expect(new.client.selectedProtocol == .http2)
  }

  @Test(arguments: [(ALPNOffer?.none, "h2"), (.http1, "h2"), (.http2, "http/1.1"), (.http2AndHTTP1, "h3")])
  func `a choice that was not offered ends the handshake`(_ offer: ALPNOffer?, _ chosen: String) throws {
    let server = try authority.server()
    SSL_CTX_set_alpn_select_cb(server.pointer, chosen == "h2" ? chooseHTTP2 : chosen == "h3" ? chooseHTTP3 : chooseHTTP1, nil)
    let wire = try Wire(authority.client(), server, host: "api.example.com", offering: offer)
    guard case .failed(let error) = wire.handshake() else {
      Issue.record("the server chose \(chosen)")
      return
    }
    #expect(error.alert == nil)
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a server with none of the offered protocols says so by its alert`(_ version: ProtocolVersion) throws {
    let wire = try AcceptedWire(
      authority.client(), authority.accepting(), identity: authority.identity(.server(["api.example.com"])), offering: .http2)
    wire.client.limit(to: version)
    guard case .failed(let error) = try wire.handshake() else {
      Issue.record("no protocol in common")
      return
    }
    #expect(error.kind == .alert && error.alert == .noApplicationProtocol)
    let other = try Wire(Authority("Other").client(), authority.server(), host: "api.example.com")
    guard case .failed(let refused) = other.handshake() else {
      Issue.record("the chain ends in another root")
      return
    }
    #expect(refused.alert == nil)
    #expect(other.server.lastError?.alert == .unknownCA)
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a resumed connection agrees anew`(_ version: ProtocolVersion) throws {
    let client = try authority.client()
    let server = try authority.server {
      $0.alpn = ["h2", "http/1.1"]
      $0.maximumVersion = version
    }
    var session: TLSSession?
    for (offer, expected) in [(ALPNOffer.http2AndHTTP1, ApplicationProtocol.http2), (.http1, .http1), (.http2, .http2)] {
      let wire = try Wire(client, server, host: "api.example.com", offering: offer, session: session)
      #expect(wire.handshake() == .done)
      #expect(wire.client.isResumed == (session != nil))
      #expect(wire.client.selectedProtocol == expected)
      #expect(wire.server.send("x") == 1)
      _ = wire.drain(wire.client)
      if let next = wire.client.takeSession() { session = next }
      #expect(session != nil)
    }
  }

  // MARK: Apps

  @Test(
    arguments: [
      (ALPNOffer?.none, ["h2", "http/1.1"], "http/1.1"), (.http1, ["h2", "http/1.1"], "http/1.1"),
      (.http2AndHTTP1, ["h2", "http/1.1"], "h2"), (.http2AndHTTP1, ["http/1.1", "h2"], "h2"),
      (.http2AndHTTP1, ["http/1.1"], "http/1.1"), (.http2AndHTTP1, [], nil), (.http2, ["h2"], "h2"),
      (.http2, ["http/1.1"], ""), (.http1, ["h2"], ""), (.http2AndHTTP1, ["h3"], ""),
    ] as [(ALPNOffer?, [String], String?)])
  func `apps get the best that this connection accepts`(_ accepts: ALPNOffer?, _ offered: [String], _ chosen: String?) throws {
    let wire = try AcceptedWire(
      authority.client { $0.alpn = offered }, authority.accepting(),
      identity: authority.identity(.server(["api.example.com"])), accepting: accepts)
    let result = try wire.handshake()
    if chosen == "" {
      #expect(wire.failure?.reason == .noCommonProtocol && wire.failure?.sent == .noApplicationProtocol)
      guard case .failed(let error) = result else {
        Issue.record("\(offered) has nothing of \(String(describing: accepts))")
        return
      }
      #expect(error.alert == .noApplicationProtocol)
      return
    }
    #expect(result == .done && wire.accepted == .done)
    #expect(wire.server.selectedALPN == chosen)
    #expect(wire.server.selectedProtocol == (chosen == "h2" ? .http2 : .http1))
  }

  // MARK: Ciphers

  @Test(arguments: [
    ("ECDHE-ECDSA-AES128-GCM-SHA256", true), ("ECDHE-ECDSA-CHACHA20-POLY1305", true),
    ("ECDHE-ECDSA-AES128-SHA256", false), ("ECDHE-ECDSA-AES256-SHA", false),
  ])
  func `TLS 1.2 carries HTTP 2 with good ciphers only`(_ cipher: String, _ isGood: Bool) throws {
    let wire = try Wire(
      authority.client(),
      authority.server {
        $0.maximumVersion = .tls12
        $0.alpn = ["h2"]
      }, host: "api.example.com", offering: .http2)
    #expect(SSL_set_cipher_list(wire.client.pointer, cipher) == 1)
    #expect(wire.handshake() == .done)
    #expect(wire.client.selectedProtocol == .http2)
    #expect(wire.client.mayCarryHTTP2 == isGood)
  }

  /// RFC 9113 appendix A lists all ciphers of its time but those with (EC)DHE, authentication by certificate or key, and GCM, CCM or
  /// ChaCha20: a name says which they are.
  @Test func `every cipher that appendix A lists is refused`() throws {
    let context = try authority.client { $0.minimumVersion = .tls10 }
    SSL_CTX_set_security_level(context.pointer, 0)
    #expect(SSL_CTX_set_cipher_list(context.pointer, "ALL:COMPLEMENTOFALL:eNULL:@SECLEVEL=0") == 1)
    let ciphers = try #require(SSL_CTX_get_ciphers(context.pointer))
    var (good, bad) = (0, 0)
    for index in 0..<OPENSSL_sk_num(ciphers) {
      let cipher = OpaquePointer(try #require(OPENSSL_sk_value(ciphers, index)))
      let name = String(cString: try #require(SSL_CIPHER_standard_name(cipher)))
      // Those of TLS 1.3 name neither key exchange nor authentication.
      guard name.contains("_WITH_") else { continue }
      let isEphemeral = name.contains("DHE_")
      let isAEAD = ["_GCM_", "_CCM", "_CHACHA20_POLY1305_"].contains { name.contains($0) }
      #expect(TLSConnection.isGoodForHTTP2(cipher) == (isEphemeral && isAEAD), "\(name)")
      if isEphemeral && isAEAD { good += 1 } else { bad += 1 }
    }
    #expect(good > 20 && bad > 50, "\(good) good, \(bad) bad")
  }
}

private typealias Choice =
  @convention(c) (
    OpaquePointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt8>?, UnsafePointer<UInt8>?, UInt32,
    UnsafeMutableRawPointer?
  ) -> Int32

/// As a server does that has not read what its client offers.
private func choose(
  _ name: StaticString, _ output: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?
) {
  output?.pointee = name.utf8Start
  length?.pointee = UInt8(name.utf8CodeUnitCount)
}

private let chooseHTTP2: Choice = { _, output, length, _, _, _ in
  choose("h2", output, length)
  return SSL_TLSEXT_ERR_OK
}

private let chooseHTTP1: Choice = { _, output, length, _, _, _ in
  choose("http/1.1", output, length)
  return SSL_TLSEXT_ERR_OK
}

private let chooseHTTP3: Choice = { _, output, length, _, _, _ in
  choose("h3", output, length)
  return SSL_TLSEXT_ERR_OK
}
