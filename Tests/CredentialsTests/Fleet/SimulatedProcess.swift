@testable import Credentials

/// One process: the machine and its part in the record, with clocks of their own. A class, as debug builds copy a value in an array
/// for each look at one of its fields.
final class SimulatedProcess {
  let name: Int
  var machine: OAuth2Machine
  var record: SharedRecord
  /// Monotonic milliseconds at the simulation's time 0.
  let offset: Int64
  /// Seconds that its wall clock is wrong.
  let skew: Int64
  var isAlive = true
  var frozenUntil: Int64?
  /// nil: it has no connection to the store.
  var connectedSince: Int64?
  var thawedSince: Int64 = 0
  /// The newest generation that it has heard of, and when.
  var learned: (generation: UInt64, since: Int64) = (0, 0)
  /// Of the connection: what belongs to an earlier one does not arrive.
  var epoch = 0
  var pending: [UInt64] = []
  var wake: Int64?
  /// Index of the presentation, by the id of the fetch.
  var fetches: [UInt64: Int] = [:]
  var published: RenderedCredential?
  /// When its last claim was stored, as the store knows, and when it was told of the last refusal.
  var refused: Int?
  /// Generation in the store when it last read the record.
  var lastRead: UInt64?
  /// A claim that was never stored, under some plants.
  var pretended: TokenRecord?

  static let policy = OAuth2Policy(
    endpoint: .token(url: "https://login.example.com/token"), grant: .refreshToken(Secret("r1")), clientID: "app",
    clientAuthentication: .basic(secret: Secret("5ecret")), timeout: 1_000)
  static let binding = TokenBinding.digest(of: policy)

  init(_ name: Int, random: inout SeededRandom) {
    self.name = name
    machine = OAuth2Machine(name: "api", policy: Self.policy, seed: random.next(), sharing: Self.binding)
    record = SharedRecord(holder: "proxy\(name)@host", process: UInt64(name + 1), terms: Self.policy.claimTerms)
    offset = random.within(1_000_000...900_000_000)
    skew = random.within(-86_400...86_400)
  }

  var generation: UInt64 { machine.stored.generation }
}
