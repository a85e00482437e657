import CSystem
import Crypto

/// Logins on another device (RFC 8628).
struct DeviceDesk {
  static let grant = "urn:ietf:params:oauth:grant-type:device_code"
  /// Seconds between polls, as the server tells devices.
  static let interval = 2
  /// Seconds that a person has.
  static let lifetime = 600

  enum Decision: Equatable {
    case pending
    case allowed(person: String)
    case denied
  }

  struct Device {
    let clientID, scope, userCode: String
    fileprivate(set) var decision = Decision.pending
    /// Nanoseconds of the monotonic clock; nil: not yet.
    fileprivate var polled: Int64?
    fileprivate var interval = Int64(DeviceDesk.interval) * 1_000_000_000
  }

  enum Answer {
    case refused(String)
    case allowed(Device, person: String)
  }

  private var devices = Expiring<Device>()

  mutating func begin(clientID: String, scope: String) throws(OpenSSLError) -> (deviceCode: String, userCode: String) {
    let code = try TokenBook.randomText()
    // Letters that are no words and look different (RFC 8628 section 6.1).
    let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
    let text = String(try SecureRandom.bytes(8).map { letters[Int($0) % letters.count] })
    let userCode = "\(text.prefix(4))-\(text.suffix(4))"
    devices.put(Device(clientID: clientID, scope: scope, userCode: userCode), under: code, seconds: Self.lifetime)
    return (code, userCode)
  }

  /// - Parameter userCode: as a person typed it.
  func device(_ userCode: String) -> Device? { deviceCode(of: userCode).flatMap { devices[$0] } }

  private func deviceCode(of userCode: String) -> String? {
    let wanted = Self.letters(userCode)
    return devices.name { $0.decision == .pending && Self.letters($0.userCode) == wanted }
  }

  private static func letters(_ text: String) -> String { text.uppercased().filter { $0.isASCII && $0.isLetter } }

  mutating func decide(_ userCode: String, _ decision: Decision) {
    if let code = deviceCode(of: userCode) { devices[code]?.decision = decision }
  }

  mutating func poll(_ deviceCode: String, clientID: String) -> Answer {
    guard var device = devices[deviceCode], device.clientID == clientID else { return .refused("expired_token") }
    let now = csys_monotonic()
    let isEarly = device.polled.map { now - $0 < device.interval } ?? false
    device.polled = now
    // Also for an answer that is there: the client polls too fast whatever the person does.
    if isEarly { device.interval += 5_000_000_000 }
    devices[deviceCode] = device
    if isEarly { return .refused("slow_down") }
    switch device.decision {
    case .pending: return .refused("authorization_pending")
    case .denied:
      devices[deviceCode] = nil
      return .refused("access_denied")
    case .allowed(let person):
      devices[deviceCode] = nil
      return .allowed(device, person: person)
    }
  }
}
