import Testing

@testable import Proxy

@Suite struct RequestSizeTests {
  @Test func `a request fits into what malloc keeps for its thread`() {
    // Class metadata of native Swift classes: kind, superclass, flags and address point, then the size of an instance.
    let size = unsafeBitCast(Request.self, to: UnsafePointer<UInt32>.self)[6]
    // glibc's thread cache takes up to 1,032 bytes; more costs a lock for each request.
    #expect((256...1_032).contains(size), "\(size)")
  }
}
