import HTTPWire
import Testing

@Suite("Comparisons")
struct CompareTests {
  @Test("of bytes see a difference at any place and length")
  func exact() {
    for count in 0...40 {
      let one = (0..<count).map { UInt8($0) }
      #expect(equal(one, one) && !equal(one, one + [0]))
      for index in 0..<count {
        var other = one
        other[index] ^= 0x20
        #expect(!equal(one, other), "\(index) of \(count)")
      }
    }
  }

  private func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.withUnsafeBytes { one in other.withUnsafeBytes { equalBytes(one, $0) } }
  }
}
