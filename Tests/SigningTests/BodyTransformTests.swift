import Testing

@testable import Signing

@Suite("A body that nothing changes")
struct BodyTransformTests {
  @Test("goes on as it came")
  func passes() throws {
    var output: [UInt8] = []
    try [1, 2, 3].withUnsafeBytes { try BodyTransform().take($0, isLast: true, into: &output) }
    #expect(output == [1, 2, 3].withUnsafeBytes { Array($0) })
  }
}
