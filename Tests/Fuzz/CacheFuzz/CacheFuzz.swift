import CFuzzer
import Cache
import HTTPWire

@_cdecl("CacheFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

private let wall: Int64 = 1_700_000_000
private let limit = 1 << 14

/// A byte that chooses the rules, a request's head, a response's head, and a 304's.
private func check(_ input: UnsafeRawBufferPointer) {
  guard let choice = input.first else { return }
  let rules = rules(choice)
  let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
  var request = RequestHead()
  guard request.parse(bytes, limit: limit) == .complete else { return }
  let plan = RequestPlan(request, in: bytes, framing: (try? request.framing(in: bytes)) ?? .chunked, rules, wall: wall)
  if plan.pass != nil { precondition(!plan.mayStore && !plan.mayCollapse(hasStored: true)) }
  if plan.hasRange { precondition(!plan.mayStore && !plan.mayCollapse(hasStored: true)) }
  let reader = VariantReader(rules, written: [Array("X-Key".utf8)])
  precondition(
    reader.variant(of: request.fields, in: bytes, vary: .none) == reader.variant(of: request.fields, in: bytes, vary: .none))

  let second = UnsafeRawBufferPointer(rebasing: bytes[request.length...])
  var response = ResponseHead()
  guard response.parse(second, limit: limit) == .complete else { return }
  let answer = UnsafeRawBufferPointer(rebasing: second[..<response.length])
  let facts = ResponseFacts(response, in: answer, wall: wall)
  check(facts, response, in: answer, rules, plan)
  if case .names(let names) = facts.vary { _ = reader.variant(of: request.fields, in: bytes, vary: names) }
  for path in Invalidation.paths(response, in: answer, target: Array("/a/b?c".utf8), bases: [Array("https://h".utf8)]) {
    precondition(path.first == UInt8(ascii: "/"), "a path without its start")
  }
  guard let head = StoredHead(relayed: answer, name: Array("authproxy".utf8)) else { preconditionFailure("no head") }
  check(head, facts, plan)

  let third = UnsafeRawBufferPointer(rebasing: second[response.length...])
  var newer = ResponseHead()
  guard newer.parse(third, limit: limit) == .complete else { return }
  let update = UnsafeRawBufferPointer(rebasing: third[..<newer.length])
  let news = ResponseFacts(newer, in: update, wall: wall)
  if case .renewed(let renewed) = facts.validated(by: news) {
    precondition(renewed.status == facts.status)
    check(renewed, rules, plan)
    guard let head = head.renewed(relayed: update, name: Array("authproxy".utf8)) else { preconditionFailure("no head") }
    check(head, renewed, plan)
  }
  _ = facts.isRenewed(byHead: news, size: 10)
}

private func rules(_ choice: UInt8) -> CacheRules {
  let share: CacheRules.Share =
    switch choice & 3 {
    case 0: .client
    case 1: .everyone
    case 2: .all
    default: .credential
    }
  return CacheRules(
    share: share, defaultLifetime: choice & 4 != 0 ? .heuristic : .seconds(Int64(choice & 8)),
    minimumLifetime: choice & 16 != 0 ? 60 : 0,
    staleWhileRevalidate: choice & 32 != 0 ? 30 : 0, staleIfError: choice & 32 != 0 ? 30 : 0,
    ignored: IgnoredFields(choice & 64 != 0 ? ["*"] : ["X-*", "Cookie"]), honoursClientDirectives: choice & 128 == 0)
}

private let authorizings = [Authorizing(byProxy: true, byApp: false), Authorizing(byProxy: false, byApp: true)]

private func refusal(_ facts: ResponseFacts, _ rules: CacheRules, _ plan: RequestPlan, _ authorizing: Authorizing)
  -> StoreRefusal?
{
  facts.storeRefusal(
    rules, plan.needs, authorizing, StoredTimes(facts, rules, asked: 0, received: CacheTime(steady: 0, wall: wall)))
}

/// What must never be stored, judged by another reading of the head.
private func check(
  _ facts: ResponseFacts, _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, _ rules: CacheRules,
  _ plan: RequestPlan
) {
  check(facts, rules, plan)
  let isStored = authorizings.contains { refusal(facts, rules, plan, $0) == nil }
  guard isStored else { return }
  precondition(![206, 304, 401, 403, 407, 421, 425, 428, 429, 431, 511].contains(head.status) && head.status >= 200, "status")
  precondition(!head.contains(.setCookie), "a cookie")
  precondition(!has("*", in: .vary, of: head, bytes), "Vary: *")
  if rules.isShared { precondition(!has("private", in: .cacheControl, of: head, bytes), "private") }
  if !has("must-understand", in: .cacheControl, of: head, bytes) {
    precondition(!has("no-store", in: .cacheControl, of: head, bytes), "no-store")
  }
  if rules.share == .everyone {
    let text = Array(head.fields.joinedValues(of: .cacheControl, in: bytes).map { $0 | 0x20 })
    let permits = ["public", "s-maxage", "must-revalidate"].contains { find(Array($0.utf8), in: text) }
    precondition(permits, "shared without permission")
  }
}

/// Whether a value without any quotation mark has this member, whatever `=` follows.
private func has(_ name: String, in id: FieldName, of head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
  for field in head.fields where field.id == id {
    let text = String(decoding: field.value.bytes(in: bytes), as: UTF8.self)
    if text.contains("\"") { continue }
    for member in text.split(separator: ",") {
      let word = member.split(separator: "=", omittingEmptySubsequences: false)[0]
      let trimmed = String(word.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
      if trimmed.lowercased() == name { return true }
    }
  }
  return false
}

private func find(_ word: [UInt8], in text: [UInt8]) -> Bool {
  guard text.count >= word.count else { return false }
  return (0...(text.count - word.count)).contains { text[$0..<($0 + word.count)].elementsEqual(word.map { $0 | 0x20 }) }
}

private func check(_ facts: ResponseFacts, _ rules: CacheRules, _ plan: RequestPlan) {
  let times = StoredTimes(facts, rules, asked: 0, received: CacheTime(steady: 0, wall: wall))
  precondition(times.lifetime >= 0 && times.initialAge >= 0 && facts.age >= 0)
  for now in [0, 1_000_000_000, 59_999_999_999, 1 << 50, .max] as [Int64] {
    let use = times.use(for: plan.needs, now: now)
    if case .now(let left) = use, left <= 0 { precondition(!times.neverStale && plan.needs.maxStale != nil, "stale") }
    if case .now = use, plan.needs.noCache { preconditionFailure("not validated") }
    if case .whileRevalidating = use { precondition(!times.neverStale && !times.isFresh(now), "stale") }
    if times.mayServeOnError(now: now, needs: plan.needs), !times.isFresh(now) { precondition(!times.neverStale, "stale") }
  }
  for authorizing in authorizings { _ = refusal(facts, rules, plan, authorizing) }
}

/// What is written of a stored head is a head, with one length and one age.
private func check(_ head: StoredHead, _ facts: ResponseFacts, _ plan: RequestPlan) {
  for size in [0, 1, 1000] {
    for part in [StoredPart.whole, .notModified, .unsatisfiable, plan.answer(from: facts, size: size, received: wall)] {
      if case .part(let range) = part { precondition(range.lowerBound >= 0 && range.upperBound <= size && !range.isEmpty) }
      withUnsafeTemporaryAllocation(byteCount: head.sizeLimit + 2, alignment: 8) { buffer in
        var writer = ByteWriter(buffer)
        writer.append(head, part: part, size: size, age: .max)
        writer.appendCRLF()
        var again = ResponseHead()
        precondition(
          again.parse(writer.written, limit: buffer.count + 1) == .complete && again.length == writer.count, "no head")
        precondition(again.fields.count(of: .age) == 1 && again.fields.count(of: .contentLength) <= 1)
        precondition(!again.contains(.connection) && !again.contains(.transferEncoding) && !again.contains(.trailer))
      }
    }
  }
}
