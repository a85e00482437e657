import CFuzzer

@testable import Credentials

@_cdecl("STSAnswerFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
  }
}

/// XML is bounded, and written again it is the same; half of it is none. Keys and errors hold nothing that fields and logs cannot.
private func check(_ body: [UInt8]) {
  if let root = try? XMLElement.parse(body) {
    var count = 0
    check(root, depth: 0, &count)
    precondition((try? XMLElement.parse(Array(text(root).utf8))) == root, "written again: \(root)")
    let end = body.lastIndex { !isSpace($0) } ?? 0
    precondition((try? XMLElement.parse(Array(body[..<end]))) == nil, "half of it")
  }
  for action in ["AssumeRole", "AssumeRoleWithWebIdentity"] {
    do throws(IssuedAWSKeys.Unfit) {
      let issued = try IssuedAWSKeys.sts(body, action: action)
      precondition(issued.expiry != nil && AWSKeys(token: issued.keys.token) == issued.keys)
      let token = issued.keys.sessionToken?.bytes ?? []
      precondition((Array(issued.keys.accessKeyID.utf8) + issued.keys.secretAccessKey.bytes + token).allSatisfy(isVisible))
    } catch { precondition(isLine(error.why), error.why) }
  }
  if let error = STSError(body) { precondition(isLine(error.text(hiding: [Secret("secret")]))) }
}

private func check(_ element: XMLElement, depth: Int, _ count: inout Int) {
  count += 1
  precondition(depth < XMLElement.deepest && count <= XMLElement.most && !element.name.isEmpty)
  precondition(element.children.isEmpty || element.text.isEmpty)
  for child in element.children { check(child, depth: depth + 1, &count) }
}

private func text(_ element: XMLElement) -> String {
  // Every character as its number: nothing depends on what must be escaped.
  let content = element.text.unicodeScalars.map { $0.value < 0x20 ? String($0) : "&#\($0.value);" }.joined()
  return "<\(element.name)>\(content)\(element.children.map(text).joined())</\(element.name)>"
}

private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
private func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7e).contains(byte) }
/// It fits into one line of a log.
private func isLine(_ text: String) -> Bool {
  text.utf8.count <= 2_000 && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
}
