import Crypto
import JSON
import Testing

@testable import Credentials

@Suite("Records in a shared store are sealed")
struct RecordSealTests {
  private let key = Secret([UInt8](0..<32))
  private let other = Secret([UInt8](1...32))
  private let name = RecordName(prefix: "authproxy:", credential: "mailbox", binding: [UInt8](repeating: 7, count: 32))

  private var record: TokenRecord {
    var record = TokenRecord(
      binding: name.binding, generation: 3, refreshToken: Secret("r3-5ecret"), accessToken: Secret("a3-5ecret"),
      expiresAt: 1_800_003_600, lifetime: 3_600, inFlight: true)
    record.claim = TokenClaim(holder: "proxy@host", process: .max, number: 4, duration: 30_000, since: 1_800_000_000)
    record.backOff = SharedBackOff(until: 1_800_000_004_000, count: 3, text: "status 503")
    record.refusals = [RefusalStart(at: 1_800_000_000_123, client: "billing", inVain: true), RefusalStart(at: 5, client: "")]
    record.note(request: [UInt8](repeating: 9, count: 32))
    return record
  }

  @Test("a record comes back as it was, and no token is seen in it")
  func roundTrip() throws {
    let seal = try RecordSeal(key: key)
    let sealed = try seal.seal(record, as: name)
    #expect(seal.open(sealed, as: name) == .record(record))
    #expect(!text(sealed).contains("5ecret") && sealed.allSatisfy { (0x20...0x7e).contains($0) })
  }

  @Test("no two sealings are equal: a value never comes back")
  func nonces() throws {
    let seal = try RecordSeal(key: key)
    #expect(try Set((0..<100).map { _ in try seal.seal(record, as: name) }).count == 100)
  }

  @Test("a record that was moved to another credential, binding or prefix is not opened")
  func moved() throws {
    let seal = try RecordSeal(key: key)
    let sealed = try seal.seal(record, as: name)
    for moved in [
      RecordName(prefix: "authproxy:", credential: "mailbo", binding: name.binding),
      RecordName(prefix: "authproxy:m", credential: "ailbox", binding: name.binding),
      RecordName(prefix: "authproxy2:", credential: "mailbox", binding: name.binding),
      RecordName(prefix: "authproxy:", credential: "mailbox", binding: [UInt8](repeating: 8, count: 32)),
    ] { #expect(seal.open(sealed, as: moved) == .damaged) }
  }

  @Test("keys of Redis have a prefix, those of a Kubernetes Secret only characters that it takes")
  func forms() {
    #expect(name.key == "authproxy:mailbox:\(name.digest)")
    let entry = RecordName(prefix: "authproxy/tokens", credential: "mailbox", binding: name.binding, form: .entry)
    #expect(entry.key == "mailbox.\(name.digest)")
    #expect(entry.key.utf8.allSatisfy { Character(UnicodeScalar($0)).isLetter || "0123456789-_.".utf8.contains($0) })
  }

  @Test("a changed byte, a cut, and anything else is damage")
  func damaged() throws {
    let seal = try RecordSeal(key: key)
    let sealed = try seal.seal(record, as: name)
    for index in stride(from: 24, to: sealed.count, by: 31) {
      var changed = sealed
      changed[index] ^= 1
      #expect(seal.open(changed, as: name) != .record(record))
      #expect(seal.open(Array(sealed.prefix(index)), as: name) != .record(record))
    }
    for foreign in [[], bytes("hello"), bytes("authproxy1 x"), bytes("{}"), [UInt8](repeating: 0x20, count: 2_000_000)] {
      #expect(seal.open(foreign, as: name) == .damaged)
    }
  }

  @Test("rotation of the key: what the previous one sealed is opened, and written with the new one")
  func rotation() throws {
    let old = try RecordSeal(key: other)
    let sealed = try old.seal(record, as: name)
    #expect(try RecordSeal(key: key).open(sealed, as: name) == .unknownKey)
    let both = try RecordSeal(key: key, previous: [other])
    #expect(both.open(sealed, as: name) == .record(record))
    let again = try both.seal(record, as: name)
    #expect(try RecordSeal(key: key).open(again, as: name) == .record(record))
    #expect(old.open(again, as: name) == .unknownKey)
    #expect(text(again).contains(both.fingerprint))
  }

  @Test("keys of other lengths, and one key twice, are refused")
  func keys() {
    #expect(throws: RecordSeal.Problem.badKey) { try RecordSeal(key: Secret("short")) }
    #expect(throws: RecordSeal.Problem.badKey) { try RecordSeal(key: key, previous: [Secret("short")]) }
    #expect(throws: RecordSeal.Problem.repeatedKey) { try RecordSeal(key: key, previous: [key]) }
  }

  @Test("the key's name says credential and configuration, and nothing secret")
  func names() {
    #expect(name.key == "authproxy:mailbox:\(name.digest)")
    #expect(name.digest.utf8.allSatisfy { $0 != UInt8(ascii: ":") } && name.digest.count == 20)
  }

  @Test("a claim that nobody could ever take over, and other damage inside of a record, is no record")
  func inside() {
    var long = record
    long.claim = TokenClaim(holder: "x", process: 1, number: 1, duration: .max, since: 0)
    #expect(TokenRecord(long.json) == nil)
    for member in ["\"claim\":{}", "\"back_off\":{\"until\":1}", "\"refusals\":{}", "\"request\":\"AAAA\""] {
      let whole = text(TokenRecord(binding: name.binding, generation: 1, refreshToken: Secret("r")).json.text)
      let bad = try? JSONParser.parse(bytes(whole.dropLast() + "," + member + "}"))
      #expect(bad.map { TokenRecord($0) == nil } == true, "\(member)")
    }
  }
}
