import Foundation

/// A service that verifies AWS signatures with botocore. See aws_server.py.
final class AWSServer {
  struct Seen: Decodable {
    let method, target, why, service, region, signed, payload, sha256, data: String
    let fields: [[String]]
    let length: Int

    func all(_ name: String) -> [String] { fields.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] } }
  }

  static let keys = "access_key_id: AKIDEXAMPLE, secret_access_key: shh-5ecret-key"

  let clear: Int
  let secure: Int
  private let child: ChildProcess

  init() throws {
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/aws_server.py", Surroundings.pki()])
    let ports = child.awaitLine(where: { _ in true })?.split(separator: " ").compactMap { Int($0) } ?? []
    guard ports.count == 2 else { throw HarnessError("aws_server.py: \(child.errors)") }
    (clear, secure) = (ports[0], ports[1])
  }

  deinit { child.closeInput() }

  /// - Parameter settings: JSON; the keys are aws_server.py's.
  @discardableResult
  func set(_ settings: String) throws -> [Seen] {
    let got = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-d", settings, "http://127.0.0.1:\(clear)/set"])
    return try JSONDecoder().decode([Seen].self, from: Data(got.output.utf8))
  }

  /// What came since the last call.
  func seen() throws -> [Seen] { try set(#"{"forget": true}"#) }

  /// - Parameters:
  ///   - sigv4: the credential's keys.
  ///   - entry: more of the entry, each part with a comma in front.
  func configuration(_ sigv4: String, isTLS: Bool = false, entry: String = "", top: String = "") -> String {
    """
    admin: 127.0.0.1:0
    upstreams:
      - {match: api.test, origin: "\(isTLS ? "https://localhost:\(secure)" : "http://127.0.0.1:\(clear)")", credential: aws\(entry)}
    credentials:
      aws:
        allow_plaintext: true
        sigv4: {\(sigv4)}
    \(top)

    """
  }

  /// An upload in chunks, each with the signature of an app that has other keys.
  static func chunks(_ data: [String], trailers: [String]? = nil) -> String {
    let dummy = String(repeating: "d", count: 64)
    let parts = (data + [""]).map { piece in
      String(piece.utf8.count, radix: 16) + ";chunk-signature=\(dummy)\r\n" + (piece.isEmpty ? "" : piece + "\r\n")
    }
    let end = trailers.map { $0.map { $0 + "\r\n" }.joined() + "x-amz-trailer-signature:\(dummy)\r\n" } ?? ""
    return parts.joined() + end + "\r\n"
  }

  /// Of an app that signs with keys that mean nothing.
  static func dummy(_ service: String, _ region: String = "eu-central-1") -> String {
    "Authorization: AWS4-HMAC-SHA256 Credential=DUMMY/20150830/\(region)/\(service)/aws4_request, SignedHeaders=host, Signature=00"
  }
}
