import CFuzzer
import HTTPWire

@_cdecl("RequestHeadFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

private let limit = 4096

/// The result does not depend on how the bytes arrive. A complete head lies inside its bytes, and written again it means the
/// same message.
private func check(_ bytes: UnsafeRawBufferPointer) {
  var head = RequestHead()
  let outcome = head.parse(bytes, limit: limit)
  var slow = RequestHead()
  var slowOutcome = HeadOutcome.incomplete
  // Steps that grow from one byte, so that long inputs are not fed in single bytes.
  var count = 0
  repeat {
    count = min(bytes.count, count + 1 + count / 64)
    slowOutcome = slow.parse(UnsafeRawBufferPointer(rebasing: bytes[..<count]), limit: limit)
  } while slowOutcome == .incomplete && count < bytes.count
  precondition(outcome == slowOutcome, "trickled \(slowOutcome), whole \(outcome)")
  guard outcome == .complete else { return }
  precondition(head.fields == slow.fields && head.target == slow.target && head.length == slow.length)
  precondition(head.length <= min(bytes.count, limit) && head.lineStart + head.methodText.count + 1 == head.target.start)
  let message = UnsafeRawBufferPointer(rebasing: bytes[..<head.length])
  checkFields(head, in: message)
  checkMeaning(&head, in: message)
}

private func checkFields(_ head: borrowing RequestHead, in message: UnsafeRawBufferPointer) {
  precondition(!head.target.isEmpty && head.target.bytes(in: message).allSatisfy { 0x21...0x7e ~= $0 })
  var end = head.target.end
  for field in head.fields {
    precondition(field.name.start > end && field.value.start > field.name.end && !field.name.isEmpty)
    end = field.value.end
    precondition(end <= message.count - 4)
    precondition(field.value.bytes(in: message).allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 })
    precondition(field.name.bytes(in: message).allSatisfy { 0x21...0x7e ~= $0 && $0 != UInt8(ascii: ":") })
    precondition(field.id == FieldName(field.name.bytes(in: message)))
    precondition(head.contains(field.id))
  }
}

private func checkMeaning(_ head: inout RequestHead, in message: UnsafeRawBufferPointer) {
  _ = head.persists(in: message)
  _ = head.expectation(in: message)
  _ = head.upgradeToken(in: message)
  _ = head.authenticatesConnection(in: message)
  _ = head.acceptsTrailers(in: message)
  _ = head.maxForwards(in: message)
  _ = head.passed([0x61], in: message)
  try? head.checkHost(in: message)
  if let target = try? RequestTarget(of: head, in: message) {
    for part in [target.host, target.authority, target.pathAndQuery, target.path] where !part.isEmpty {
      precondition(part.start >= head.target.start && part.end <= head.target.end)
    }
    precondition(target.pathAndQuery.start == target.path.start && target.path.count <= target.pathAndQuery.count)
    _ = try? checkPath(target.path, in: message)
    let path = target.path.bytes(in: message)
    try? forEachReading(of: path) { reading in
      precondition(reading.first == 0x2f && reading.count <= path.count)
    }
  }
  guard let framing = try? head.framing(in: message) else { return }
  head.markHopByHop(in: message, keepUpgrade: false)
  withUnsafeTemporaryAllocation(byteCount: 2 * limit + 256, alignment: 8) { buffer in
    var writer = ByteWriter(buffer)
    writer.append(head.methodText, of: message)
    writer.append(byte: 0x20)
    writer.append(head.target, of: message)
    writer.append(" HTTP/1.1\r\n")
    let before = writer.count
    writer.append(fieldsOf: head.fields, in: message)
    precondition(writer.count - before == head.fields.keptSize)
    writer.append(framing: framing)
    writer.appendCRLF()
    var again = RequestHead()
    precondition(again.parse(writer.written, limit: buffer.count) == .complete)
    precondition(again.length == writer.count && again.method == head.method)
    precondition((try? again.framing(in: writer.written)) == framing, "the framing changed on its way")
    precondition(again.fields.count == head.fields.count { !$0.dropped } + (framing == .none ? 0 : 1))
  }
}
