import Crypto
import Foundation
import JSON
import Testing

@testable import Credentials

private let binding = [UInt8](repeating: 7, count: 32)

private func completed(
  accessToken: String = "a1", refreshToken: String? = "r1", bearer: String? = nil, subject: String? = "alice-17"
) -> CompletedLogin {
  CompletedLogin(
    accessToken: Secret(accessToken), refreshToken: refreshToken.map { Secret($0) }, bearer: Secret(bearer ?? accessToken),
    expiresAt: 1_800_003_600, lifetime: 3_600, loggedInAt: 1_800_000_000, loginExpiresAt: 1_807_776_000,
    scope: "openid mail.read", subject: subject, person: "alice@example.com")
}

@Suite("Records of logins, logouts and errors")
struct TokenRecordTests {
  private static let records: [(String, TokenRecord)] = {
    var bare = TokenRecord(completed(refreshToken: nil, subject: nil), binding: binding, generation: 3)
    bare.login = TokenRecord.Login(loggedInAt: 1)
    var refused = TokenRecord(completed(), binding: binding, generation: 4)
    refused.lastError = TokenRecord.RefreshError("invalid_grant \u{e4}\"", at: 1_800_000_007, isFinal: true)
    refused.inFlight = true
    var proved = completed()
    proved.dpopKey = Secret("-----BEGIN")
    var local = TokenRecord(binding: binding, generation: 5, refreshToken: nil)
    local.tombstone = TokenRecord.Tombstone(loggedOutAt: 1_800_000_009)
    var logout = local
    logout.tombstone?.unrevoked = [
      RevocableToken(Secret("r1"), hint: .refreshToken), RevocableToken(Secret("a1"), hint: .accessToken),
    ]
    var bound = TokenRecord(completed(), binding: binding, generation: 6)
    bound.bind(to: [UInt8](repeating: 5, count: 32))
    return [
      ("a login", TokenRecord(completed(), binding: binding, generation: 1)),
      ("a login that sends its id_token", TokenRecord(completed(bearer: "e.y.j"), binding: binding, generation: 2)),
      ("a login without refresh token", bare), ("a refused one", refused), ("a reset", local),
      ("a login with DPoP", TokenRecord(proved, binding: binding, generation: 6)), ("a logout", logout),
      ("a refresh token alone", TokenRecord(binding: binding, generation: 0, refreshToken: Secret("r0"))),
      ("one that is bound to a certificate", bound),
    ]
  }()

  @Test("every record is read as it was written, plain and sealed", arguments: [nil, Secret([UInt8](repeating: 9, count: 32))])
  func roundTrip(key: Secret?) throws {
    for (name, record) in Self.records {
      var file = TokenFile()
      try file.put(record, for: "api", key: key)
      let read = try #require(TokenFile(file.text))
      #expect(read.record(of: "api", key: key) == .record(record), "\(name)")
      #expect(!text(file.text).contains("\"r1\""), "\(name)")
    }
  }

