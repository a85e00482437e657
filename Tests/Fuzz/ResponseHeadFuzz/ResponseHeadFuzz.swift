import CFuzzer
import HTTPWire

@_cdecl("ResponseHeadFuzz_main")
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
  var head = ResponseHead()
  let outcome = head.parse(bytes, limit: limit)
  var slow = ResponseHead()
  var slowOutcome = HeadOutcome.incomplete
  var count = 0
  repeat {
    count = min(bytes.count, count + 1 + count / 64)
    slowOutcome = slow.parse(UnsafeRawBufferPointer(rebasing: bytes[..<count]), limit: limit)
  } while slowOutcome == .incomplete && count < bytes.count
  precondition(outcome == slowOutcome, "trickled \(slowOutcome), whole \(outcome)")
  guard outcome == .complete else { return }
  precondition(head.fields == slow.fields && head.reason == slow.reason && head.length == slow.length)
  precondition(head.status == slow.status && 100...999 ~= head.status && head.length <= min(bytes.count, limit))
  let message = UnsafeRawBufferPointer(rebasing: bytes[..<head.length])
  var end = head.reason.end
  for field in head.fields {
    precondition(field.name.start > end && field.value.start > field.name.end)
    end = field.value.end
    precondition(end <= message.count - 4 && field.id == FieldName(field.name.bytes(in: message)))
  }
  checkMeaning(&head, in: message)
}

private func checkMeaning(_ head: inout ResponseHead, in message: UnsafeRawBufferPointer) {
  _ = head.persists(in: message)
  _ = head.isEventStream(in: message)
  _ = head.upgradeToken(in: message)
  _ = head.authenticatesConnection(in: message)
  if let wait = head.retryAfter(now: 1_700_000_000, in: message) { precondition(wait >= 0) }
  if let length = head.contentLength(in: message) { precondition(length >= 0) }
  for method in [Method.get, .head, .connect] { _ = try? head.framing(to: method, in: message) }
  guard let framing = try? head.framing(to: .get, in: message) else { return }
  head.markHopByHop(in: message, keepUpgrade: false)
  withUnsafeTemporaryAllocation(byteCount: 3 * limit + 256, alignment: 8) { buffer in
    var writer = ByteWriter(buffer)
    writer.append(statusLineOf: head, in: message)
    let before = writer.count
    writer.append(fieldsOf: head.fields, in: message)
    precondition(writer.count - before == head.fields.keptSize)
    writer.append(framing: framing)
    writer.appendCRLF()
    var again = ResponseHead()
    precondition(again.parse(writer.written, limit: buffer.count) == .complete)
    precondition(again.length == writer.count && again.status == head.status)
    precondition((try? again.framing(to: .get, in: writer.written)) == framing, "the framing changed on its way")
    for field in head.fields where field.id == .proxyStatus {
      var list = ByteWriter(buffer)
      list.append(listField: field, without: Array("authproxy".utf8), in: message)
      precondition(list.count <= 2 * (field.name.count + field.value.count) + 4)
    }
  }
}
