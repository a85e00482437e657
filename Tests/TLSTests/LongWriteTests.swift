import COpenSSL
import Glibc
import Testing

@testable import TLS

/// Writes of several records, each of which tells the kernel whether more follows.
@Suite struct LongWriteTests {
  /// AES-CBC without encrypt-then-MAC, which OpenSSL writes several records at a time in.
  static let multiBlock = "ECDHE-ECDSA-AES128-SHA"

  @Test(arguments: [nil, multiBlock])
  func `nothing of a long write waits in the kernel for more`(_ cipher: String?) throws {
    let authority = try Authority()
    let server = try authority.server { if cipher != nil { $0.maximumVersion = .tls12 } }
    if let cipher {
      #expect(SSL_CTX_set_cipher_list(server.pointer, cipher) == 1)
      SSL_CTX_set_options(server.pointer, UInt64(1) << 19)  // SSL_OP_NO_ENCRYPT_THEN_MAC, a macro that Swift does not see
    }
    let wire = try Wire(authority.client(), server, host: "api.example.com", over: tcpPair())
    #expect(wire.handshake() == .done)
    if let cipher { #expect(String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(wire.client.pointer))) == cipher) }
    for size in [16_385, 70_000, 100_000] {
      let payload = [UInt8](repeating: 7, count: size)
      var sent = 0
      while sent < size {
        let count = payload[sent...].withUnsafeBytes { wire.client.write($0) }
        try #require(count > 0)
        sent += count
      }
      var unsent: Int32 = -1
      #expect(ioctl(wire.descriptors.0, 0x894B, &unsent) == 0)  // SIOCOUTQNSD: bytes that the kernel has not sent yet
      #expect(unsent == 0, "of \(size)")
      #expect(wire.drain(wire.server).bytes == payload)
    }
  }

  /// Connected over loopback, non-blocking, with TCP_NODELAY, as the program's own connections are.
  private func tcpPair() throws -> (Int32, Int32) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let connected = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, length) == 0 && listen(listener, 1) == 0 && getsockname(listener, address, &length) == 0
          && connect(client, address, length) == 0
      }
    }
    try #require(connected)
    let server = accept(listener, nil, nil)
    for descriptor in [client, server] {
      var on: Int32 = 1
      #expect(setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size)) == 0)
      #expect(fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
    }
    return (client, server)
  }
}
