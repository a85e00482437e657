import COpenSSL
import Glibc
import Testing

@testable import TLS

/// A library that makes its own SSL_CTX, like libcurl.
@Suite struct ForeignHandshakeTests {
  let authority: Authority
  init() throws { authority = try Authority() }

  private final class Weak { weak var object: ForeignHandshake? }

  @Test(arguments: [("api.example.com", nil), ("other.example.com", PeerRefusal.Reason.hostMismatch)])
  func `its handshakes are judged as our own, and the judge goes with its context`(
    _ host: String, _ reason: PeerRefusal.Reason?
  ) throws {
    let weak = Weak()
    do {
      let context = try #require(SSL_CTX_new(TLS_client_method()))
      let handshake = try ForeignHandshake.install(
        on: UnsafeMutableRawPointer(context), host: host, anchors: .certificates([authority.certificate.der]),
        verifier: ChainAndHostVerifier(), requestsStaple: true)
      weak.object = handshake
      var pair: [Int32] = [0, 0]
      #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
      let server = try TLSConnection(context: authority.server { $0.staple = [7] }, accepting: pair[1])
      let ssl = try #require(SSL_new(context))
      SSL_CTX_free(context)
      SSL_set_fd(ssl, pair[0])
      SSL_set_connect_state(ssl)
      _ = SSL_do_handshake(ssl)
      _ = server.handshake()
      let outcome = SSL_do_handshake(ssl)
      #expect((outcome == 1) == (reason == nil))
      ERR_clear_error()
      #expect(ForeignHandshake.of(ssl: UnsafeMutableRawPointer(ssl)) === handshake)
      #expect(handshake.refusal?.reason == reason)
      #expect(handshake.peerChain.count == 1)
      #expect(handshake.verifiedChain.count == 2)
      #expect(ForeignHandshake.stapledOCSP(ssl: UnsafeMutableRawPointer(ssl)) == [7])
      SSL_free(ssl)
      close(pair[0])
      close(pair[1])
    }
    #expect(weak.object == nil)
  }

  @Test func `a context of other code has no judge`() throws {
    let context = try #require(SSL_CTX_new(TLS_client_method()))
    let ssl = try #require(SSL_new(context))
    #expect(ForeignHandshake.of(ssl: UnsafeMutableRawPointer(ssl)) == nil)
    SSL_free(ssl)
    SSL_CTX_free(context)
  }
}
