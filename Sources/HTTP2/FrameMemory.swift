import CNGHTTP2

/// The memory of one session's nghttp2, which allocates some 17 small pieces for each request and soon frees them. Those are used again
/// here: with many streams at once, malloc's own short lists run over. Confined to the session, and must outlast it.
final class FrameMemory {
  /// Sizes are multiples of this many bytes. Larger pieces than `sizes` of them are not kept.
  private static let step = 32
  private static let sizes = 8
  /// Pieces of each size that are kept: 36 KiB in all at most.
  private static let kept = 32
  /// In front of each piece, so that it is aligned as malloc's are: its size in steps.
  private static let header = 16

  private struct List {
    var first: UnsafeMutableRawPointer?
    var count = 0
  }

  private let lists: UnsafeMutablePointer<List>

  init() {
    lists = .allocate(capacity: Self.sizes + 1)
    lists.initialize(repeating: List(), count: Self.sizes + 1)
  }

  deinit {
    for size in 1...Self.sizes {
      while let piece = lists[size].first {
        lists[size].first = piece.load(as: UnsafeMutableRawPointer?.self)
        (piece - Self.header).deallocate()
      }
    }
    lists.deallocate()
  }

  /// Valid as long as this object.
  var functions: nghttp2_mem {
    nghttp2_mem(
      mem_user_data: UnsafeMutableRawPointer(lists),
      malloc: { size, lists in FrameMemory.take(size, lists) },
      free: { piece, lists in FrameMemory.give(piece, lists) },
      calloc: { count, size, lists in
        let (size, isOver) = count.multipliedReportingOverflow(by: size)
        if isOver { return nil }
        let piece = FrameMemory.take(size, lists)
        piece.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        return piece
      },
      realloc: { piece, size, lists in FrameMemory.resize(piece, size, lists) })
  }

  private static func take(_ size: Int, _ user: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
    let steps = max((size + step - 1) / step, 1)
    let lists = user!.assumingMemoryBound(to: List.self)
    if steps <= sizes, let piece = lists[steps].first {
      lists[steps].first = piece.load(as: UnsafeMutableRawPointer?.self)
      lists[steps].count -= 1
      return piece
    }
    let start = UnsafeMutableRawPointer.allocate(byteCount: header + steps * step, alignment: header)
    start.storeBytes(of: steps, as: Int.self)
    return start + header
  }

  private static func give(_ piece: UnsafeMutableRawPointer?, _ user: UnsafeMutableRawPointer?) {
    guard let piece else { return }
    let lists = user!.assumingMemoryBound(to: List.self)
    let steps = (piece - header).load(as: Int.self)
    guard steps <= sizes, lists[steps].count < kept else { return (piece - header).deallocate() }
    piece.storeBytes(of: lists[steps].first, as: UnsafeMutableRawPointer?.self)
    lists[steps].first = piece
    lists[steps].count += 1
  }

  private static func resize(
    _ piece: UnsafeMutableRawPointer?, _ size: Int, _ user: UnsafeMutableRawPointer?
  ) -> UnsafeMutableRawPointer {
    guard let piece else { return take(size, user) }
    let held = (piece - header).load(as: Int.self) * step
    if size <= held { return piece }
    let larger = take(size, user)
    larger.copyMemory(from: piece, byteCount: held)
    give(piece, user)
    return larger
  }
}
