import CFuzzer
import Credentials
import HTTPWire
import Signing

@_cdecl("ChallengeFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

/// Challenges lie in their order inside the field, and are bounded. A good one, written again, is the same.
private func check(_ bytes: UnsafeRawBufferPointer) {
  let field = ByteSlice(start: 0, count: bytes.count)
  var challenges = Challenges(field, in: bytes)
  var (count, end) = (0, 0)
  while let challenge = challenges.next() {
    count += 1
    precondition(challenge.scheme.start >= end && !challenge.scheme.isEmpty)
    end = check(challenge, in: bytes)
    if !challenge.isMalformed { checkAgain(challenge, in: bytes) }
    answer(challenge, in: bytes)
  }
  precondition(count <= Challenges.limit)
  _ = check(Challenges.parameters(of: field, in: bytes), in: bytes)
}

/// - Returns: its end.
private func check(_ challenge: Challenge, in bytes: UnsafeRawBufferPointer) -> Int {
  var end = challenge.scheme.end
  if !challenge.token68.isEmpty {
    precondition(challenge.token68.start > end)
    precondition(challenge.parameters.isEmpty || challenge.isMalformed)
    end = challenge.token68.end
  }
  precondition(challenge.parameters.count <= Challenges.parameterLimit)
  for parameter in challenge.parameters {
    precondition(parameter.name.start >= end && !parameter.name.isEmpty && parameter.value.start > parameter.name.end)
    precondition(parameter.text(in: bytes).count <= parameter.value.count)
    end = parameter.value.end
  }
  precondition(end <= bytes.count)
  return end
}

private func checkAgain(_ challenge: Challenge, in bytes: UnsafeRawBufferPointer) {
  var text = Array(challenge.scheme.bytes(in: bytes)) + [0x20] + Array(challenge.token68.bytes(in: bytes))
  for (index, parameter) in challenge.parameters.enumerated() {
    if index > 0 { text += [0x2c] }
    text += Array(parameter.name.bytes(in: bytes)) + [0x3d, 0x22]
    for byte in parameter.text(in: bytes) { text += byte == 0x22 || byte == 0x5c ? [0x5c, byte] : [byte] }
    text.append(0x22)
  }
  text.withUnsafeBytes { again in
    var challenges = Challenges(ByteSlice(start: 0, count: again.count), in: again)
    guard let same = challenges.next() else { preconditionFailure("it is gone") }
    precondition(challenges.next() == nil && !same.isMalformed)
    precondition(equalBytes(same.scheme.bytes(in: again), challenge.scheme.bytes(in: bytes)))
    precondition(equalBytes(same.token68.bytes(in: again), challenge.token68.bytes(in: bytes)))
    precondition(same.parameters.map { $0.text(in: again) } == challenge.parameters.map { $0.text(in: bytes) })
  }
}

/// An answer is one field line, and fits into its limit.
private func answer(_ challenge: Challenge, in bytes: UnsafeRawBufferPointer) {
  guard let digest = DigestChallenge(challenge, in: bytes) else { return }
  let session = DigestSession(digest)
  let policy = DigestPolicy(username: "a\"ü", password: Secret("p"))
  withUnsafeTemporaryAllocation(byteCount: DigestSession.sizeLimit(target: 1), alignment: 8) { buffer in
    Array("/".utf8).withUnsafeBytes { target in
      let request = DigestSession.Request(method: target, target: target, body: .bytes(target))
      for _ in 0..<2 {
        var writer = ByteWriter(buffer)
        do {
          try session.answer(
            request, by: policy, version: 1, clientNonce: Array("c".utf8), hashes: DigestHashes(), into: &writer)
        } catch { preconditionFailure("\(error)") }
        precondition(!writer.written.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f })
        session.take(info: challenge, in: bytes)
      }
    }
  }
}
