import Credentials
import HTTPWire
import Testing

@testable import Signing

/// The fields of a head that consists of these lines.
struct Lines {
  let bytes: [UInt8]
  let fields: ContiguousArray<Field>

  init(_ lines: String...) {
    bytes = Array(("HTTP/1.1 401 Unauthorized\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
    var head = ResponseHead()
    let outcome = bytes.withUnsafeBytes { head.parse($0, limit: 1 << 20) }
    #expect(outcome == .complete)
    fields = head.fields
  }

  /// The challenge that is answered.
  func best(_ algorithms: [DigestPolicy.Algorithm] = DigestPolicy.Algorithm.allCases) -> DigestChallenge? {
    bytes.withUnsafeBytes { DigestChallenge.best(in: fields, named: .wwwAuthenticate, of: $0, among: algorithms) }
  }
}

/// A server and one who answers it.
struct Answering {
  let session: DigestSession
  let policy: DigestPolicy
  private let hashes = DigestHashes()

  init(_ session: DigestSession) {
    self.session = session
    policy = DigestPolicy(username: "u", password: Secret("p"))
  }

  init(_ challenge: String, username: String, password: String) throws {
    session = DigestSession(try #require(Lines("WWW-Authenticate: Digest " + challenge).best()))
    policy = DigestPolicy(username: username, password: Secret(password))
  }

  func answer(
    _ target: String, method: String = "GET", body: String = "", clientNonce: String, version: UInt64 = 1
  ) throws -> String {
    let (method, target, body) = (Array(method.utf8), Array(target.utf8), Array(body.utf8))
    return try method.withUnsafeBytes { method in
      try target.withUnsafeBytes { target in
        try body.withUnsafeBytes { body in
          let request = DigestSession.Request(method: method, target: target, body: .bytes(body))
          let capacity = DigestSession.sizeLimit(target: target.count)
          let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 8)
          defer { buffer.deallocate() }
          var writer = ByteWriter(buffer)
          try session.answer(
            request, by: policy, version: version, clientNonce: Array(clientNonce.utf8), hashes: hashes, into: &writer)
          return String(decoding: writer.written, as: UTF8.self)
        }
      }
    }
  }

  func challenge(_ challenge: String) throws {
    session.take(try #require(Lines("WWW-Authenticate: Digest " + challenge).best()))
  }

  func inform(_ info: String) {
    let bytes = Array(info.utf8)
    bytes.withUnsafeBytes { head in
      session.take(info: Challenges.parameters(of: ByteSlice(start: 0, count: head.count), in: head), in: head)
    }
  }
}
