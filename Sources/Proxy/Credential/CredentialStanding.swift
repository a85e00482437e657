import Cache
import Synchronization

/// Who a credential says that we are, for the store of answers. A number, not a digest of a token: tokens change hourly, and the account
/// stays. Every login, logout and new static value begins another epoch, and what was stored under the last one is found no more.
struct CredentialEpoch: Hashable, Sendable {
  /// Of the credential's identity.
  let serial: UInt64
  let number: UInt64

  /// For the partition.
  var digest: CacheDigest {
    CacheDigest(parts: [serial, number].map { value in withUnsafeBytes(of: value.bigEndian) { Array($0) } })
  }
}

/// What all loops know of a credential's epochs. Its owner changes it, on the home loop.
final class CredentialStanding: Sendable {
  private let serial: UInt64
  private let store: CacheStore
  /// 0: its owner has published nothing yet.
  private let number = Atomic<UInt64>(0)
  /// It needs an operator: nothing is stored for it.
  private let isSuspended = Atomic<Bool>(false)

  init(_ serial: UInt64, _ store: CacheStore) {
    self.serial = serial
    self.store = store
  }

  /// nil: what is stored may not be used now, and nothing may be stored.
  var epoch: CredentialEpoch? {
    if isSuspended.load(ordering: .acquiring) { return nil }
    let number = number.load(ordering: .acquiring)
    return number == 0 ? nil : CredentialEpoch(serial: serial, number: number)
  }

  /// Of versions that the owner publishes now.
  var present: UInt64 { number.load(ordering: .acquiring) }

  /// It belongs to another account, or has another value.
  func begin() {
    let last = number.add(1, ordering: .acquiringAndReleasing).oldValue
    drop(last)
  }

  /// It has worked, or is expected to.
  func resume() {
    if number.load(ordering: .acquiring) == 0 { begin() }
    if isSuspended.load(ordering: .relaxed) { isSuspended.store(false, ordering: .releasing) }
  }

  /// Until `resume`.
  func suspend() {
    guard !isSuspended.exchange(true, ordering: .acquiringAndReleasing) else { return }
    begin()
  }

  private func drop(_ number: UInt64) {
    guard number > 0, store.count > 0 || store.flightCount > 0 else { return }
    let digest = CredentialEpoch(serial: serial, number: number).digest
    store.drop(.credential) { _, partition in partition.credential == digest }
  }
}
