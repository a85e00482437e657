import CSystem
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

  @Test func `memory is dropped in whole pages, and nothing beside them`() {
    let page = 4096
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * page, alignment: page)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt8.self, repeating: 7)
    csys_drop_pages(memory.baseAddress! + 100, 3 * page)
    #expect(memory[..<page].allSatisfy { $0 == 7 })
    #expect(memory[page..<3 * page].allSatisfy { $0 == 0 })
    #expect(memory[(3 * page)...].allSatisfy { $0 == 7 })
  }

  @Test func `looks free half of what is free, and leave a few`() {
    var pool = BlockPool()
    lendAndTakeBack(50, &pool)
    var counts: [Int] = []
    while pool.hasSurplus, counts.count < 10 {
      pool.look(at: Int64(counts.count))
      counts.append(pool.smallOnes)
    }
    pool.look(at: 10)
    counts.append(pool.smallOnes)
    lendAndTakeBack(50, &pool)
    counts.append(pool.smallOnes)
    #expect(counts == [25, 12, 6, 4, 4, 50])
  }

  @Test func `each size is freed for itself`() {
    var pool = BlockPool()
    let heads = (0..<100).map { _ in pool.borrow(forHeadOf: 300) }
    let large = (0..<8).map { _ in pool.borrowLarge() }
    for block in heads + large { pool.giveBack(block) }
    var looks = 0
    while pool.hasSurplus, looks < 10 {
      pool.look(at: Int64(looks))
      looks += 1
    }
    #expect(looks == 5, "100 heads, 50, 25, 12, 6, 4")
  }

  @Test func `an idle loop frees what a burst has left, then sleeps`() async throws {
    let executor = LoopExecutor()
    executor.start()
    executor.call { loop in lendAndTakeBack(14, &loop.blocks) }
    // The first look is in the turn of the burst, the second a pause later. To ask the loop earlier would wake it.
    try await Task.sleep(nanoseconds: 9_000_000_000)
    let (kept, turns) = await withCheckedContinuation { continuation in
      executor.call { continuation.resume(returning: ($0.blocks.smallOnes, $0.turn)) }
    }
    #expect(kept == 4)
    #expect(turns <= 5, "the burst, a look, this question, and calls that a signal cuts short")
  }
}

private func lendAndTakeBack(_ count: Int, _ pool: inout BlockPool) {
  for block in (0..<count).map({ _ in pool.borrow() }) { pool.giveBack(block) }
}
