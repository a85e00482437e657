import COpenSSL
import COpenSSLShims
import Crypto
import Glibc
import Testing

@testable import TLS

@Suite struct HandshakeTests {
  let authority: Authority
  init() throws { authority = try Authority() }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `bytes go both ways after a handshake that found chain, host and ALPN in order`(_ version: ProtocolVersion) throws {
    let wire = try Wire(authority.client(), authority.server { $0.maximumVersion = version }, host: "API.example.com.")
    #expect(wire.handshake() == .done)
    #expect(wire.client.protocolVersion == version)
    #expect(wire.client.selectedALPN == "http/1.1")
    #expect(wire.client.isResumed == false)
    #expect(wire.client.verifiedChain.count == 2)
    #expect(wire.client.verifiedChain.last == authority.certificate)
    #expect(wire.client.peerChain.count == 1)
    #expect(wire.server.requestedServerName == "api.example.com")
    #expect(wire.client.send("hello") == 5)
    #expect(wire.drain(wire.server) == (Array("hello".utf8), TLSIO.wantRead))
    #expect(wire.server.send("world") == 5)
    #expect(wire.drain(wire.client) == (Array("world".utf8), TLSIO.wantRead))
  }

  @Test func `TLS 1.3 is with AES-128, if both ends have OpenSSL's order`() throws {
    let wire = try Wire(authority.client(), authority.server(), host: "api.example.com")
    #expect(wire.handshake() == .done)
    #expect(SSL_CIPHER_get_protocol_id(SSL_get_current_cipher(wire.client.pointer)) == 0x1301)
  }

  @Test(arguments: [
    "TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384", "",
    "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_128_CCM_SHA256",
  ])
  func `an order of cipher suites that the machine has is kept`(_ order: String) throws {
    let context = try #require(SSL_CTX_new(TLS_client_method()))
    defer { SSL_CTX_free(context) }
    #expect(SSL_CTX_set_ciphersuites(context, order) == 1)
    let before = suites(of: context)
    cossl_context_basics(context, TLSContext.clientSecurityLevel)
    #expect(suites(of: context) == before)
  }

  private func suites(of context: OpaquePointer) -> [UInt32] {
    let all = SSL_CTX_get_ciphers(context)
    return (0..<OPENSSL_sk_num(all)).map { SSL_CIPHER_get_id(OpaquePointer(OPENSSL_sk_value(all, $0))) }
  }

  @Test func `close_notify is an end, a plain close a truncation`() throws {
    let wire = try Wire(authority.client(), authority.server(), host: "api.example.com")
    #expect(wire.handshake() == .done)
    #expect(wire.server.send("all") == 3)
    wire.server.sendCloseNotify()
    #expect(wire.drain(wire.client) == (Array("all".utf8), TLSIO.endOfStream))

    let cut = try Wire(authority.client(), authority.server(), host: "api.example.com")
    #expect(cut.handshake() == .done)
    #expect(cut.server.send("half") == 4)
    shutdown(cut.descriptors.1, Int32(SHUT_WR))
    #expect(cut.drain(cut.client) == (Array("half".utf8), TLSIO.truncated))
    #expect(cut.client.lastError?.kind == .transport)
  }

  @Test func `a full socket takes a part, then asks to wait, and goes on from a moved buffer`() throws {
    let wire = try Wire(authority.client(), authority.server(), host: "api.example.com")
    #expect(wire.handshake() == .done)
    let payload = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var sent = 0
    var received: [UInt8] = []
    var waits = 0
    while received.count < payload.count {
      while sent < payload.count {
        let moved = Array(payload[sent...].prefix(200_000))
        let count = moved.withUnsafeBytes { wire.client.write($0) }
        if count == TLSIO.wantWrite {
          waits += 1
          break
        }
        #expect(count > 0)
        guard count > 0 else { return }
        sent += count
      }
      received += wire.drain(wire.server, size: 5_000).bytes
    }
    #expect(waits > 0)
    #expect(received == payload)
  }

