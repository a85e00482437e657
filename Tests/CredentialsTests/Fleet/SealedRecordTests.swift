import Crypto
import JSON
import Testing

@testable import Credentials

@Suite("Records on their way to a store")
struct SealedRecordTests {
  private static let name = RecordName(prefix: "p:", credential: "api", binding: [UInt8](repeating: 7, count: 32))
  private static let clock: Int64 = 1_800_000_000_000

  private func sealed(_ replicas: Int = 0, _ grant: OAuth2Policy.Grant = .refreshToken(Secret("r"))) throws -> SealedRecord {
    SealedRecord(try RecordSeal(key: Secret([UInt8](0..<32))), as: Self.name, replicas: replicas, of: grant)
  }

  private var record: TokenRecord {
    TokenRecord(
      binding: Self.name.binding, generation: 2, refreshToken: Secret("r2-5ecret"), accessToken: Secret("a2-5ecret"),
      expiresAt: Self.clock / 1_000 + 600, lifetime: 3_600)
  }

  @Test("what is written is what is read, and its bytes are its version")
  func roundTrip() throws {
    let border = try sealed()
    let command = try border.command(for: .write(record, replacing: nil, .save), clock: Self.clock)
    guard case .compareAndSet("p:api:\(Self.name.digest)", nil, let bytes, nil, false) = command else {
      Issue.record("\(command)")
      return
    }
    #expect(
      border.answer(.stored(acknowledgements: 0, clock: 5), to: command)
        == .stored(RecordVersion(bytes), isAcknowledged: true, clock: 5))
    let reading = SharedReading(.record(record), version: RecordVersion(bytes), clock: 6)
    #expect(border.answer(.value(bytes, clock: 6), to: .read(key: Self.name.key)) == .read(reading))
    #expect(border.answer(.conflict(bytes, clock: 6), to: command) == .conflict(reading))
    let next = try border.command(for: .write(record, replacing: reading.version, .note), clock: Self.clock)
    guard case .compareAndSet(_, bytes?, let other, _, _) = next else {
      Issue.record("\(next)")
      return
    }
    #expect(other != bytes)
  }

  @Test("claims and new tokens wait for replicas, where the configuration says so")
  func replicas() throws {
    for (purpose, awaits) in [(.claim, true), (.save, true), (.putBack, true), (.note, false), (.withdraw, false)]
      as [(SharedOperation.Purpose, Bool)]
    {
      let command = try sealed(1).command(for: .write(record, replacing: nil, purpose), clock: Self.clock)
      for acknowledgements in 0...1 {
        guard
          case .stored(_, let isAcknowledged, _) = try sealed(1).answer(
            .stored(acknowledgements: acknowledgements, clock: 0), to: command)
        else {
          Issue.record("not stored")
          continue
        }
        #expect(isAcknowledged == (!awaits || acknowledgements == 1))
      }
    }
  }

  @Test("records of refresh tokens never expire, others a day after their token")
  func expiry() throws {
    let operation = SharedOperation.write(record, replacing: nil, .save)
    guard case .compareAndSet(_, _, _, nil, _) = try sealed().command(for: operation, clock: Self.clock),
      case .compareAndSet(_, _, _, let life?, _) = try sealed(0, .clientCredentials).command(for: operation, clock: Self.clock)
    else {
      Issue.record("no life")
      return
    }
    #expect(life == 600_000 + 86_400_000)
  }

  @Test("foreign bytes, another key and failures are told apart")
  func failures() throws {
    let border = try sealed()
    let read = SealedRecord.Command.read(key: Self.name.key)
    #expect(border.answer(.value(nil, clock: 1), to: read) == .read(SharedReading(.absent, version: nil, clock: 1)))
    #expect(
      border.answer(.value(bytes("hello"), clock: 1), to: read)
        == .read(SharedReading(.damaged, version: RecordVersion(bytes("hello")), clock: 1)))
    let other = SealedRecord(try RecordSeal(key: Secret([UInt8](1...32))), as: Self.name, replicas: 0, of: .clientCredentials)
    guard case .compareAndSet(_, _, let foreign, _, _) = try other.command(for: .write(record, replacing: nil, .save), clock: 0)
    else { return }
    #expect(
      border.answer(.value(foreign, clock: 1), to: read)
        == .read(SharedReading(.unknownKey, version: RecordVersion(foreign), clock: 1)))
    #expect(border.answer(.failed("refused"), to: read) == .failed("refused"))
    guard case .failed = border.answer(.stored(acknowledgements: 0, clock: 0), to: read) else {
      Issue.record("taken")
      return
    }
  }
}

@Suite("Who shares a record")
struct SharedBindingTests {
  private let key = Secret([UInt8](0..<32))

  private func binding(_ policy: OAuth2Policy) -> [UInt8]? { TokenBinding.shared(of: policy, key: key) }

  private func assertion(_ issuer: String, _ subject: String, _ identifier: String = "") -> Secret {
    let claims: JSONValue = ["iss": .string(issuer), "sub": .string(subject), "jti": .string(identifier)]
    return Secret("e30.\(text(Base64.encodeURL(claims.text))).c2ln")
  }

  @Test("without a refresh token: who could not get the token itself does not find it in the store")
  func others() throws {
    var found: Set<[UInt8]> = []
    for policy in [
      makePolicy(), makePolicy(scope: "read"), makePolicy(parameters: ["audience": "x"]), makePolicy(clientID: "other"),
      makePolicy(authentication: .basic(secret: Secret("other-5ecret"))), makePolicy(authentication: .none),
      makePolicy(authentication: .clientAssertion(assertion("a", "b"))),
      makePolicy(authentication: .clientAssertion(assertion("a", "c"))),
      makePolicy(grant: .password(username: "u", password: Secret("p-5ecret"))),
      makePolicy(grant: .password(username: "u", password: Secret("q-5ecret"))),
      makePolicy(grant: .jwtBearer(.ready(assertion("a", "b")))), makePolicy(grant: .jwtBearer(.ready(assertion("b", "b")))),
    ] {
      guard let binding = binding(policy) else {
        Issue.record("not shared")
        continue
      }
      #expect(found.insert(binding).inserted)
    }
  }

  @Test("a secret is in it with the store's key alone: nobody guesses one by the name of a record")
  func keyed() {
    #expect(binding(makePolicy()) != TokenBinding.shared(of: makePolicy(), key: Secret([UInt8](1...32))))
  }

  @Test("the same workload's next assertion has the same record; one that cannot be read has none")
  func assertions() {
    #expect(
      binding(makePolicy(authentication: .clientAssertion(assertion("a", "b", "1"))))
        == binding(makePolicy(authentication: .clientAssertion(assertion("a", "b", "2")))))
    for unreadable in ["opaque", "a.b.c", "", ".."] {
      #expect(binding(makePolicy(authentication: .clientAssertion(Secret(unreadable)))) == nil)
    }
    #expect(binding(makePolicy(grant: .jwtBearer(.client))) == nil)
  }

  @Test("a refresh token is shared by who has the first one, whatever scope they ask for")
  func refreshTokens() {
    let first = makePolicy(grant: .refreshToken(Secret("r1-5ecret")))
    #expect(binding(first) == TokenBinding.digest(of: first))
    #expect(binding(makePolicy(grant: .refreshToken(Secret("r1-5ecret")), scope: "x")) == binding(first))
    #expect(binding(makePolicy(grant: .refreshToken(Secret("r2-5ecret")))) != binding(first))
  }
}
