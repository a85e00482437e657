import Foundation
import Testing

/// Every kind of credential, each with a host `KIND.test`; the origin notes what came.
struct RedactionWorld {
  static let kinds = [
    "basic", "bearer", "header", "oauth2", "sigv4", "container", "cloud", "github", "jwt", "shared", "hmac", "signature",
    "digest",
  ]
  static let plain = [
    "basic": "basic-5ecret/+=&? ~", "bearer": "bearer-5ecret/+~==", "header": "header-5ecret?&%/",
    "client": "client-5ecret/+&=",
    "aws": "aws-5ecret/+key", "session": "session-5ecret/+==", "shared": "shared-5ecret/+ of more than thirty-two bytes",
    "pass": "pass-5ecret/+&", "digest": "digest-5ecret/+&:", "container": "container-5ecret",
  ]
  let origin: Origin
  let sources: KeySources
  let tokens: TokenServer
  let name = Origin.newName()
  let folder: String
  let key: String
  let configuration: String
  let variables: [String: String]

  init() throws {
    origin = try Origin.shared()
    sources = try KeySources()
    tokens = try TokenServer(origin: origin)
    folder = try Surroundings.newFolder()
    key = Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
    let files = folder
    for (name, secret) in Self.plain { try ProxyProcess.write(secret, to: files + "/" + name) }
    for (name, options) in [
      ("ec", ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"]), ("ed", ["ed25519"]),
      ("rsa", ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]),
    ] {
      _ = try ChildProcess.run("openssl", ["genpkey", "-out", files + "/" + name, "-algorithm"] + options)
      chmod(files + "/" + name, 0o600)
    }
    let publicKey = try ChildProcess.run("openssl", ["pkey", "-in", files + "/rsa", "-pubout"]).output
    try sources.set("{\"github_key\": \(String(decoding: try JSONEncoder().encode(publicKey), as: UTF8.self))}")
    func file(_ name: String) -> String { "{file: \"\(files)/\(name)\"}" }
    let lines = [
      "basic: {basic: {username: svc, password: \(file("basic"))}}",
      "bearer: {bearer: {token: \(file("bearer"))}}",
      "header: {header: {name: X-Api-Key, value: \(file("header"))}}",
      "oauth2: {oauth2: {grant: client_credentials, token_url: \"\(tokens.tokenURL)\", client_id: me, "
        + "client_secret: \(file("client"))}}",
      "sigv4: {sigv4: {service: s3, region: eu-central-1, access_key_id: AKIDEXAMPLE, secret_access_key: \(file("aws")), "
        + "session_token: \(file("session"))}}",
      "container: {sigv4: {service: s3, region: eu-central-1, source: container}}",
      "cloud: {cloud_identity: {cloud: google, scopes: [\"https://scope.test/a\"]}}",
      "github: {github_app: {app_id: \"12345\", installation_id: \"678\", private_key: \(file("rsa")), "
        + "api: \"\(sources.base)\"}}",
      "jwt: {jwt: {private_key: \(file("ec")), key_id: k1, issuer: me}}",
      "shared: {jwt: {secret: \(file("shared")), key_id: k2}}",
      "hmac: {hmac: {key: \"\(key)\", key_encoding: base64, algorithm: sha512, "
        + "message: \"{timestamp}{method}{target}{nonce}{body}{pass}\", timestamp: unix_ms, output: base64, values: {pass: \(file("pass"))}, fields: {X-Time: \"{timestamp}\", X-Nonce: \"{nonce}\", "
        + "X-Pass: \"{pass}\", X-Sign: \"{signature}\"}}}",
      "signature: {http_signature: {private_key: \(file("ed")), key_id: k3, nonce: true}}",
      "digest: {digest: {username: svc, password: \(file("digest")), algorithms: [SHA-256]}}",
    ].map { $0.replacingOccurrences(of: ": {", with: ": {allow_plaintext: true, ", range: $0.range(of: ": {")) }
    let port = origin.ports.http
    let entries = Self.kinds.map { kind in
      "  - {match: \(kind).test, origin: \"http://127.0.0.1:\(port)\", credential: \(kind)}"
    }
    configuration =
      (["admin: 127.0.0.1:0", "log: {level: trace}", "limits: {hashed_body: 1KiB}", "upstreams:"] + entries + ["credentials:"]
      + lines.map { "  " + $0 }).joined(separator: "\n") + "\n"
    variables = [
      "AWS_CONTAINER_CREDENTIALS_FULL_URI": "\(sources.base)/container",
      "AWS_CONTAINER_AUTHORIZATION_TOKEN": Self.plain["container"] ?? "",
      "GCE_METADATA_HOST": "127.0.0.1:\(sources.port)",
    ]
    try challenge()
  }

