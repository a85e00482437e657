import Foundation
import JSON
import Testing

@testable import Credentials

@Suite("The file store survives kills, damage and other processes")
final class FileTokenStoreTests {
  private let folder: String
  private var path: String { folder + "/tokens.json" }
  private let key = Secret([UInt8](repeating: 0x42, count: 32))

  init() throws {
    folder = NSTemporaryDirectory() + "token-store-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func makeRecord(_ token: String, generation: UInt64 = 1) -> TokenRecord {
    TokenRecord(
      binding: [UInt8](repeating: 7, count: 32), generation: generation, refreshToken: Secret(token),
      accessToken: Secret("access-" + token), expiresAt: 1_800_000_000, lifetime: 3600, inFlight: true)
  }

  private func save(_ record: TokenRecord, for name: String, in store: FileTokenStore) {
    guard case .record = store.perform(.read, for: name) else {
      Issue.record("not locked")
      return
    }
    #expect(store.perform(.save(record), for: name) == .saved)
    _ = store.perform(.release, for: name)
  }

  @Test("clear: what the server refused is tried again; a record with another key, or a damaged one, is kept aside")
  func clear() throws {
    let store = try FileTokenStore(path: path, key: key)
    #expect(try store.clear("api", at: 5) == .nothing)
    var record = makeRecord("one")
    record.lastError = TokenRecord.RefreshError("invalid_grant", at: 1, isFinal: true)
    record.backOff = SharedBackOff(until: 9, count: 1, text: "invalid_grant")
    save(record, for: "api", in: store)
    save(makeRecord("other"), for: "other", in: store)
    #expect(try store.clear("api", at: 5) == .cleared)
    record.lastError = .clearance(at: 5)
    record.backOff = nil
    #expect(load("api", from: store) == .record(record))
    #expect(try store.clear("api", at: 6) == .nothing)
    let turned = try FileTokenStore(path: path, key: Secret([UInt8](repeating: 0x43, count: 32)))
    #expect(load("api", from: turned) == .wrongKey)
    #expect(try turned.clear("api", at: 7) == .setAside)
    #expect(load("api", from: turned) == .record(nil))
    #expect(load("other", from: turned) == .wrongKey)
    // It is still there for whoever has the key.
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let aside = try #require(text.range(of: "\"set_aside\":"))
    #expect(text[aside.upperBound...].contains("\"api\""))
    #expect(load("other", from: store) == .record(makeRecord("other")))
  }

  private func load(_ name: String, from store: FileTokenStore) -> TokenStoreAnswer {
    let answer = store.perform(.read, for: name)
    _ = store.perform(.release, for: name)
    return answer
  }

  private var content: String {
    get throws { try String(contentsOfFile: path, encoding: .utf8) }
  }

