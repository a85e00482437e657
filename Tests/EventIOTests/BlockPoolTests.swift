import Testing

@testable import EventIO

@Suite struct BlockPoolTests {
  @Test func `a block for a head is lent again, empty; a larger one is made for its head`() {
    var pool = BlockPool()
    let first = pool.borrow(forHeadOf: 300)
    first.append("GET / HTTP/1.1\r\n")
    let base = first.base
    pool.giveBack(first)
    let second = pool.borrow(forHeadOf: first.capacity)
    #expect(second.base == base && second.isEmpty)
    #expect(pool.borrow(forHeadOf: 300).base != base)
    let large = pool.borrow(forHeadOf: first.capacity + 1)
    #expect(large.capacity == first.capacity + 1)
    pool.giveBack(large)
    #expect(pool.borrow(forHeadOf: large.capacity).capacity == large.capacity)
  }
}
