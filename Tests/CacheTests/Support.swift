import HTTPWire
import Testing

@testable import Cache

/// A response's facts, read at this Unix time.
let noon: Int64 = 1_700_000_000
let second: Int64 = 1_000_000_000

func facts(_ fields: String, status: Int = 200, wall: Int64 = noon) -> ResponseFacts {
  let text = Array("HTTP/1.1 \(status) x\r\n\(fields.isEmpty ? "" : fields + "\r\n")\r\n".utf8)
  return text.withUnsafeBytes { bytes in
    var head = ResponseHead()
    precondition(head.parse(bytes, limit: 1 << 20) == .complete, "\(fields)")
    return ResponseFacts(head, in: bytes, wall: wall)
  }
}

func withRequest<Value>(
  _ fields: String, method: String = "GET", _ body: (borrowing RequestHead, UnsafeRawBufferPointer) -> Value
) -> Value {
  let text = Array("\(method) http://h/ HTTP/1.1\r\nHost: h\r\n\(fields.isEmpty ? "" : fields + "\r\n")\r\n".utf8)
  return text.withUnsafeBytes { bytes in
    var head = RequestHead()
    precondition(head.parse(bytes, limit: 1 << 20) == .complete, "\(fields)")
    return body(head, bytes)
  }
}

func needs(_ fields: String, _ rules: CacheRules = CacheRules()) -> RequestNeeds {
  withRequest(fields) { RequestNeeds($0, in: $1, rules) }
}

func plan(_ fields: String, method: String = "GET", rules: CacheRules = CacheRules()) -> RequestPlan {
  withRequest(fields, method: method) { head, bytes in
    RequestPlan(head, in: bytes, framing: (try? head.framing(in: bytes)) ?? .none, rules, wall: noon)
  }
}

func variant(_ fields: String, _ rules: CacheRules = CacheRules(), written: [String] = [], vary: [String] = []) -> CacheDigest {
  withRequest(fields) { head, bytes in
    VariantReader(rules, written: written.map { Array($0.utf8) })
      .variant(of: head.fields, in: bytes, vary: VaryNames(vary.map { Array($0.utf8) }))
  }
}

let nobody = Authorizing(byProxy: false, byApp: false)
let byProxy = Authorizing(byProxy: true, byApp: false)
let byApp = Authorizing(byProxy: false, byApp: true)

func refusal(
  _ fields: String, status: Int = 200, _ rules: CacheRules = CacheRules(), request: String = "",
  _ authorizing: Authorizing = byProxy
) -> StoreRefusal? {
  facts(fields, status: status).storeRefusal(
    rules, needs(request, rules), authorizing, times(fields, status: status, rules))
}

extension ResponseFacts {
  func storeRefusal(
    _ rules: CacheRules, _ needs: RequestNeeds, _ authorizing: Authorizing, asked: Int64, received: CacheTime
  ) -> StoreRefusal? {
    storeRefusal(rules, needs, authorizing, StoredTimes(self, rules, asked: asked, received: received))
  }
}

func times(_ fields: String, status: Int = 200, _ rules: CacheRules = CacheRules()) -> StoredTimes {
  StoredTimes(facts(fields, status: status), rules, asked: 0, received: CacheTime(steady: 0, wall: noon))
}

/// `noon` and some seconds as IMF-fixdate.
func date(_ offset: Int64 = 0) -> String {
  withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { buffer in
    var writer = ByteWriter(buffer)
    writer.append(httpDate: noon + offset)
    return String(decoding: writer.written, as: UTF8.self)
  }
}

func written(_ write: (inout ByteWriter) -> Void) -> String {
  withUnsafeTemporaryAllocation(byteCount: 8192, alignment: 8) { buffer in
    var writer = ByteWriter(buffer)
    write(&writer)
    return String(decoding: writer.written, as: UTF8.self)
  }
}

/// The same numbers in each run.
struct Seeded: RandomNumberGenerator {
  var state: UInt64
  init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }
  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 2_685_821_657_736_338_717
  }
}
