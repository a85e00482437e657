import CFuzzer
import Forwarding
import HTTPWire
import Signing

@_cdecl("CanonicalTargetFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
  }
}

/// Lines of a canonical request: path and query.
private func canonical(_ target: [UInt8], service: String) -> (path: [UInt8], query: [UInt8]) {
  let empty = UnsafeRawBufferPointer(start: nil, count: 0)
  let request = target.withUnsafeBytes { target in
    SigV4Signature(
      of: SigV4Request(method: empty, target: target, host: empty, fields: target),
      for: SigningScope(service: Array(service.utf8), region: []), at: SigningTime(0), token: nil, payload: [],
      writesPayload: false)
  }.canonicalRequest
  let lines = request.split(separator: 0x0a, maxSplits: 3, omittingEmptySubsequences: false)
  return (Array(lines[1]), Array(lines[2]))
}

/// Canonical forms have no octet that needs encoding; those of s3 and of queries are their own canonical forms. A target without an AWS
/// signature stays as it is, and one that was cut has none.
private func check(_ target: [UInt8]) {
  for service in ["s3", "execute-api"] {
    let (path, query) = canonical(target, service: service)
    precondition(path.first == UInt8(ascii: "/"))
    precondition(path.allSatisfy { isPlain($0) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "%") })
    precondition(query.allSatisfy { isPlain($0) || [UInt8]("=&%".utf8).contains($0) })
    let again = canonical(path + [UInt8(ascii: "?")] + query, service: service)
    precondition(again.query == query, "the query changes")
    if service == "s3" {
      precondition(again.path == path, "the path changes")
    } else {
      precondition(
        !path.split(separator: UInt8(ascii: "/")).contains { $0.elementsEqual("..".utf8) || $0.elementsEqual(".".utf8) })
    }
  }
  target.withUnsafeBytes { target in
    withUnsafeTemporaryAllocation(byteCount: target.count + 1, alignment: 1) { buffer in
      var writer = ByteWriter(buffer)
      writer.append(withoutSignature: target)
      precondition(!PresignedQuery.isPresent(in: writer.written))
      _ = AppSignature(presigned: target)
      _ = AppSignature(authorization: target)
      _ = AWSHost(target)
      _ = AWSError(body: Array(target))
    }
  }
}

private func isPlain(_ byte: UInt8) -> Bool {
  switch byte {
  case 0x41...0x5a, 0x61...0x7a, 0x30...0x39, 0x2d, 0x2e, 0x5f, 0x7e: true
  default: false
  }
}