  private var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] }

  private func mode(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  @Test("a record comes back whole, also in another process", arguments: [false, true])
  func roundTrip(sealed: Bool) throws {
    let store = try FileTokenStore(path: path, key: sealed ? key : nil)
    #expect(load("api", from: store) == .record(nil))
    save(makeRecord("r1"), for: "api", in: store)
    save(makeRecord("s1"), for: "other \"name\"/..\n", in: store)
    let again = try FileTokenStore(path: path, key: sealed ? key : nil)
    #expect(load("api", from: again) == .record(makeRecord("r1")))
    #expect(load("other \"name\"/..\n", from: again) == .record(makeRecord("s1")))
    #expect(load("third", from: again) == .record(nil))
    #expect(try mode(path) == 0o600)
    for file in files where file.hasSuffix(".lock") { #expect(try mode(folder + "/" + file) == 0o600) }
    #expect(try content.contains(Data("access-r1".utf8).base64EncodedString()) == !sealed)
    #expect(try JSONSerialization.jsonObject(with: Data(content.utf8)) is [String: Any])
  }

  @Test("an access token may be any visible ASCII, and a record with other characters is ignored")
  func accessTokens() throws {
    for (token, comes) in [("12|a%7C=\"b", true), ("a b", false), ("a\n", false), ("", false), ("\u{e4}", false)] {
      var record = makeRecord("r1")
      record.accessToken = Secret(token)
      save(record, for: "api", in: try FileTokenStore(path: path))
      let answer = load("api", from: try FileTokenStore(path: path))
      #expect((answer == .record(record)) == comes, "\(token.debugDescription): \(answer)")
    }
  }

  @Test("the next write removes other users' permission to read the file")
  func permissions() throws {
    let store = try FileTokenStore(path: path)
    save(makeRecord("r1"), for: "api", in: store)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    save(makeRecord("r2"), for: "api", in: store)
    #expect(try mode(path) == 0o600)
  }

  @Test("a kill while the temporary file was being written leaves the old record, and the next write cleans up")
  func partialTemporaryFile() throws {
    let store = try FileTokenStore(path: path)
    save(makeRecord("r1"), for: "api", in: store)
    let whole = try content
    for length in [0, 1, whole.utf8.count / 2, whole.utf8.count] {
      try Data(whole.utf8.prefix(length)).write(to: URL(fileURLWithPath: path + ".tmp"))
      try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path + ".tmp")
      let next = try FileTokenStore(path: path)
      #expect(load("api", from: next) == .record(makeRecord("r1")))
      save(makeRecord("r1"), for: "api", in: next)
      #expect(!files.contains("tokens.json.tmp"))
      #expect(try mode(path) == 0o600)
    }
  }

  @Test("a temporary name that was made a link elsewhere is not followed")
  func linkedTemporaryFile() throws {
    let victim = folder + "/victim"
    try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
    try FileManager.default.createSymbolicLink(atPath: path + ".tmp", withDestinationPath: victim)
    save(makeRecord("r1"), for: "api", in: try FileTokenStore(path: path))
    #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
  }

  @Test("a file cut at any byte never crashes, and every record whose line is whole is found")
  func cutAnywhere() throws {
    let store = try FileTokenStore(path: path)
    for name in ["a", "b", "c"] { save(makeRecord(name), for: name, in: store) }
    let whole = Array(try content.utf8)
    let firstLine = try #require(whole.firstIndex(of: 0x0a))
    let secondLine = try #require(whole[(firstLine + 1)...].firstIndex(of: 0x0a))
    for length in stride(from: 0, to: whole.count, by: 7) {
      try Data(whole.prefix(length)).write(to: URL(fileURLWithPath: path))
      let answer = load("a", from: try FileTokenStore(path: path))
      if length > secondLine {
        #expect(answer == .record(makeRecord("a")))
      } else {
        guard case .record(let record, _) = answer else {
          Issue.record("\(answer) at \(length)")
          continue
        }
        #expect(record == nil || record == makeRecord("a"))
      }
    }
  }

  @Test(
    "one bad record costs no other, and is kept",
    arguments: [
      "{\"binding\":\"AAAA\",\"generation\":1,\"refresh_token\":\"cjE=\"}", "{}", "null", "7", "\"x\"",
      "{\"sealed\":\"AAAA\",\"key\":\"no\"}x", "{\"a\":1,\"a\":2}", "\u{1}", "[[",
    ])
  func badRecord(bad: String) throws {
    let store = try FileTokenStore(path: path)
    save(makeRecord("b1"), for: "bad", in: store)
    save(makeRecord("g1"), for: "good", in: store)
    var lines = try content.split(separator: "\n").map(String.init)
    let index = try #require(lines.firstIndex { $0.hasPrefix("\"bad\":") })
    lines[index] = "\"bad\":\(bad),"
    try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path))

    #expect(load("good", from: store) == .record(makeRecord("g1")))
    #expect(load("bad", from: store) == .record(nil, setAside: true))
    save(makeRecord("b2"), for: "bad", in: store)
    #expect(load("bad", from: store) == .record(makeRecord("b2")))
    #expect(load("good", from: store) == .record(makeRecord("g1")))
    let json = try #require(try JSONSerialization.jsonObject(with: Data(content.utf8)) as? [String: Any])
    #expect((json["set_aside"] as? [Any])?.count == 1)
  }

  @Test("a file that is something else is kept under another name", arguments: ["hello", "{\"version\":2}", "[]", "\0\0\0"])
  func foreignFile(text: String) throws {
    let store = try FileTokenStore(path: path)
    for number in 1...2 {
      try Data(text.utf8).write(to: URL(fileURLWithPath: path))
      #expect(load("api", from: store) == .record(nil, setAside: true))
      #expect(try String(contentsOfFile: path + ".corrupt-\(number)", encoding: .utf8) == text)
    }
    save(makeRecord("r1"), for: "api", in: store)
    #expect(load("api", from: store) == .record(makeRecord("r1")))
  }

  @Test("an empty file is an empty store")
  func emptyFile() throws {
    try Data().write(to: URL(fileURLWithPath: path))
    #expect(load("api", from: try FileTokenStore(path: path)) == .record(nil))
  }

  @Test("two processes: a credential's lock is exclusive, another credential's is free, and a dead holder's is given back")
  func locks() throws {
    let first = try FileTokenStore(path: path)
    var second: FileTokenStore? = try FileTokenStore(path: path)
    #expect(first.perform(.read, for: "api") == .record(nil))
    #expect(second?.perform(.read, for: "api") == .busy())
    #expect(first.perform(.read, for: "api") == .busy())
    #expect(second?.perform(.read, for: "other") == .record(nil))
    #expect(first.perform(.save(makeRecord("r1")), for: "api") == .saved)
    #expect(second?.perform(.save(makeRecord("s1")), for: "other") == .saved)
    _ = first.perform(.release, for: "api")
    #expect(second?.perform(.read, for: "api") == .record(makeRecord("r1")))
    #expect(first.perform(.read, for: "other") == .busy())
    second = nil
    #expect(first.perform(.read, for: "other") == .record(makeRecord("s1")))
    #expect(first.perform(.read, for: "api") == .record(makeRecord("r1")))
  }

  @Test("nothing is written without the lock")
  func unlockedWrite() throws {
    let store = try FileTokenStore(path: path)
    guard case .failed = store.perform(.save(makeRecord("r1")), for: "api") else {
      Issue.record("written")
      return
    }
    #expect(!files.contains("tokens.json"))
  }

  @Test("processes that write different credentials at once lose nothing")
  func concurrentWrites() async throws {
    let path = path
    let record = makeRecord("x")
    await withTaskGroup(of: Void.self) { group in
      for name in ["a", "b", "c", "d"] {
        group.addTask {
          guard let store = try? FileTokenStore(path: path) else { return }
          for generation in 1...20 as ClosedRange<UInt64> {
            var next = record
            next.generation = generation
            _ = store.perform(.read, for: name)
            _ = store.perform(.save(next), for: name)
            _ = store.perform(.release, for: name)
          }
        }
      }
    }
    var last = record
    last.generation = 20
    let store = try FileTokenStore(path: path)
    for name in ["a", "b", "c", "d"] { #expect(load(name, from: store) == .record(last)) }
  }

  @Test("sealed: another key, no key, a changed byte, a record moved to another name")
  func sealed() throws {
    let store = try FileTokenStore(path: path, key: key)
    save(makeRecord("r1"), for: "api", in: store)
    let other = try FileTokenStore(path: path, key: Secret([UInt8](repeating: 1, count: 32)))
    #expect(load("api", from: other) == .wrongKey)
    #expect(load("api", from: try FileTokenStore(path: path)) == .wrongKey)
    #expect(load("api", from: store) == .record(makeRecord("r1")), "looking with a wrong key harms nothing")
    let whole = try content
    try Data(whole.replacingOccurrences(of: "\"api\"", with: "\"apj\"").utf8).write(to: URL(fileURLWithPath: path))
    #expect(load("apj", from: store) == .record(nil, setAside: true))
    let range = try #require(whole.range(of: "\"sealed\":\""))
    var changed = Array(whole)
    let index = whole.distance(from: whole.startIndex, to: range.upperBound) + 40
    changed[index] = changed[index] == "A" ? "B" : "A"
    try Data(String(changed).utf8).write(to: URL(fileURLWithPath: path))
    #expect(load("api", from: store) == .record(nil, setAside: true))
  }

  @Test("a plain record is read with a key too, and sealed by the next write")
  func sealedLater() throws {
    save(makeRecord("r1"), for: "api", in: try FileTokenStore(path: path))
    let store = try FileTokenStore(path: path, key: key)
    #expect(load("api", from: store) == .record(makeRecord("r1")))
    save(makeRecord("r2"), for: "api", in: store)
    #expect(try !content.contains("refresh_token"))
    #expect(throws: FileTokenStore.Problem.badKey) { try FileTokenStore(path: path, key: Secret("short")) }
  }

  @Test("a folder that is not there is a failure that names the call, not the content")
  func noFolder() throws {
    let store = try FileTokenStore(path: folder + "/missing/tokens.json")
    #expect(store.perform(.read, for: "api") == .failed("\(folder)/missing/tokens.json: open: No such file or directory"))
  }

  @Test("killed right after any of its steps on disk and started again, a machine is never locked out")
  func killAnywhere() throws {
    let policy = makePolicy(grant: .refreshToken(Secret("r0")))
    // The server: one valid refresh token, replaced at each use.
    var granted = 0
    var steps: [TokenStoreRequest] = []
    for round in 0..<60 {
      // Its locks end with the process.
      let store = try FileTokenStore(path: path)
      var driver = Driver(policy, seed: UInt64(round))
      driver.wall += Int64(round) * 4_000
      var queue = driver.need().actions
      steps = []
      while !queue.isEmpty, steps.count <= round % 5 {
        switch queue.removeFirst() {
        case .store(let id, let request):
          steps.append(request)
          let answer = store.perform(request, for: "api")
          queue += driver.note(driver.machine.storeAnswered(id: id, answer, now: driver.now, wall: driver.wall))
        case .fetch(let id, let token, _):
          #expect(token.map { text($0.bytes) } == "r\(granted)", "round \(round)")
          // Nobody can prevent the loss if the kill comes between the server's commit and the save.
          guard steps.count < round % 5 + 1 else { break }
          granted += 1
          let answer = grant("a\(granted)", refreshToken: "r\(granted)")
          queue += driver.note(driver.machine.tokenAnswer(id: id, answer, now: driver.now, wall: driver.wall))
        default: break
        }
      }
      #expect(steps.count == min(round % 5 + 1, 4))
    }
    #expect(granted == 36, "three of five rounds come as far as the request")
    #expect(steps.count == 4)
  }

  @Test("a dead refresh token is presented once: a new process does not try it, another first token ends that")
  func deadToken() throws {
    let policy = makePolicy(grant: .refreshToken(Secret("first-5ecret")))
    var first = Process(policy, store: try FileTokenStore(path: path))
    first.need()
    first.answer(refusal(.invalidGrant))
    var second = Process(policy, store: try FileTokenStore(path: path))
    second.need()
    #expect(second.sent.isEmpty && second.failed == [.needsOperator("the token server refused: invalid_grant")])
    var third = Process(makePolicy(grant: .refreshToken(Secret("other-5ecret"))), store: try FileTokenStore(path: path))
    third.need()
    #expect(third.sent == ["other-5ecret"])
  }

  @Test("a back-off outlives the process that has met it, by the time that is left")
  func backOff() throws {
    let policy = makePolicy(grant: .refreshToken(Secret("first-5ecret")))
    var first = Process(policy, store: try FileTokenStore(path: path))
    first.need()
    first.answer(.failed(.status(503), retryAfter: 60_000))
    var second = Process(policy, store: try FileTokenStore(path: path))
    second.driver.pass(20_000)
    second.need()
    #expect(second.sent.isEmpty && second.failed.first?.retryAfterSeconds == 40)
    second.driver.pass(41_000)
    second.need()
    #expect(second.sent == ["first-5ecret"])
    // A clock that was set back by a day makes no back-off of a day.
    var third = Process(policy, store: try FileTokenStore(path: path))
    third.driver.wall -= 86_400
    second.answer(.failed(.status(503), retryAfter: 60_000))
    third.need()
    #expect((third.failed.first?.retryAfterSeconds ?? 0) <= 300)
  }

  @Test("refresh_window is that of all processes, and a token that another one has got does not count")
  func window() throws {
    let policy = makePolicy(grant: .refreshToken(Secret("first-5ecret")), window: .init(attempts: 1))
    var first = Process(policy, store: try FileTokenStore(path: path))
    first.need()
    first.answer(grant("a1", refreshToken: "r1"))
    var second = Process(policy, store: try FileTokenStore(path: path))
    second.need()
    first.refused(1)
    first.answer(grant("a2", refreshToken: "r2"))
    second.refused(1)
    #expect(second.published == ["a1", "a2"] && second.released.isEmpty)
    second.refused(2)
    #expect(second.sent.isEmpty && second.released == [.windowUsedUp])
  }

  // Written before records had claims and back-offs: those of a refresh that timed out, and of a mark without an answer.
  private static let binding = "UndHrBe+UCmKJWSI51NVaNQz2DONyfJx1zeQDqDlflc="
  private static let earlier = """
    {"version":1,"credentials":{
    "api":{"binding":"\(binding)","generation":1,"refresh_token":"cjEtNWVjcmV0","access_token":"YTEtNWVjcmV0",\
    "expires_at":1800003600,"lifetime":3600,"in_flight":true,\
    "last_error":{"text":"the token server did not answer in time","at":1800000000,"final":false}},
    "second":{"binding":"\(binding)","generation":0,"refresh_token":"Zmlyc3QtNWVjcmV0","in_flight":true}
    }}

    """
  private static let earlierSealed = """
    {"version":1,"credentials":{
    "api":{"key":"hWoZa1NqrTSd","sealed":"uoWAtN+WDgvOsb4LDKtllakla3XAis9jv7UwSqdBZOHGqjJ4m97pHEy+eEJb+3O/V1PoxbOxzEyThc6A+R\
    hekuO9N8CCpBB+9DLC9f8E3QkLPouakBjXP8X6R5n7VBC/69aB/6MFYC7wVV4SK7mLtqoYNuaBnKwXhTlqkOXy8uJmFNF3U4y+ir4kYknBaDUQ8jbJKl2\
    gnaC6qx6ton2aDyGGl7XbiAp3BSnaTEyurslFZop01ua1ugG/0BwX5qzsAEy6uAKy2dfZChf23Q+kyRrnUtlEOgQBTQQAhQPTdU+0PdJLYB4bEiq648gp\
    8gFo/NQa2QZ7LDqOJxPrhoWbwoQ9/i7Y75CDTKbutHe9Xlm5I97DZdXo1dxmDplvxq8kanucX4+0GCMkjBSl3CabWcN7sr0PEdZcKw=="},
    "second":{"key":"hWoZa1NqrTSd","sealed":"DnDVkjbk/l4hGRqCIj3u7CUhHtTlq7wRNTphdz7akwloGRkBzXjBvqfv4tdtHD486pzsFCHP+6Mj6\
    hn22IaLL3QNxvjH42s1KjqG7f1Eq/kPSSO84qsQWagW7IKQUtOs8Hops5l2PNBoBW4B+QNuMWXPuwZ9Lh12uwBU6zot1regKtoro831BdqPWNlSpEG/Hk\
    /82K28/x6f"}
    }}

    """

  @Test("a file that an earlier version wrote is read, gone on with, and can be read by it again", arguments: [false, true])
  func earlierVersion(isSealed: Bool) throws {
    try Data((isSealed ? Self.earlierSealed : Self.earlier).utf8).write(to: URL(fileURLWithPath: path))
    let key = isSealed ? Secret([UInt8](0..<32)) : nil
    let policy = makePolicy(grant: .refreshToken(Secret("first-5ecret")))
    var api = Process(policy, store: try FileTokenStore(path: path, key: key))
    api.driver.pass(1_000)
    api.need()
    #expect(api.published == ["a1-5ecret"] && api.sent.isEmpty)
    api.refused(1)
    #expect(api.sent == ["r1-5ecret"])
    api.answer(grant("a2-5ecret", refreshToken: "r2-5ecret"))
    var second = Process(policy, store: try FileTokenStore(path: path, key: key))
    second.name = "second"
    second.need()
    second.answer(refusal(.invalidGrant))
    guard case .needsOperator(let why)? = second.failed.first else {
      Issue.record("no operator is asked for")
      return
    }
    #expect(why.contains("an earlier process ended"))
    // The members that it knows are as it expects them; it leaves others alone.
    guard case .record(let record?, false) = load("api", from: try FileTokenStore(path: path, key: key)) else {
      Issue.record("not read")
      return
    }
    #expect(record.refreshToken == Secret("r2-5ecret") && record.generation == 2 && record.claim == nil)
    let names = ["access_token", "binding", "expires_at", "generation", "lifetime", "refresh_token", "refusals", "request"]
    #expect(record.json.members == names)
  }

  @Test("the binding tells configurations apart by what a token belongs to, and by nothing else")
  func bindings() {
    let base = makePolicy(grant: .refreshToken(Secret("r")))
    var digests = Set([TokenBinding.digest(of: base)])
    for other in [
      makePolicy(grant: .refreshToken(Secret("s"))), makePolicy(grant: .refreshToken(Secret("r")), clientID: "other"),
      makePolicy(grant: .refreshToken(Secret("r")), endpoint: .token(url: "https://b/t")),
      makePolicy(grant: .refreshToken(Secret("r")), endpoint: .issuer(url: "https://login.example.com/token")),
      makePolicy(grant: .password(username: "r", password: Secret("p"))), makePolicy(grant: .clientCredentials),
    ] { #expect(digests.insert(TokenBinding.digest(of: other)).inserted) }
    for same in [
      makePolicy(grant: .refreshToken(Secret("r")), authentication: .post(secret: Secret("new"))),
      makePolicy(grant: .refreshToken(Secret("r")), scope: "x"),
    ] { #expect(TokenBinding.digest(of: same) == TokenBinding.digest(of: base)) }
  }
}

extension JSONValue {
  fileprivate var members: [String] { if case .object(let members) = self { members.map(\.name).sorted(by: <) } else { [] } }
}