  @Test("a record that was written before there were logins keeps its meaning")
  func oldRecords() throws {
    let head = #"{"binding":"\#(Data(binding).base64EncodedString())","generation":12,"refresh_token":"cjE=""#
    var record = TokenRecord(binding: binding, generation: 12, refreshToken: Secret("r1"))
    for (more, change) in [
      ("", { _ in }), (#","in_flight":true"#, { $0.inFlight = true }),
      (
        #","access_token":"YTE=","expires_at":1800000000,"lifetime":3600"#,
        {
          $0.accessToken = Secret("a1")
          $0.expiresAt = 1_800_000_000
          $0.lifetime = 3_600
        }
      ),
    ] as [(String, (inout TokenRecord) -> Void)] {
      record.inFlight = false
      change(&record)
      let json = try JSONParser.parse(bytes(head + more + "}"))
      #expect(TokenRecord(json) == record, "\(more)")
      #expect(text(record.json.text) == head + more + "}", "and is written in the same way")
    }
  }

  @Test(
    "a record that contradicts itself is damaged",
    arguments: [
      #"{"login":{"at":1}}"#, #"{"login":{},"refresh_token":"cjE="}"#, #"{"login":{"at":"x"},"refresh_token":"cjE="}"#,
      #"{"login":{"at":1,"scope":7},"refresh_token":"cjE="}"#, #"{"refresh_token":""}"#, #"{"refresh_token":null}"#,
      #"{"logged_out":{"at":1,"unrevoked":[]},"refresh_token":"cjE="}"#, #"{"logged_out":{"at":1}}"#,
      #"{"logged_out":{"at":1,"unrevoked":[{"hint":"password","token":"cjE="}]}}"#,
      #"{"logged_out":{"at":1,"unrevoked":[{"hint":"refresh_token"}]}}"#, #"{"logged_out":true}"#,
      #"{"last_error":"no","refresh_token":"cjE="}"#, #"{"last_error":{"text":"no","at":1},"refresh_token":"cjE="}"#,
      #"{"certificate":"YTE=","refresh_token":"cjE="}"#, #"{"certificate":7,"refresh_token":"cjE="}"#,
      #"{"issued_access_token":"!","refresh_token":"cjE="}"#, #"{"access_token":"YTE=","expires_at":1,"lifetime":1}"#,
      #"{"access_token":"YTE=","expires_at":-9223372036854775808,"lifetime":1,"refresh_token":"cjE="}"#,
      #"{"back_off":{"until":-9223372036854775808,"count":1,"text":"no"},"refresh_token":"cjE="}"#,
      #"{"refusals":[{"at":9223372036854775807,"client":"a","in_vain":false}],"refresh_token":"cjE="}"#,
    ])
  func damaged(members: String) throws {
    let head = #"{"binding":"\#(Data(binding).base64EncodedString())","generation":1,"#
    #expect(TokenRecord(try JSONParser.parse(bytes(head + members.dropFirst()))) == nil)
  }

  @Test("what a logout revokes")
  func revocable() {
    let found = Self.records.map { ($0.0, $0.1.revocableTokens.map { "\($0.hint.rawValue) \(text($0.token.bytes))" }) }
    let both = ["refresh_token r1", "access_token a1"]
    #expect(
      found.map(\.1) == [
        both, both, ["access_token a1"], both, [], both, both, ["refresh_token r0"], both,
      ], "\(found)")
  }

  @Test("the standing of a login")
  func standing() {
    let policy = loginPolicy()
    var record = TokenRecord(completed(), binding: TokenBinding.digest(of: policy), generation: 1)
    let own = TokenBinding.digest(of: policy)
    #expect(LoginStanding(nil, binding: own) == .never)
    #expect(LoginStanding(.damaged, binding: own) == .never)
    #expect(LoginStanding(.wrongKey, binding: own) == .wrongKey)
    #expect(LoginStanding(.record(record), binding: own) == .loggedIn)
    #expect(
      LoginStanding(.record(record), binding: TokenBinding.digest(of: loginPolicy(issuer: "https://other.example")))
        == .otherConfiguration)
    #expect(LoginStanding(.record(record), binding: nil) == .loggedIn)
    record.lastError = TokenRecord.RefreshError("no connection", at: 1, isFinal: false)
    #expect(LoginStanding(.record(record), binding: own) == .loggedIn)
    record.lastError?.isFinal = true
    #expect(LoginStanding(.record(record), binding: own) == .refused)
    record.tombstone = TokenRecord.Tombstone(loggedOutAt: 1)
    #expect(LoginStanding(.record(record), binding: own) == .loggedOut)
  }
}

