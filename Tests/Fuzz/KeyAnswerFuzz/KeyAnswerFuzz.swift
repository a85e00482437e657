import CFuzzer
import JSON

@testable import Credentials

@_cdecl("KeyAnswerFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
  }
}

/// What a container's endpoint, the metadata service, a credential_process and GitHub answer: JSON that is written again is the same, half
/// of an object is none, and what comes of it can be written into fields, URLs and logs.
private func check(_ body: [UInt8]) {
  if let json = try? JSONParser.parse(body) {
    precondition((try? JSONParser.parse(json.text)) == json, "written again: \(json)")
    if case .object = json, let end = body.lastIndex(of: UInt8(ascii: "}")) {
      precondition((try? JSONParser.parse(Array(body[..<end]))) == nil, "half of it")
    }
  }
  for needsEnd in [true, false] {
    do throws(IssuedAWSKeys.Unfit) {
      let issued = needsEnd ? try IssuedAWSKeys.endpoint(body) : try IssuedAWSKeys.process(body)
      precondition(!needsEnd || issued.expiry != nil)
      precondition(AWSKeys(token: issued.keys.token) == issued.keys)
      let token = issued.keys.sessionToken?.bytes ?? []
      precondition((Array(issued.keys.accessKeyID.utf8) + issued.keys.secretAccessKey.bytes + token).allSatisfy(isVisible))
    } catch { precondition(isLine(error.why), error.why) }
  }
  checkMetadata(body)
  for status in [201, 403, 404] {
    var github = GitHubFetch(
      GitHubApp(appID: "1", installationID: "2", key: OAuth2Policy.SigningKey(pem: Secret("none"))))
    check(github.answered(SourceReply(status: status, date: now, body: body), wall: now))
  }
}

private let now: Int64 = 1_767_225_600

/// A token, a role's name, and keys.
private func checkMetadata(_ body: [UInt8]) {
  let good = SourceReply(status: 200, body: Array("name".utf8))
  for before in 0..<3 {
    var metadata = InstanceMetadata(SourceEnvironment([:]))
    for _ in 0..<before { _ = metadata.answered(good) }
    switch metadata.answered(SourceReply(status: 200, body: body)) {
    case .next(let request):
      precondition(before < 2 && request.url.utf8.allSatisfy(isVisible) && request.url.utf8.count < 300)
      precondition(
        request.url.dropFirst("http://169.254.169.254/latest/meta-data/iam/security-credentials/".count).allSatisfy {
          $0 != "/"
        })
      for field in request.fields { precondition(field.value.bytes.allSatisfy(isVisible)) }
    case .keys: precondition(before == 2)
    case .failed(let failure): precondition(isLine("\(failure)"), "\(failure)")
    }
  }
}

private func check(_ step: TokenExchange.Step) {
  switch step {
  case .finished(.token(let grant)):
    precondition(!grant.accessToken.bytes.isEmpty && grant.accessToken.bytes.allSatisfy(isVisible))
  case .finished(.refused(let error)): precondition(isLine("\(error.text)"))
  case .finished(.failed(let failure, _)): precondition(isLine("\(failure)"), "\(failure)")
  case .send: preconditionFailure("a further request")
  }
}

private func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7e).contains(byte) }
/// It fits into one line of a log.
private func isLine(_ text: String) -> Bool {
  text.utf8.count <= 2_000 && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
}
