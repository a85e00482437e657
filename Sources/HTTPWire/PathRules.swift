/// Checks whether a path may be compared with a configured prefix. Refuses paths that an origin might resolve to another path
/// than the compared one: dot segments, literal or encoded and also before a `;` parameter; `%2f`, `%5c`, `\`, `//`.
/// - Returns: whether every server reads the path as written: nothing is encoded, and there is no parameter.
/// - Throws: `ambiguousPath`.
@discardableResult
public func checkPath(_ path: ByteSlice, in head: UnsafeRawBufferPointer) throws(HeadError) -> Bool {
  let bytes = path.bytes(in: head)
  var isPlain = true
  // State of the current segment: number of dots if it has only dots so far; nil after any other character.
  var dots: Int? = nil
  var index = 0
  while index < bytes.count {
    var byte = bytes[index]
    var encoded = false
    if byte == ASCII.percent || byte == ASCII.semicolon { isPlain = false }
    if byte == ASCII.percent, index + 2 < bytes.count,
      let high = ASCII.hexValue(bytes[index + 1]), let low = ASCII.hexValue(bytes[index + 2])
    {
      byte = high << 4 | low
      encoded = true
      index += 2
    }
    index += 1
    switch byte {
    case ASCII.backslash: throw .ambiguousPath
    case ASCII.slash:
      if encoded { throw .ambiguousPath }
      if let dots, dots < 3 {
        // 0: `//`; 1 and 2: `/./`, `/../`. There is no segment before the first slash.
        throw .ambiguousPath
      }
      dots = 0
    case ASCII.dot: if let count = dots { dots = count + 1 }
    case ASCII.semicolon:
      // Servlet containers remove the parameter before they look for dots.
      if let dots, dots < 3 { throw .ambiguousPath }
      dots = nil
    default: dots = nil
    }
  }
  if let dots, 1...2 ~= dots { throw .ambiguousPath }
  return isPlain
}

/// Calls `body` with the paths that an origin may read `path` as. Servers decode encoded characters, some of them more than
/// once. They remove path parameters (`;...`) from segments, or the rest of the path at an encoded NUL, `?` or `#`. Then some
/// resolve dot segments and empty segments, and some do not. Each reading is fully decoded, and valid while `body` runs.
/// - Parameter path: without its query; an empty one has no other reading.
/// - Throws: `ambiguousPath`: it is encoded more times than any server decodes.
public func forEachReading(of path: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) throws(HeadError) {
  guard path.first == ASCII.slash else { return }
  let isDecoded = withUnsafeTemporaryAllocation(byteCount: path.count, alignment: 1) { space in
    space.copyMemory(from: path)
    guard var count = decodeFully(space, path.count) else { return false }
    count = cutParameters(space, count)
    body(UnsafeRawBufferPointer(rebasing: space[..<count]))
    let resolved = resolveSegments(space, count)
    if resolved != count { body(UnsafeRawBufferPointer(rebasing: space[..<resolved])) }
    return true
  }
  if !isDecoded { throw .ambiguousPath }
}

/// Bounds the work, as each round reads the whole path.
private let decodingRounds = 4

/// Decodes in place until nothing is encoded.
/// - Returns: the remaining number of bytes; nil if something is still encoded after this many rounds.
private func decodeFully(_ path: UnsafeMutableRawBufferPointer, _ count: Int) -> Int? {
  var count = count
  for _ in 0...decodingRounds {
    var (index, end) = (0, 0)
    while index < count {
      var byte = path[index]
      if byte == ASCII.percent, index + 2 < count, let high = ASCII.hexValue(path[index + 1]),
        let low = ASCII.hexValue(path[index + 2])
      {
        byte = high << 4 | low
        index += 2
      }
      path[end] = byte
      index += 1
      end += 1
    }
    if end == count { return count }
    count = end
  }
  return nil
}

/// Removes path parameters in place; `\` becomes `/`.
private func cutParameters(_ path: UnsafeMutableRawBufferPointer, _ count: Int) -> Int {
  var end = 0
  var isParameter = false
  for index in 0..<count {
    let byte = path[index] == ASCII.backslash ? ASCII.slash : path[index]
    switch byte {
    case 0, ASCII.question, ASCII.hash: return end
    case ASCII.slash: isParameter = false
    case ASCII.semicolon: isParameter = true
    default: break
    }
    if !isParameter {
      path[end] = byte
      end += 1
    }
  }
  return end
}

/// Removes dot segments and empty segments in place. The path begins with `/`, and so does the result.
private func resolveSegments(_ path: UnsafeMutableRawBufferPointer, _ count: Int) -> Int {
  var (index, end) = (0, 0)
  while index < count {
    // `index` is at a slash.
    let start = index + 1
    index = start
    while index < count, path[index] != ASCII.slash { index += 1 }
    let segment = path[start..<index]
    switch segment.count {
    case 0: break
    case 1 where segment.first == ASCII.dot: break
    case 2 where segment.first == ASCII.dot && segment.last == ASCII.dot:
      while end > 0 {
        end -= 1
        if path[end] == ASCII.slash { break }
      }
    default:
      path[end] = ASCII.slash
      end += 1
      for byte in segment {
        path[end] = byte
        end += 1
      }
    }
  }
  if end == 0 {
    path[0] = ASCII.slash
    end = 1
  }
  return end
}