@Suite("A login and a logout write under the credential's lock")
final class LockedRecordTests {
  private let folder = FileManager.default.temporaryDirectory.path + "/authproxy-locked-\(UUID().uuidString)"
  private var path: String { folder + "/tokens.json" }
  private let policy = loginPolicy()
  private let store: FileTokenStore

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    store = try FileTokenStore(path: folder + "/tokens.json")
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private func lock(_ policy: OAuth2Policy? = nil, within milliseconds: Int64 = 0) throws -> LockedRecord {
    try LockedRecord(
      of: "mailbox", policy: policy ?? self.policy, in: try FileTokenStore(path: path), within: milliseconds)
  }

  @Test("a login: the next generation, the subject for the next one, and a free lock")
  func login() throws {
    let before = try lock()
    #expect(before.subject == nil && before.generation == 0 && before.standing == .unknown && before.record == nil)
    #expect(try before.write(completed()) == 1_800_000_000)
    let after = try lock()
    #expect(after.subject == "alice-17" && after.generation == 1_800_000_000 && after.standing == .loggedIn)
    #expect(after.record == TokenRecord(completed(), binding: TokenBinding.digest(of: policy), generation: 1_800_000_000))
    // A second one in the same second.
    #expect(try after.write(completed(subject: nil)) == 1_800_000_001)
    let last = try lock()
    #expect(last.subject == nil)
    last.release()
  }

  @Test("a logout keeps its tokens for the next one only, and is no login's subject")
  func logout() throws {
    try lock().write(completed())
    let before = try lock()
    let generation = try before.writeTombstone(at: 1_700_000_000, unrevoked: before.revocableTokens)
    #expect(generation == 1_800_000_001, "a clock that was set back makes nothing older")
    let after = try lock()
    #expect(after.standing == .loggedOut && after.subject == nil)
    #expect(after.revocableTokens == before.revocableTokens && after.revocableTokens.count == 2)
    try after.keep(unrevoked: [], inTombstone: generation)
    #expect(try lock().revocableTokens.isEmpty)
    // Somebody logs in before the server has answered.
    try lock().write(completed())
    try lock().keep(unrevoked: before.revocableTokens, inTombstone: generation)
    let last = try lock()
    #expect(last.standing == .loggedIn)
  }

  @Test("what a logout could not revoke outlives logins and refreshes, until a logout has revoked it")
  func unrevoked() throws {
    try lock().write(completed())
    let first = try lock()
    try first.writeTombstone(at: 1_800_000_000, unrevoked: first.revocableTokens)
    try lock().write(completed(accessToken: "second", refreshToken: "r-second"))
    let again = try lock()
    func tokens(_ record: LockedRecord) -> [String] { record.revocableTokens.map { text($0.token.bytes) } }
    #expect(tokens(again) == ["r-second", "second", "r1", "a1"])
    again.release()
    var process = Process(policy, store: store)
    process.name = "mailbox"
    process.driver.wall = 1_800_010_000
    process.need()
    process.answer(grant("third", refreshToken: "r-third"))
    let last = try lock()
    #expect(process.sent == ["r-second"] && tokens(last) == ["r-third", "third", "r1", "a1"])
    last.release()
  }

