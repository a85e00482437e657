import COpenSSL
import Crypto
import Testing

@testable import TLS

/// Handshakes that apps begin.
@Suite struct AcceptTests {
  private let authority: Authority
  private let identity: TLSIdentity

  init() throws {
    authority = try Authority()
    identity = try authority.identity(.server(["api.example.com"]))
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13], [Int.max, 1])
  func `the handshake waits for a certificate once it knows for whom`(_ version: ProtocolVersion, _ portion: Int) throws {
    let wire = try AcceptedWire(authority.client(), authority.accepting())
    wire.client.limit(to: version)
    wire.portion = portion
    #expect(try wire.handshake() == .wantRead)
    let hello = ClientHello(serverName: "api.example.com", protocols: [Array("http/1.1".utf8)])
    #expect(wire.accepted == .wantIdentity(hello))
    #expect(wire.server.clientHello == hello)
    wire.identity = identity
    try wire.accept()
    #expect(try wire.handshake() == .done)
    #expect(wire.accepted == .done)
    #expect(wire.server.protocolVersion == version && wire.server.selectedALPN == "http/1.1")
    #expect(wire.client.verifiedChain.first == identity.chain[0])
    #expect(wire.client.send("ping") == 4)
    #expect(wire.serverReads().text == "ping")
    #expect(wire.server.send("pong") == 4)
    #expect(wire.clientReads().text == "pong")
    #expect(wire.server.sentAlert == nil && wire.server.receivedAlert == nil)
  }

  @Test(arguments: [
    ("api.example.com", "api.example.com", true), ("API.example.COM.", "api.example.com", true),
    ("other.example.com", "api.example.com", false), ("www.api.example.com", "api.example.com", false),
    // No name is asked for an address, and none holds against one.
    ("192.0.2.7", "api.example.com", true), ("192.0.2.7", "192.0.2.7", true), ("api.example.com", "192.0.2.7", false),
  ])
  func `another server name is refused before a certificate is made`(_ asked: String, _ expected: String, _ isGood: Bool) throws
  {
    let wire = try AcceptedWire(authority.client(), authority.accepting(), serverName: asked, for: expected)
    let result = try wire.handshake()
    if isGood {
      #expect(!wire.hellos.isEmpty)
      return
    }
    #expect(wire.hellos.isEmpty)
    #expect(wire.failure?.reason == .wrongName(PeerName(asked).text))
    #expect(wire.failure?.sent == .unrecognizedName)
    guard case .failed(let error) = result else {
      Issue.record("the client must be told")
      return
    }
    #expect(error.kind == .alert && error.message.contains("unrecognized name"))
  }

  @Test func `a name for which nothing is expected is told to who brings the certificate`() throws {
    let wire = try AcceptedWire(
      authority.client(), authority.accepting(), serverName: "api.example.com", for: nil, identity: identity)
    #expect(try wire.handshake() == .done)
    #expect(wire.hellos.map(\.serverName) == ["api.example.com"])
  }

  @Test func `protocols of which none is ours are refused, and none at all is HTTP/1.1`() throws {
    let other = try AcceptedWire(authority.client { $0.alpn = ["h2", "http/1.0"] }, authority.accepting(), identity: identity)
    guard case .failed(let error) = try other.handshake() else {
      Issue.record("no protocol in common")
      return
    }
    #expect(error.message.contains("no application protocol"))
    #expect(other.failure?.reason == .noCommonProtocol)
    #expect(other.failure?.sent == .noApplicationProtocol)
    #expect(other.hellos.isEmpty)
    let none = try AcceptedWire(authority.client { $0.alpn = [] }, authority.accepting(), identity: identity)
    #expect(try none.handshake() == .done)
    #expect(none.server.selectedALPN == nil)
    let both = try AcceptedWire(
      authority.client { $0.alpn = ["h2", "http/1.1"] }, authority.accepting { $0.alpn = ["h2", "http/1.1"] },
      identity: identity)
    #expect(try both.handshake() == .done)
    #expect(both.server.selectedALPN == "h2")
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a client that does not trust the certificate says so`(_ version: ProtocolVersion) throws {
    let wire = try AcceptedWire(Authority("Other").client(), authority.accepting(), identity: identity)
    wire.client.limit(to: version)
    try wire.handshake()
    wire.give(wire.fromClient())
    #expect(wire.failure?.reason == .refusedByClient(.unknownCA))
    #expect(wire.failure?.description == "the client sent the alert unknown_ca")
    #expect(wire.server.receivedAlert == .unknownCA)
  }

  @Test func `a client that goes without a word has closed`() throws {
    let silent = try AcceptedWire(authority.client(), authority.accepting())
    silent.hangUp()
    try silent.accept()
    #expect(silent.failure?.reason == .closed)
    let after = try AcceptedWire(authority.client(), authority.accepting(), identity: identity)
    _ = after.client.handshake()
    after.give(after.fromClient())
    #expect(after.accepted == .wantRead)
    after.hangUp()
    try after.accept()
    #expect(after.failure?.reason == .closed)
    #expect(after.failure?.received == nil)
  }

  @Test func `old versions and ciphers without forward secrecy or AEAD are refused`() throws {
    let old = try AcceptedWire(authority.client(), authority.accepting { $0.minimumVersion = .tls13 }, identity: identity)
    old.client.limit(to: .tls12)
    try old.handshake()
    #expect(old.failure?.sent == .protocolVersion)
    for cipher in ["ECDHE-ECDSA-AES128-SHA256", "AES128-GCM-SHA256", "DHE-RSA-AES128-GCM-SHA256"] {
      let weak = try AcceptedWire(authority.client(), authority.accepting(), identity: identity)
      weak.client.limit(to: .tls12)
      #expect(SSL_set_cipher_list(weak.client.pointer, cipher) == 1)
      try weak.handshake()
      #expect(weak.failure?.sent == .handshakeFailure, "\(cipher)")
      #expect(weak.failure?.reason == .failed)
    }
  }

  @Test func `a client gets neither renegotiation nor early data`() throws {
    let wire = try AcceptedWire(authority.client(), authority.accepting(), identity: identity)
    wire.client.limit(to: .tls12)
    #expect(try wire.handshake() == .done)
    // SSL_OP_NO_RENEGOTIATION.
    _ = SSL_clear_options(wire.client.pointer, 1 << 30)
    #expect(SSL_renegotiate(wire.client.pointer) == 1)
    _ = wire.client.handshake()
    _ = wire.serverReads()
    #expect(wire.server.sentAlert?.description == "no_renegotiation")
    let early = try AcceptedWire(authority.client(), authority.accepting(), identity: identity)
    #expect(try early.handshake() == .done)
    _ = early.clientReads()
    let session = try #require(early.client.takeSession())
    #expect(SSL_SESSION_get_max_early_data(session.pointer) == 0)
  }

  @Test func `who cannot bring a certificate ends the handshake`() throws {
    let wire = try AcceptedWire(authority.client(), authority.accepting())
    try wire.handshake()
    wire.server.refuse()
    try wire.accept()
    #expect(wire.failure?.sent == .internalError)
    #expect(wire.failure?.reason == .failed)
  }

  @Test func `the client's goodbye in TLS 1.3 leaves the way to it open`() throws {
    let wire = try AcceptedWire(authority.client(), authority.accepting(), identity: identity)
    #expect(try wire.handshake() == .done)
    #expect(wire.client.send("request") == 7)
    wire.client.sendCloseNotify()
    let (text, last) = wire.serverReads()
    #expect(text == "request" && last == TLSIO.endOfStream)
    #expect(wire.server.receivedAlert == .closeNotify)
    #expect(wire.server.send("answer") == 6)
    wire.server.sendCloseNotify()
    #expect(wire.clientReads() == ("answer", TLSIO.endOfStream))
    #expect(wire.server.sentAlert == .closeNotify)
  }

  // MARK: Client certificates

  private func clientIdentity(_ authority: Authority) throws -> TLSIdentity {
    var builder = CertificateBuilder(commonName: "client")
    builder.purposes = [.clientAuth]
    return try authority.identity(builder)
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13], [false, true])
  func `certificates of clients are verified`(_ version: ProtocolVersion, _ isRequired: Bool) throws {
    let clients = try Authority("Clients")
    let anchors = try AnchorStore.certificates([clients.certificate.der])
    let context = try authority.accepting {
      $0.clientCertificates = .init(anchors: anchors, authorities: [clients.certificate], isRequired: isRequired)
    }
    func wire(_ identity: TLSIdentity?) throws -> AcceptedWire {
      let wire = try AcceptedWire(authority.client { $0.identity = identity }, context, identity: self.identity)
      wire.client.limit(to: version)
      try wire.handshake()
      wire.give(wire.fromClient())
      return wire
    }
    let own = try clientIdentity(clients)
    let good = try wire(own)
    #expect(good.accepted == .done)
    #expect(good.server.clientCertificate == own.chain[0])
    let none = try wire(nil)
    #expect((none.accepted == .done) == !isRequired)
    #expect(none.server.clientCertificate == nil)
    let foreign = try wire(clientIdentity(Authority("Strangers")))
    #expect(foreign.failure?.sent == .unknownCA)
    // A certificate of a server is none of a client.
    #expect(try wire(clients.identity(.server(["a.example"]))).failure != nil)
  }
}
