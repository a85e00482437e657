import Foundation
import Testing

/// boto3 as an app with keys that mean nothing, and moto as AWS, which verifies signatures.
@Suite struct PeerAWSTests {
  private struct Facts: Decodable {
    let port: Int
    let id, secret: String
  }

  private static let programs = Surroundings.support + "/aws"

  @Test(.needsPackage("moto"))
  func `an app with dummy keys uses S3, SQS and DynamoDB, and a wrong secret is found out`() throws {
    let server = try ChildProcess(LoginPeer.python, [Self.programs + "/moto_server.py"])
    defer { server.closeInput() }
    guard let line = server.awaitLine(seconds: 60, where: { $0.hasPrefix("{") }) else {
      throw HarnessError("moto: \(server.errors)")
    }
    let facts = try JSONDecoder().decode(Facts.self, from: Data(line.utf8))
    func configuration(secret: String) -> String {
      """
      upstreams:
        - {match: aws.test, origin: "http://127.0.0.1:\(facts.port)", credential: aws}
      credentials:
        aws:
          allow_plaintext: true
          sigv4: {access_key_id: \(facts.id), secret_access_key: "\(secret)"}

      """
    }
    func app(_ proxy: ProxyProcess) throws -> ChildProcess.Finished {
      try ChildProcess.run(
        "env",
        ["http_proxy=http://\(proxy.addresses[0])", "no_proxy=", "AWS_EC2_METADATA_DISABLED=true", LoginPeer.python]
          + [Self.programs + "/boto_app.py", "http://aws.test"], seconds: 60)
    }
    try withProxy(configuration(secret: facts.secret)) { proxy throws in
      let done = try app(proxy)
      #expect(done.status == .exited(0), "\(done.errors)\(server.errors)")
      #expect(done.output.split(separator: "\n") == ["s3", "presigned", "sqs", "dynamodb", "denied", "no sts"])
    }
    try withProxy(configuration(secret: "wrong")) { proxy throws in
      let done = try app(proxy)
      #expect(done.output.isEmpty && done.errors.contains("SignatureDoesNotMatch"), "\(done.errors)")
    }
  }
}
