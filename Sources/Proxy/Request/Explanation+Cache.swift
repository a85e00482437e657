import Cache
import Forwarding
import HTTPWire
import Settings

extension Explanation {
  /// What the store of answers has to do with a request.
  public struct Storing: Sendable {
    public var rules: CacheRules
    /// Why it goes by the store; nil: it is looked up.
    public var pass: RequestPlan.Pass?
    public var isHead: Bool
    /// Its answer may be stored, as far as the request decides it.
    public var mayStore: Bool
    /// It may wait for the answer to an identical request.
    public var mayCollapse: Bool
    /// The entry's credential goes with it: answers are kept by its identity.
    public var sendsCredential: Bool
    /// Names of fields that tell it apart, lower-case.
    public var telling: [String]
  }
}

extension Explanation.Storing {
  /// nil: the entry has no `cache`.
  init?(
    _ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, _ entry: Entry, _ rules: ForwardingRules,
    _ snapshot: Snapshot
  ) throws(ProxyError) {
    guard let cache = entry.settings.cache else { return nil }
    let framing: BodyFraming
    do { framing = try head.framing(in: bytes) } catch { throw .malformed(error) }
    var decided = RequestHead()
    _ = decided.parse(bytes, limit: bytes.count)
    var outbound = OutboundRequest(head)
    outbound.framing = framing
    do { try outbound.decide(&decided, in: bytes, rules: rules) } catch { throw ProxyError(error, for: entry.name) }
    let plan = RequestPlan(head, in: bytes, framing: framing, cache, wall: 0)
    let policy = entry.credential.map { snapshot.credentials[$0].policy }
    let fields = (policy?.fieldName.map { [$0] } ?? []) + (policy?.moreFields ?? [])
    let reader =
      outbound.sendsCredential ? VariantReader(cache, written: fields) : VariantReader(cache, credential: fields)
    let names = reader.names(of: decided.fields, in: bytes)
    self.rules = cache
    pass = plan.pass
    isHead = plan.isHead
    mayStore = plan.mayStore
    mayCollapse = plan.mayCollapse(hasStored: false)
    sendsCredential = outbound.sendsCredential
    telling = names.map { String(decoding: $0, as: UTF8.self) } + entry.settings.namingFields(cache)
  }
}

extension UpstreamSettings {
  /// Fields that the entry sets to the client's name in requests or answers, where an answer may serve several.
  fileprivate func namingFields(_ cache: CacheRules) -> [String] {
    guard cache.servesSeveralClients else { return [] }
    return (requestHeaders.set + responseHeaders.set).filter { $0.value.texts.count > 1 }.map { $0.name.lowercased() }
  }
}
