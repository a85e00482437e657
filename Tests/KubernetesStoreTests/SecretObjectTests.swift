import Crypto
import JSON
import Testing

@testable import KubernetesStore

@Suite struct SecretObjectTests {
  private static func object(_ text: String) -> SecretObject? {
    (try? JSONParser.parse(Array(text.utf8))).flatMap { SecretObject($0, name: "tokens", namespace: "apps") }
  }
  private static let metadata = #""metadata":{"name":"tokens","namespace":"apps","resourceVersion":"7"}"#

  @Test func `version and entries are read, and what else the object has is no matter`() {
    let object = Self.object(
      #"{"kind":"Secret","type":"Opaque","metadata":{"name":"tokens","namespace":"apps","resourceVersion":"7","labels":{"a":"b"},"#
        + #""managedFields":[{"fieldsV1":{"f:data":{".":{},"f:a":{}}}}]},"data":{"one.x":"YQ==","two.y":""}}"#)
    #expect(object == SecretObject(version: "7", entries: ["one.x": "YQ==", "two.y": ""]))
    #expect(object?.entry("one.x") == .value(Array("a".utf8)))
    #expect(object?.entry("two.y") == .value([]))
    #expect(object?.entry("three") == .absent)
  }

  @Test(arguments: [
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":"7"}}"#,
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":"7"},"data":null}"#,
  ])
  func `an empty Secret has no data`(text: String) { #expect(Self.object(text) == SecretObject(version: "7")) }

  @Test(arguments: [
    "{}", "[]", #"{"metadata":{}}"#, #"{"metadata":{"name":"tokens","namespace":"apps"}}"#,
    #"{"metadata":{"name":"other","namespace":"apps","resourceVersion":"7"}}"#,
    #"{"metadata":{"name":"tokens","namespace":"other","resourceVersion":"7"}}"#,
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":7}}"#,
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":""}}"#,
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":"a b"}}"#,
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":"7"},"data":[]}"#,
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":"7"},"data":{"a":1}}"#,
  ])
  func `anything else is not the object`(text: String) { #expect(Self.object(text) == nil) }

  @Test func `an entry that is not Base64 is told from an absent one`() {
    #expect(SecretObject(version: "1", entries: ["a": "%%%"]).entry("a") == .unreadable)
    #expect(SecretObject(version: "1", entries: ["a": "YQ"]).entry("a") == .unreadable)
  }

  @Test func `changes are what was added, replaced and removed`() {
    let before = SecretObject(version: "1", entries: ["same": "YQ==", "other": "YQ==", "gone": "YQ=="])
    let after = SecretObject(version: "2", entries: ["same": "YQ==", "other": "Yg==", "new": "YQ=="])
    #expect(after.changes(since: before) == ["other", "gone", "new"])
    #expect(after.changes(since: nil) == ["same", "other", "new"])
    #expect(after.changes(since: after) == [])
  }

  @Test func `a patch names the version and one entry`() {
    let patch = SecretObject(version: "7", entries: ["other": "YQ=="]).patch("one.x", to: Array("ab".utf8))
    #expect(String(decoding: patch, as: UTF8.self) == #"{"metadata":{"resourceVersion":"7"},"data":{"one.x":"YWI="}}"#)
  }

  @Test(
    arguments: [
      (nil, nil, .patch), ("old", "old", .patch), ("new", "old", .stored), ("new", nil, .stored),
      ("other", "old", .conflict(Array("other".utf8))), (nil, "old", .conflict(nil)),
      ("old", nil, .conflict(Array("old".utf8))),
    ] as [(String?, String?, CompareAndSet.Verdict)])
  func `what stands decides what a write does`(stands: String?, expected: String?, verdict: CompareAndSet.Verdict) {
    let task = CompareAndSet(key: "k", expected: expected.map { Array($0.utf8) }, new: Array("new".utf8))
    var entries: [String: String] = [:]
    if let stands { entries["k"] = String(decoding: Base64.encode(Array(stands.utf8)), as: UTF8.self) }
    #expect(task.verdict(on: SecretObject(version: "1", entries: entries)) == verdict)
  }

  @Test func `conflicts are retried at once, and with pauses when it gets crowded`() {
    #expect((1...3).allSatisfy { CompareAndSet.pause(afterConflicts: $0, chance: 0.99) == 0 })
    #expect(CompareAndSet.pause(afterConflicts: 4, chance: 0.5) == 20)
    #expect(CompareAndSet.pause(afterConflicts: 1_000, chance: 1) == 200)
  }
}
