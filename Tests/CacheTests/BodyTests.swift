import Testing

@testable import Cache

@Suite("A body in blocks")
struct BodyTests {
  @Test("is read by each at its own pace", arguments: [0, 1, 100, 4096, 4097, 32 << 10, (32 << 10) + 1, 200_000])
  func pace(size: Int) throws {
    for isLengthKnown in [true, false] {
      let store = CacheStore(limit: 16 << 20)
      do {
        let body = pattern(size, size)
        let writer = try #require(BodyWriter(store, length: isLengthKnown ? size : nil))
        var early = try #require(writer.reader())
        var got: [UInt8] = []
        for start in stride(from: 0, to: size, by: 3000) {
          #expect(write(Array(body[start..<min(size, start + 3000)]), to: writer) == min(size, start + 3000) - start)
          let more = read(&early)
          got += more.bytes
          #expect(more.end == "later" && early.position == got.count && got.count == writer.written)
        }
        var late = try #require(writer.reader())
        let stored = try #require(writer.finish())
        #expect(read(&early).end == "complete" && got == body)
        let all = read(&late)
        #expect(all.bytes == body && all.end == "complete" && stored.size == size)
        var again = stored.reader()
        #expect(read(&again).bytes == body)
      }
      #expect(store.bytes == 0 && store.heldBytes == 0, "\(isLengthKnown)")
    }
  }

  /// pingora#932.
  @Test("`that breaks is seen as broken by every reader, never as a clean end`")
  func broken() throws {
    let store = CacheStore(limit: 1 << 20)
    for isCut in [true, false] {
      var readers: [BodyReader] = []
      do {
        let writer = try #require(BodyWriter(store, length: isCut ? 10 : nil))
        readers = [try #require(writer.reader()), try #require(writer.reader())]
        #expect(write(pattern(1, 5), to: writer) == 5)
        _ = read(&readers[0])
        if isCut { #expect(writer.finish() == nil) } else { writer.breakOff() }
      }
      let (first, second) = (read(&readers[0]), read(&readers[1]))
      #expect(first.end == "broken" && first.bytes.isEmpty && second.end == "broken" && second.bytes == pattern(1, 5))
    }
    // Its writer is gone without a word.
    var reader = try #require(BodyWriter(store, length: nil)?.reader())
    #expect(read(&reader).end == "broken")
  }

  @Test("takes no more than its length")
  func tooLong() throws {
    let writer = try #require(BodyWriter(CacheStore(limit: 1 << 20), length: 5))
    #expect(write(pattern(1, 9), to: writer) == 5)
    #expect(write(pattern(1, 1), to: writer) == 0)
    #expect(writer.finish()?.size == 5)
  }

  @Test("of known length has its memory before its first byte")
  func reserved() {
    let store = CacheStore(limit: 100_000)
    #expect(BodyWriter(store, length: 100_001) == nil)
    #expect(store.bytes == 0)
    let writer = BodyWriter(store, length: 60_000)
    #expect(writer != nil && store.bytes > 60_000 && store.heldBytes == 0)
    #expect(BodyWriter(store, length: 60_000) == nil)
  }

  @Test("of unknown length stops where there is no room, and goes on when readers have passed")
  func window() throws {
    let store = CacheStore(limit: 200_000)
    let writer = try #require(BodyWriter(store, length: nil))
    var reader = try #require(writer.reader())
    var body = pattern(3, 400_000)[...]
    var got: [UInt8] = []
    var taken = write(Array(body), to: writer)
    #expect(taken > 100_000 && taken < 200_000)
    writer.release()
    #expect(writer.reader() == nil)
    while !body.isEmpty {
      body = body.dropFirst(taken)
      let more = read(&reader).bytes
      if more.isEmpty { #expect(body.isEmpty) }
      got += more
      #expect(store.bytes <= 200_000)
      taken = write(Array(body), to: writer)
    }
    got += read(&reader).bytes
    #expect(got == pattern(3, 400_000) && writer.finish() == nil && read(&reader).end == "complete")
  }

  @Test("of any length that a head can claim is refused, not computed with")
  func absurd() {
    let store = CacheStore(limit: 100_000)
    for length in [Int.max, Int.max - 96, 1 << 62, 100_001] { #expect(BodyWriter(store, length: length) == nil) }
    #expect(store.bytes == 0)
  }

  @Test(
    "of unknown length occupies little more than it has", arguments: [1, 100, 3000, 4097, 5000, 9000, 20_000, 33_000, 70_000])
  func snug(size: Int) throws {
    let store = CacheStore(limit: 1 << 20)
    let answer = try #require(makeAnswer(store, "/", pattern(1, size), isLengthKnown: false))
    #expect(text(of: answer) == pattern(1, size) && store.bytes < size + size / 4 + 2000)
  }

  @Test("`that is not stored goes on although readers of others hold all memory`")
  func noneLeft() throws {
    let store = CacheStore(limit: 200_000)
    let writer = try #require(BodyWriter(store, length: nil))
    var reader = try #require(writer.reader())
    #expect(write(pattern(4, 5000), to: writer) == 5000)
    writer.release()
    // All the rest is held by a reader of something else.
    var other: [BodyWriter] = []
    while let writer = BodyWriter(store, length: 10_000) { other.append(writer) }
    while let writer = BodyWriter(store, length: 100) { other.append(writer) }
    var got = read(&reader).bytes
    var start = 5000
    var turns = 0
    while start < 400_000, turns < 100 {
      turns += 1
      start += write(Array(pattern(4, 400_000)[start...]), to: writer)
      got += read(&reader).bytes
      #expect(store.bytes <= 200_000)
    }
    #expect(got == pattern(4, 400_000))
    // A reader that stays behind does not make it take more and more.
    var taken = 0
    for _ in 0..<100 { taken += write(pattern(4, 10_000), to: writer) }
    #expect(taken > 0 && taken <= 3 * BodyBlock.size)
    let rest = read(&reader).bytes.count
    #expect(rest == taken && write(pattern(4, 10), to: writer) == 10)
    other = []
  }

  @Test("gives its parts for one writev")
  func pieces() throws {
    let body = pattern(5, 100_000)
    let answer = try #require(makeAnswer(CacheStore(limit: 1 << 20), "/", body))
    for range in [0..<100_000, 0..<1, 99_999..<100_000, 32_767..<32_769, 40_000..<90_000, 5..<5] {
      var got: [UInt8] = []
      answer.body.forEachPiece(of: range) { got += $0 }
      #expect(got == Array(body[range]))
    }
  }

  @Test("of ten thousand blocks is freed without a deep stack")
  func long() throws {
    let store = CacheStore(limit: 400 << 20)
    do {
      let writer = try #require(BodyWriter(store, length: nil))
      let piece = [UInt8](repeating: 1, count: 1 << 20)
      for _ in 0..<300 { #expect(write(piece, to: writer) == piece.count) }
    }
    #expect(store.bytes == 0)
  }
}
