import Testing

@testable import Credentials

@Suite("Whose fault a refused exchange is: the user's, or the actor's token, which all users share")
struct ActorEvidenceTests {
  private static let start: Int64 = 1_000_000

  private final class Judge {
    var evidence = ActorEvidence()
    func succeeded(_ version: UInt64, now: Int64) { evidence.succeeded(version, now: now) }
    func blames(_ version: UInt64, began: Int64, now: Int64) -> Bool { evidence.blames(version, began: began, now: now) }
  }

  @Test("no exchange has succeeded yet: one refresh, then none for 30 s, however many users are refused")
  func new() {
    let evidence = Judge()
    var blamed = 0
    for step in 0..<300 {
      let now = Self.start + Int64(step) * 100
      // The refresh brings another version each time.
      if evidence.blames(UInt64(1 + blamed), began: now, now: now) { blamed += 1 }
    }
    #expect(blamed == 1)
    let later = Self.start + 30_000
    #expect(evidence.blames(2, began: later, now: later))
  }

  @Test("while exchanges succeed, refused users have nothing refreshed; when none has for 5 s, the first refusal does")
  func trusted() {
    let evidence = Judge()
    var now = Self.start
    for _ in 0..<1_000 {
      evidence.succeeded(3, now: now)
      now += 4_999
      #expect(!evidence.blames(3, began: now, now: now))
    }
    now += 1
    #expect(evidence.blames(3, began: now, now: now))
  }

  @Test("exchanges that ran beside the blamed one join its refresh")
  func joins() {
    let evidence = Judge()
    for _ in 0..<8 { #expect(evidence.blames(1, began: Self.start, now: Self.start + 10)) }
    #expect(!evidence.blames(1, began: Self.start + 11, now: Self.start + 12))
  }

  @Test("a refusal of a version that was replaced gets the newer one, which costs no refresh")
  func older() {
    let evidence = Judge()
    evidence.succeeded(2, now: Self.start)
    #expect(evidence.blames(1, began: Self.start, now: Self.start))
    #expect(!evidence.blames(2, began: Self.start, now: Self.start))
    evidence.succeeded(1, now: Self.start + 6_000)
    #expect(evidence.blames(2, began: Self.start + 7_000, now: Self.start + 7_000), "a late success of the old one")
  }
}

@Suite("Whose share of a table a subject takes")
struct SubjectClientTests {
  @Test("IPv6 addresses of one /64 are one client, IPv4 addresses are one each; a name counts alone")
  func addresses() {
    func client(_ high: UInt64, _ low: UInt64, name: String? = nil) -> SubjectClient {
      SubjectClient(name: name, words: (high, low))
    }
    let network: UInt64 = 0x2001_0db8_0000_0001
    #expect(client(network, 1) == client(network, .max))
    #expect(client(network, 1) != client(network + 1, 1))
    #expect(client(0, 0xffff_0a00_0001) != client(0, 0xffff_0a00_0002))
    #expect(client(0, 0xffff_0a00_0001) != client(0, 1))
    #expect(client(network, 1, name: "a") == .name("a"))
    #expect(SubjectClient(name: nil, words: nil) == .unix)
  }
}