  private static let nonce = "nonce-5ecret/+of+the+challenge"
  /// The origin asks for Digest once, then answers 200; from then on 401, with the same challenge.
  private func challenge() throws {
    let challenge =
      "HTTP/1.1 401 x\r\nWWW-Authenticate: Digest realm=\"r\", nonce=\"\(Self.nonce)\", qop=auth, algorithm=SHA-256\r\n"
      + "Content-Length: 0\r\n\r\n"
    let good = "HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n"
    try origin.script(name + "digest", [.send(challenge)], [.send(good)], [.send(challenge)])
  }

  func url(_ kind: String, _ path: String) -> String { "http://\(kind).test\(path)?id=\(name)\(kind)" }

  /// What the origin received in fields that have something of a credential.
  func sent() throws -> [String] {
    var found: [String] = [Self.nonce]
    for kind in Self.kinds {
      let before = found.count
      for exchange in try origin.exchanges(name + kind) {
        for field in ["X-Api-Key", "X-Amz-Security-Token", "X-Nonce", "X-Pass", "X-Sign"] { found += exchange.all(field) }
        for value in exchange.all("Authorization") { found += pieces(of: value) }
        found += exchange.all("Signature").map { $0.split(separator: ":")[1] }.map(String.init)
        found += exchange.all("Signature-Input").flatMap { parameters(["nonce"], of: $0) }
      }
      #expect(found.count > before, "\(kind)")
    }
    return found
  }

  private func pieces(of value: String) -> [String] {
    let rest = String(value.drop { $0 != " " }.dropFirst())
    if value.hasPrefix("AWS4") || value.hasPrefix("Digest") {
      return parameters(["Signature", "response", "cnonce"], of: rest)
    }
    return [rest] + rest.split(separator: ".").dropFirst().map(String.init)
  }

  private func parameters(_ names: [String], of text: String) -> [String] {
    text.components(separatedBy: CharacterSet(charactersIn: ",; ")).compactMap { part in
      let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
      return pair.count == 2 && names.contains(pair[0]) ? pair[1].trimmingCharacters(in: ["\""]) : nil
    }
  }

  /// What is in the keys, and what the proxy computes from secrets and keeps.
  func keys() throws -> [[UInt8]] {
    var found = [Array(Data(base64Encoded: key) ?? Data()), Array("svc:\(Self.plain["basic"] ?? "")".utf8)]
    for (name, place) in [("ec", 36..<68), ("ed", 16..<48), ("rsa", 100..<400)] {
      let text = try String(contentsOfFile: folder + "/" + name, encoding: .utf8)
      let lines = text.split(separator: "\n").filter { !$0.hasPrefix("-") }
      found += lines.filter { $0.count > 20 }.map { Array($0.utf8) }
      found.append(Array((Data(base64Encoded: lines.joined()) ?? Data())[place]))
    }
    let exchange = try #require(try origin.exchanges(name + "sigv4").first)
    let day = String((exchange["X-Amz-Date"] ?? "").prefix(8))
    // With Python, as this target has no hash functions.
    let program = """
      import hashlib, hmac, sys
      secret, day, password = sys.argv[1:]
      key = ("AWS4" + secret).encode()
      for part in (day, "eu-central-1", "s3", "aws4_request"):
          key = hmac.new(key, part.encode(), hashlib.sha256).digest()
          print(key.hex())
      print(hashlib.sha256(f"svc:r:{password}".encode()).hexdigest())
      """
    let derived = try ChildProcess.run(
      Surroundings.python, ["-c", program, Self.plain["aws"] ?? "", day, Self.plain["digest"] ?? ""])
    let hashes = derived.output.split(separator: "\n").map { line in
      stride(from: 0, to: line.count, by: 2).compactMap { UInt8(line.dropFirst($0).prefix(2), radix: 16) }
    }
    #expect(hashes.map(\.count) == [32, 32, 32, 32, 32], "\(derived.errors)")
    return found + hashes
  }

  /// What token endpoints were given and have handed out.
  func issued() throws -> [String] {
    let asked = try sources.state().asked
    let given = asked.compactMap { $0["Authorization"] }.flatMap { pieces(of: $0) }
    #expect(given.contains { $0.count > 300 }, "the App's JWT")
    return given + (try tokens.state().issued) + ["ya29-5ecret", "ghs-5ecret", "secret-5ecret", "session-5ecret"]
  }
}
