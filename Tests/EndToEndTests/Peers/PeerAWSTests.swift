import Foundation
import Testing

/// boto3, aws-cli and minio-go as apps with keys that mean nothing. moto as AWS, which verifies signatures, and botocore.
@Suite struct PeerAWSTests {
  private struct Facts: Decodable {
    let port: Int
    let id, secret: String
  }

  private static let programs = Surroundings.support + "/aws"

  /// moto, and the configuration of a proxy on the way to it.
  private func withMoto(_ body: (ChildProcess, (_ secret: String?) -> String) throws -> Void) throws {
    let server = try ChildProcess(LoginPeer.python, [Self.programs + "/moto_server.py"])
    defer { server.closeInput() }
    guard let line = server.awaitLine(seconds: 60, where: { $0.hasPrefix("{") }) else {
      throw HarnessError("moto: \(server.errors)")
    }
    let facts = try JSONDecoder().decode(Facts.self, from: Data(line.utf8))
    try body(server) { secret in
      """
      upstreams:
        - {match: aws.test, origin: "http://127.0.0.1:\(facts.port)", credential: aws}
      credentials:
        aws:
          allow_plaintext: true
          sigv4: {access_key_id: \(facts.id), secret_access_key: "\(secret ?? facts.secret)"}

      """
    }
  }

  /// - Parameter command: sees no proxy but this one, and no metadata service.
  private func run(_ command: [String], through proxy: ProxyProcess) throws -> ChildProcess.Finished {
    try ChildProcess.run(
      "env", ["http_proxy=http://\(proxy.addresses[0])", "no_proxy=", "AWS_EC2_METADATA_DISABLED=true"] + command, seconds: 240)
  }

  @Test(.needsPackage("moto"))
  func `an app with dummy keys uses S3, SQS and DynamoDB, and a wrong secret is found out`() throws {
    try withMoto { server, configuration in
      let app = [LoginPeer.python, Self.programs + "/boto_app.py", "http://aws.test"]
      try withProxy(configuration(nil)) { proxy throws in
        let done = try run(app, through: proxy)
        #expect(done.status == .exited(0), "\(done.errors)\(server.errors)")
        #expect(done.output.split(separator: "\n") == ["s3", "presigned", "sqs", "dynamodb", "denied", "no sts"])
      }
      try withProxy(configuration("wrong")) { proxy throws in
        let done = try run(app, through: proxy)
        #expect(done.output.isEmpty && done.errors.contains("SignatureDoesNotMatch"), "\(done.errors)")
      }
    }
  }

  @Test(.needsPackage("moto"), .needsPackage("awscli"))
  func `aws-cli with dummy keys copies files whole, in parts and from a pipe, and a wrong secret is found out`() throws {
    try withMoto { server, configuration in
      let program = "\(LoginPeer.python) -m awscli"
      func app() throws -> [String] {
        ["sh", Self.programs + "/cli_app.sh", program, "http://aws.test", try Surroundings.newFolder()]
      }
      try withProxy(configuration(nil)) { proxy throws in
        let done = try run(try app(), through: proxy)
        #expect(done.status == .exited(0), "\(done.errors)\(server.errors)")
        #expect(done.output.split(separator: "\n") == ["s3", "multipart", "stream", "sqs", "denied", "no sts"])
      }
      try withProxy(configuration("wrong")) { proxy throws in
        let done = try run(try app(), through: proxy)
        #expect(done.output.isEmpty && done.errors.contains("SignatureDoesNotMatch"), "\(done.errors)")
      }
    }
  }

  /// minio-go as Debian has it.
  private static let goPath = "/usr/share/gocode"

  /// botocore verifies each chunk.
  @Test(.needs("minio-go", "command -v go && test -d /usr/share/gocode/src/github.com/minio/minio-go"))
  func `minio-go with dummy keys uploads in signed chunks, with a trailer and without one`() throws {
    let program = try Surroundings.newFolder() + "/minio_app"
    let made = try ChildProcess.run(
      "env",
      [
        "GO111MODULE=off", "GOPATH=\(Self.goPath)", "GOFLAGS=", "go", "build", "-o", program, Self.programs + "/minio_app.go",
      ], seconds: 300)
    try #require(made.status == .exited(0), "\(made.errors)")
    let server = try AWSServer()
    func answer(_ operation: String) -> String {
      let kind = "\(operation)MultipartUploadResult"
      let parts = "<Bucket>bucket</Bucket><Key>trailer</Key><UploadId>1</UploadId><ETag>e</ETag>"
      return #"[200, "application/xml", "<\#(kind)>\#(parts)</\#(kind)>", []]"#
    }
    let good = #"[200, "text/plain", "", ["ETag: e"]]"#
    let answers = [good, good, answer("Initiate"), good, good, answer("Complete")]
    try server.set("{\"answers\": [\(answers.joined(separator: ", "))]}")
    let configuration = server.configuration(AWSServer.keys).replacing("api.test", with: "store.test")
    try withProxy(configuration) { proxy throws in
      let done = try run([program, "store.test"], through: proxy)
      let seen = try server.seen()
      #expect(done.status == .exited(0), "\(done.errors)\(seen)")
      #expect(done.output.split(separator: "\n") == ["small", "large", "trailer"])
      #expect(seen.map(\.why) == ["", "", "", "", "", ""])
      let form = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
      #expect(seen.filter { $0.method == "PUT" }.map(\.payload) == [form, form, form + "-TRAILER", form + "-TRAILER"])
      #expect(seen.allSatisfy { $0.all("Authorization").first?.contains("Credential=AKIDEXAMPLE/") == true })
    }
  }
}
