import Testing

@testable import Cache

let us = Partition(
  Partition.Base(
    entry: "api", origin: Array("https://h:443".utf8), trust: [], certificate: [], rules: [], match: "h", share: .all),
  credential: .none, takesGzip: nil, client: .name("a"))
let them = Partition(
  Partition.Base(
    entry: "api", origin: Array("https://h:443".utf8), trust: [], certificate: [], rules: [], match: "h", share: .all),
  credential: CacheDigest(parts: [[1]]), takesGzip: nil, client: .name("a"))

func target(_ path: String, _ partition: Partition = us) -> CacheTarget {
  Array(path.utf8).withUnsafeBytes { CacheTarget(origin: partition.origin, path: $0) }
}

let plainHead = Array("HTTP/1.1 200 OK\r\nDate: x\r\n\r\n".utf8).withUnsafeBytes { StoredHead(relayed: $0, name: []) }

/// Bytes that say which body they are.
func pattern(_ seed: Int, _ count: Int) -> [UInt8] {
  // A length that no block's is a multiple of. By pieces, as tests make many of them.
  let tile = (0..<251).map { UInt8(truncatingIfNeeded: seed &* 31 &+ $0 &* 7 &+ seed >> 8) }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(count + tile.count)
  while bytes.count < count { bytes += tile }
  bytes.removeLast(bytes.count - count)
  return bytes
}

func write(_ bytes: [UInt8], to writer: BodyWriter) -> Int { bytes.withUnsafeBytes { writer.append($0) } }

/// nil: no room.
func makeAnswer(
  _ store: CacheStore, _ path: String, _ body: [UInt8], _ partition: Partition = us, variant: CacheDigest = .none,
  vary: VaryNames = .none, fields: String = "Cache-Control: max-age=60", isLengthKnown: Bool = true
) -> StoredAnswer? {
  guard let writer = BodyWriter(store, length: isLengthKnown ? body.count : nil), write(body, to: writer) == body.count,
    let stored = writer.finish(), let plainHead
  else { return nil }
  return StoredAnswer(
    store, target: target(path, partition), partition: partition, vary: vary, variant: variant, facts: facts(fields),
    times: times(fields), received: noon, head: plainHead, body: stored)
}

/// Why not; nil: it is stored.
@discardableResult
func put(
  _ store: CacheStore, _ path: String, _ body: [UInt8], _ partition: Partition = us, variant: CacheDigest = .none,
  vary: VaryNames = .none, began: CacheStore.Beginning? = nil
) -> StoreRefusal? {
  let start = began ?? store.begin()
  guard let answer = makeAnswer(store, path, body, partition, variant: variant, vary: vary) else { return .full }
  return store.link(answer, began: start)
}

func get(_ store: CacheStore, _ path: String, _ partition: Partition = us, variant: CacheDigest = .none) -> StoredAnswer? {
  store.probe(target(path, partition), partition, now: 0).answer { _ in variant }
}

func read(_ reader: inout BodyReader) -> (bytes: [UInt8], end: String) {
  var all: [UInt8] = []
  while true {
    switch reader.next() {
    case .bytes(let bytes):
      all += bytes
      reader.advance(bytes.count)
    case .later: return (all, "later")
    case .complete: return (all, "complete")
    case .broken: return (all, "broken")
    }
  }
}

func text(of answer: StoredAnswer) -> [UInt8] {
  var reader = answer.body.reader()
  return read(&reader).bytes
}