  @Test("a record of another configuration is nobody's login, and its tokens go to no server")
  func otherConfiguration() throws {
    try lock().write(completed())
    let other = try lock(loginPolicy(issuer: "https://other.example"))
    #expect(
      other.record == nil && other.subject == nil && other.standing == .otherConfiguration && other.revocableTokens.isEmpty)
    #expect(other.generation == 1_800_000_000)
  }

  @Test("grant refresh_token: the configured token is what a first logout ends")
  func refreshToken() throws {
    let policy = makePolicy(grant: .refreshToken(Secret("first")))
    let locked = try lock(policy)
    #expect(locked.standing == .loggedIn)
    #expect(locked.revocableTokens == [RevocableToken(Secret("first"), hint: .refreshToken)])
    try locked.writeTombstone(at: 1_800_000_000, unrevoked: [])
    let after = try lock(policy)
    #expect(after.standing == .loggedOut && after.revocableTokens.isEmpty)
  }

  @Test("a lock that is busy is waited for; one that stays busy is a failure")
  func busy() throws {
    guard case .record = store.perform(.read, for: "mailbox") else {
      Issue.record("not locked")
      return
    }
    #expect(throws: TokenStoreFailure("another process holds the lock of credential mailbox")) { try lock(within: 60) }
    let holder = store
    Thread.detachNewThread {
      usleep(50_000)
      _ = holder.perform(.release, for: "mailbox")
    }
    try lock(within: 10_000).release()
  }

  @Test("all records are read beside a held lock, with what nobody can read")
  func listing() throws {
    try lock().write(completed())
    let held = try lock()
    let sealed = try FileTokenStore(path: path, key: Secret([UInt8](repeating: 1, count: 32)))
    try LockedRecord(of: "sealed", policy: policy, in: sealed, within: 0).write(completed())
    let found = try store.records()
    #expect(found.map(\.name) == ["mailbox", "sealed"])
    #expect(found.map(\.content) == [held.record.map { .record($0) }, .wrongKey])
    held.release()
    try Data("{}".utf8).write(to: URL(fileURLWithPath: path))
    #expect(throws: TokenStoreFailure("\(path): not a token file")) { try self.store.records() }
    try FileManager.default.removeItem(atPath: path)
    #expect(try store.records().isEmpty)
  }

  @Test("a look reads the record without its lock, and only after a change")
  func look() throws {
    func look(_ mark: TokenStoreMark?) -> TokenStoreAnswer { store.perform(.look(since: mark), for: "mailbox") }
    guard case .seen(nil, let empty) = look(nil) else {
      Issue.record("something was seen")
      return
    }
    #expect(look(empty) == .unchanged)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty, "a look leaves no trace")
    let held = try lock()
    try held.write(completed())
    guard case .seen(let record?, let mark) = look(empty) else {
      Issue.record("nothing was seen")
      return
    }
    #expect(record.generation == 1_800_000_000 && look(mark) == .unchanged)
    guard case .seen(nil, mark) = store.perform(.look(since: empty), for: "other") else {
      Issue.record("another credential has no record")
      return
    }
    try lock().writeTombstone(at: 1_800_000_001, unrevoked: [])
    guard case .seen(let tombstone?, let last) = look(mark) else {
      Issue.record("nothing was seen")
      return
    }
    #expect(tombstone.tombstone != nil && last != mark)
    try Data("damage".utf8).write(to: URL(fileURLWithPath: path))
    guard case .seen(nil, _) = look(last) else {
      Issue.record("damage was read")
      return
    }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "damage", "who holds no lock repairs nothing")
  }

  @Test("a file keeps its mode; one that everybody may read becomes private; new ones are private")
  func modes() throws {
    func mode(_ name: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: folder + "/" + name)[.posixPermissions] as? Int
    }
    let before = umask(0)
    defer { umask(before) }
    try lock().write(completed())
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) { #expect(try mode(name) == 0o600, "\(name)") }
    for (set, kept) in [(0o640, 0o640), (0o660, 0o660), (0o440, 0o640), (0o644, 0o600), (0o666, 0o600)] {
      try FileManager.default.setAttributes([.posixPermissions: set], ofItemAtPath: path)
      try lock().write(completed())
      #expect(try mode("tokens.json") == kept, "\(String(set, radix: 8))")
    }
  }

  @Test("root leaves files to the folder's owner, and files to theirs", .enabled(if: geteuid() == 0))
  func owners() throws {
    func owner(_ name: String) throws -> [Int?] {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/" + name)
      return [attributes[.ownerAccountID] as? Int, attributes[.groupOwnerAccountID] as? Int]
    }
    #expect(chown(folder, 4711, 4712) == 0)
    try lock().write(completed())
    let files = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(files.count == 3)
    for name in files { #expect(try owner(name) == [4711, 4712], "\(name)") }
    #expect(chown(path, 4713, 4714) == 0 && chmod(path, 0o640) == 0)
    try lock().write(completed())
    #expect(try owner("tokens.json") == [4713, 4714])
  }
}
