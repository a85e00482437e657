import Testing

@testable import Proxy

@Suite("A signer that refuses")
struct RequestSignerTests {
  @Test("is reported at once, then at most once a minute")
  func reports() {
    let signer = RequestSigner()
    let second: Int64 = 1_000_000_000
    #expect(
      [5, 5, 6, 64, 65, 66, 124, 125].map { signer.admitsReport(at: $0 * second) }
        == [true, false, false, false, true, false, false, true])
  }
}
