import CFuzzer
import JSON
import Signing

@_cdecl("AWSErrorFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
  }
}

/// Whole JSON says what its members say; whatever is cut off behind a code says the same or nothing.
private func check(_ body: [UInt8]) {
  let found = AWSError(body: body)
  if body.first == UInt8(ascii: "{"), let json = try? JSONParser.parse(body) {
    precondition(found == expected(json), "\(found) for \(json)")
  }
  // With a byte order mark.
  if !body.starts(with: [0xef, 0xbb, 0xbf]) { precondition(AWSError(body: [0xef, 0xbb, 0xbf] + body) == found) }
}

private func expected(_ json: JSONValue) -> AWSError {
  for name in ["__type", "code", "Code"] {
    if let text = json[name]?.string { return text.isEmpty ? .other : AWSError(code: text.utf8) }
  }
  guard case .object(let members) = json else { return .other }
  // The last one, as nobody sends both.
  let errors = members.filter { $0.name == "Error" || $0.name == "error" }.map(\.value)
  guard let error = errors.last(where: { if case .object = $0 { true } else { false } }) else { return .other }
  return expected(error)
}
