import HTTPWire
import Testing

/// What a request's head says of a gRPC call.
@Suite struct CallTests {
  private static let second: Int64 = 1_000_000_000
  private static let year: Int64 = 365 * 86_400 * second

  @Test(arguments: [
    ("1H", 3_600 * second), ("2M", 120 * second), ("3S", 3 * second), ("4m", 4_000_000), ("5u", 5_000), ("6n", 6), ("0S", 0),
    ("00000001S", second), ("99999999n", 99_999_999), ("8760H", year), ("8761H", year), ("2562047H", year), ("2562048H", year),
    ("99999999H", year), ("99999999M", year), ("99999999S", year),
  ])
  func `a time-out is read, and is a year at most`(_ text: String, _ expected: Int64) {
    let request = ParsedRequest(fields: "grpc-timeout: \(text)")
    #expect(request.bytes.withUnsafeBytes { request.head.callTimeout(in: $0) } == expected)
  }

  @Test(arguments: ["", "S", "5", "5s", "-1S", "+1S", "1.5S", "100000000S", "1 S", "1SS"])
  func `what is no time-out is none`(_ text: String) {
    let request = ParsedRequest(fields: "grpc-timeout: \(text)")
    #expect(request.bytes.withUnsafeBytes { request.head.callTimeout(in: $0) } == nil)
  }
}
