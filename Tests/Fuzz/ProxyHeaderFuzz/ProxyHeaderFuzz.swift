import CFuzzer
import HTTPWire

@_cdecl("ProxyHeaderFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

/// A copy with an end of its own, so that the sanitizer sees a look beyond it.
private func parse(_ bytes: UnsafeRawBufferPointer.SubSequence) -> ProxyHeader.Outcome {
  let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
  defer { copy.deallocate() }
  copy.copyBytes(from: bytes)
  return ProxyHeader.parse(UnsafeRawBufferPointer(copy))
}

/// However the bytes come, the outcome is the same, and it is known as soon as the header's last byte has come, or its first bad
/// one. What an address was decoded to, written again, is that address.
private func check(_ bytes: UnsafeRawBufferPointer) {
  let outcome = parse(bytes[...])
  // A bad byte shows among the first ones, or it is not looked at.
  var known = 0
  while known < min(bytes.count, ProxyHeader.lineLimit), case .incomplete = parse(bytes[..<known]) { known += 1 }
  switch outcome {
  case .complete(let header):
    precondition(15...ProxyHeader.limit ~= header.length && header.length <= bytes.count)
    precondition(bytes[0] == 0x0d || header.length <= ProxyHeader.lineLimit)
    known = header.length
    precondition(parse(bytes[..<(known - 1)]) == .incomplete)
  case .incomplete: known = bytes.count + 1
  case .invalid: break
  }
  for count in Array(stride(from: 0, to: bytes.count, by: 1 + bytes.count / 32)) + [min(known, bytes.count)] {
    let wanted = count < known ? .incomplete : outcome
    if parse(bytes[..<count]) != wanted { preconditionFailure("\(count) of \(bytes.count) bytes, all: \(outcome)") }
  }
  if case .complete(let header) = outcome, case .ip(let high, let low, let port) = header.source { checkAgain(high, low, port) }
}

private func checkAgain(_ high: UInt64, _ low: UInt64, _ port: UInt16) {
  let groups = [high, low].flatMap { word in stride(from: 48, through: 0, by: -16).map { word >> UInt64($0) & 0xffff } }
  var texts = [groups.map { String($0, radix: 16) }.joined(separator: ":")]
  texts.append(groups[..<6].map { String($0, radix: 16) }.joined(separator: ":") + ":" + dotted(low))
  // The zeros, if there are any, where `::` may stand.
  if let first = groups.firstIndex(of: 0) {
    let last = groups[first...].prefix { $0 == 0 }.endIndex
    let halves = [groups[..<first], groups[last...]].map { $0.map { String($0, radix: 16) }.joined(separator: ":") }
    texts.append(halves.joined(separator: "::"))
  }
  var lines = texts.map { "PROXY TCP6 \($0) ::1 \(port) 1\r\n" }
  if high == 0, low >> 32 == 0xffff { lines.append("PROXY TCP4 \(dotted(low)) 127.0.0.1 \(port) 1\r\n") }
  for line in lines {
    let again = ProxyHeader(length: line.utf8.count, source: .ip(high: high, low: low, port: port))
    Array(line.utf8).withUnsafeBytes { precondition(parse($0[...]) == .complete(again), line) }
  }
}

private func dotted(_ low: UInt64) -> String {
  stride(from: 24, through: 0, by: -8).map { "\(low >> UInt64($0) & 255)" }.joined(separator: ".")
}