  @Test func `a small read leaves the rest pending, which no readiness would announce`() throws {
    let wire = try Wire(authority.client(), authority.server(), host: "api.example.com")
    #expect(wire.handshake() == .done)
    _ = wire.drain(wire.client)
    #expect(wire.server.send("0123456789") == 10)
    var two = [UInt8](repeating: 0, count: 2)
    #expect(two.withUnsafeMutableBytes { wire.client.read(into: $0) } == 2)
    #expect(wire.client.unread() == .bytes)
    #expect(wire.drain(wire.client).bytes == Array("23456789".utf8))
    #expect(wire.client.unread() == .nothing)
  }

  @Test func `a peer that goes away during the handshake is a failure of the transport`() throws {
    let wire = try Wire(authority.client(), authority.server(), host: "api.example.com")
    #expect(wire.client.handshake() == .wantRead)
    shutdown(wire.descriptors.1, Int32(SHUT_RDWR))
    guard case .failed(let error) = wire.client.handshake() else {
      Issue.record("must fail")
      return
    }
    #expect(error.kind == .transport)
  }

  @Test func `a client that offers only old versions is refused by an alert`() throws {
    let old = try Wire(
      authority.client(),
      authority.server {
        $0.securityLevel = 0
        $0.minimumVersion = .tls10
        $0.maximumVersion = .tls11
      }, host: "api.example.com")
    guard case .failed(let error) = old.handshake() else {
      Issue.record("TLS 1.1 must fail")
      return
    }
    #expect([.alert, .handshake].contains(error.kind))

    let strict = try Wire(
      authority.client { $0.minimumVersion = .tls13 }, authority.server { $0.maximumVersion = .tls12 }, host: "api.example.com")
    guard case .failed(let refused) = strict.handshake() else {
      Issue.record("TLS 1.2 must fail where 1.3 is the minimum")
      return
    }
    #expect(refused.kind == .alert)
  }

  @Test func `a refusal names the evaluator and the reason, and no byte is exchanged`() throws {
    let wire = try Wire(authority.client(), authority.server("other.example.com"), host: "api.example.com")
    guard case .failed(let error) = wire.handshake() else {
      Issue.record("must fail")
      return
    }
    #expect(error.kind == .refused)
    #expect(wire.client.refusal?.evaluator == "default")
    #expect(wire.client.refusal?.reason == .hostMismatch)
    #expect(wire.client.send("secret") == TLSIO.failed)
    #expect(wire.drain(wire.server).bytes.isEmpty)
    #expect(wire.server.lastError?.kind == .alert)
  }

  @Test func `a server that demands a certificate gets ours, also from an encrypted key`() throws {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder(commonName: "client")
    builder.purposes = [.clientAuth]
    let certificate = try builder.issued(to: key, by: authority.certificate, authority.key)
    let secret = Array("pass phrase".utf8)
    let identity = try TLSIdentity(
      certificatesPEM: certificate.pem, keyPEM: key.pem(passphrase: secret), passphrase: secret)
    let anchors = try AnchorStore.certificates([authority.certificate.der])
    for version in [ProtocolVersion.tls12, .tls13] {
      let server = try authority.server {
        $0.clientAnchors = anchors
        $0.maximumVersion = version
      }
      let wire = try Wire(authority.client { $0.identity = identity }, server, host: "api.example.com")
      #expect(wire.handshake() == .done)
      #expect(wire.server.clientCertificate == certificate)

      let bare = try Wire(authority.client(), server, host: "api.example.com")
      let outcome = bare.handshake()
      // TLS 1.3: the client is done before the server refuses; its first read gets the alert.
      if outcome == .done { #expect(bare.drain(bare.client).last == TLSIO.failed) }
      #expect(bare.client.lastError?.kind == .alert)
    }
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `a stapled answer is there after the handshake, where it was asked for`(_ version: ProtocolVersion) throws {
    let server = try authority.server {
      $0.staple = [1, 2, 3]
      $0.maximumVersion = version
    }
    let asking = try Wire(authority.client { $0.requestsStaple = true }, server, host: "api.example.com")
    #expect(asking.handshake() == .done)
    #expect(asking.client.stapledOCSP == [1, 2, 3])
    let silent = try Wire(authority.client(), server, host: "api.example.com")
    #expect(silent.handshake() == .done)
    #expect(silent.client.stapledOCSP == nil)
  }
}
