import HTTPWire

/// A credential that is a part of the request target: a parameter of the query, or the first segment of the path. Says where it goes,
/// and what an app's own looks like. It has no secret.
public struct TargetCredential: Sendable, Hashable {
  public enum Form: Sendable, Hashable {
    /// A parameter of the query.
    /// - Parameter name: decoded.
    case parameter(name: [UInt8])
    /// A segment of the path: what precedes and what follows the secret in it.
    case segment(before: [UInt8], after: [UInt8])
  }

  public let form: Form
  /// Bytes of the path at the origin that precede the segment: the origin's own path.
  let originPath: Int
  /// Bytes of the app's path that do not go on: the match's prefix, if something else takes its place.
  let appPath: Int

  public init(_ form: Form, originPath: Int = 0, appPath: Int = 0) {
    self.form = form
    self.originPath = originPath
    self.appPath = appPath
  }

  /// Bytes of the origin's path before the slash of the segment; nil: it is in the query.
  public var segmentPlace: Int? { if case .segment = form { originPath } else { nil } }

  var credentialForm: ForwardingRules.CredentialForm {
    switch form {
    case .parameter: .parameter
    case .segment: .segment
    }
  }

  /// Whether the app sends such a credential of its own.
  /// - Parameter target: as the app wrote it, in origin-form or absolute-form.
  func isPresent(in target: UnsafeRawBufferPointer) -> Bool {
    switch form {
    case .parameter(let name): TargetParameters.contains(name, in: target)
    case .segment: ownSegment(in: target, at: Self.pathStart(of: target) + appPath) != nil
    }
  }

  /// Refuses paths that an origin might resolve past the segment: dot segments and their disguises.
  /// - Throws: `ambiguousPath`.
  func check(_ target: ByteSlice, in head: UnsafeRawBufferPointer) throws(ForwardingError) {
    guard case .segment = form else { return }
    let bytes = target.bytes(in: head)
    let start = Self.pathStart(of: bytes)
    let end = bytes.firstIndex(of: URLMark.question) ?? bytes.count
    guard start < end else { return }
    do throws(HeadError) {
      let isPlain = try checkPath(ByteSlice(start: target.start + start, count: end - start), in: head)
      if isPlain { return }
      // What follows the segment, and the app's own one in its place.
      let place = min(start + appPath, end)
      let own = ownSegment(in: bytes, at: place)
      try Self.checkStays(UnsafeRawBufferPointer(rebasing: bytes[(own?.upperBound ?? place)..<end]))
    } catch { throw .ambiguousPath }
  }

  /// Refuses a path that some reading resolves past a segment that precedes it. Origins decode more than once.
  private static func checkStays(_ path: UnsafeRawBufferPointer) throws(HeadError) {
    let segment: StaticString = "/-"
    let result = withUnsafeTemporaryAllocation(byteCount: path.count + 2, alignment: 1) { space -> Result<Void, HeadError> in
      var writer = ByteWriter(space)
      writer.append(segment)
      writer.append(path)
      var leaves = false
      do throws(HeadError) {
        try forEachReading(of: writer.written) { read in
          let isBelow = read.count >= 2 && read[0] == URLMark.slash && read[1] == UInt8(ascii: "-")
          if !isBelow || read.count > 2 && read[2] != URLMark.slash { leaves = true }
        }
        return leaves ? .failure(.ambiguousPath) : .success(())
      } catch { return .failure(error) }
    }
    try result.get()
  }

  /// Most bytes that `write` adds to a target.
  public static func growth(of part: Int) -> Int { part + 2 }

  /// Writes a target with the credential in it, and without the app's own. Every other byte stays as it is.
  /// - Parameters:
  ///   - target: for the origin: origin-form, or `*`, which has no place for a credential and goes on as it is.
  ///   - part: what goes into it: `name=value`, or the segment, percent-encoded.
  public func write(_ target: UnsafeRawBufferPointer, with part: [UInt8], into writer: inout ByteWriter) {
    guard target.first == URLMark.slash else { return writer.append(target) }
    switch form {
    case .parameter(let name):
      let start = TargetParameters.write(target, without: name, into: &writer)
      if writer.count == start {
        writer.append(byte: URLMark.question)
      } else if writer.count > start + 1, writer.written.last != URLMark.ampersand {
        // More than `?` alone.
        writer.append(byte: URLMark.ampersand)
      }
      writer.append(part)
    case .segment:
      let place = min(originPath, target.count)
      let own = ownSegment(in: target, at: place)
      writer.append(UnsafeRawBufferPointer(rebasing: target[..<place]))
      writer.append(byte: URLMark.slash)
      writer.append(part)
      writer.append(UnsafeRawBufferPointer(rebasing: target[(own?.upperBound ?? place)...]))
    }
  }

  /// A target for the origin, in origin-form, without the app's own credential.
  public func removed(from target: UnsafeRawBufferPointer) -> [UInt8] {
    switch form {
    case .parameter(let name):
      return [UInt8](unsafeUninitializedCapacity: target.count) { space, count in
        var writer = ByteWriter(UnsafeMutableRawBufferPointer(space))
        _ = TargetParameters.write(target, without: name, into: &writer)
        count = writer.count
      }
    case .segment:
      guard let own = ownSegment(in: target, at: min(originPath, target.count)) else { return Array(target) }
      let rest = Array(target[..<(own.lowerBound - 1)]) + Array(target[own.upperBound...])
      return rest.first == URLMark.slash ? rest : [URLMark.slash] + rest
    }
  }

  /// The app's own segment, without the slash before it. A segment that is the secret alone cannot be told from others.
  /// - Parameter place: where the slash before it is.
  private func ownSegment(in target: UnsafeRawBufferPointer, at place: Int) -> Range<Int>? {
    guard case .segment(let before, let after) = form, !(before.isEmpty && after.isEmpty), place < target.count,
      target[place] == URLMark.slash
    else { return nil }
    var end = place + 1
    while end < target.count, target[end] != URLMark.slash, target[end] != URLMark.question { end += 1 }
    let segment = UnsafeRawBufferPointer(rebasing: target[(place + 1)..<end])
    let length = DecodedText.count(of: segment)
    guard length > before.count + after.count, DecodedText.has(before, at: 0, in: segment),
      DecodedText.has(after, at: length - after.count, in: segment)
    else { return nil }
    return (place + 1)..<end
  }

  /// Offset of the path: 0 in origin-form.
  private static func pathStart(of target: UnsafeRawBufferPointer) -> Int {
    guard target.first != URLMark.slash, let colon = target.firstIndex(of: URLMark.colon) else { return 0 }
    var index = min(colon + 3, target.count)
    while index < target.count, target[index] != URLMark.slash, target[index] != URLMark.question { index += 1 }
    return index
  }
}

// MARK: For people

extension TargetCredential {
  private static let stars = Array("***".utf8)

  /// A target as the origin gets it, with stars in place of the secret.
  /// - Parameters:
  ///   - target: the path and query that go on.
  ///   - part: as for `write`, with stars.
  ///   - keepsOwn: what the app sends of its own goes on; it gets stars as well.
  public func shown(_ target: [UInt8], with part: [UInt8], keepsOwn: Bool) -> [UInt8] {
    let isOwn = keepsOwn && target.withUnsafeBytes { isPresent(in: $0) }
    if isOwn { return hidden(target) }
    return [UInt8](unsafeUninitializedCapacity: target.count + Self.growth(of: part.count)) { space, count in
      var writer = ByteWriter(UnsafeMutableRawBufferPointer(space))
      target.withUnsafeBytes { write($0, with: part, into: &writer) }
      count = writer.count
    }
  }

  /// A path, or path and query, of the app with stars in place of its own secret.
  public func hidden(_ target: [UInt8]) -> [UInt8] {
    target.withUnsafeBytes { bytes in
      switch form {
      case .parameter(let name): return TargetParameters.hiding(name, in: bytes)
      case .segment(let before, let after):
        guard let own = ownSegment(in: bytes, at: appPath) else { return target }
        return target[..<own.lowerBound] + before + Self.stars + after + target[own.upperBound...]
      }
    }
  }
}

extension ForwardingRules {
  /// The app's path for the log, if it has a secret of the app's own in it; nil: it has none.
  public func hiddenPath(_ path: UnsafeRawBufferPointer) -> String? {
    guard credentialForm == .segment, let target, target.isPresent(in: path) else { return nil }
    return String(decoding: target.hidden(Array(path)), as: UTF8.self)
  }

  /// The path of a request that this entry might have served and that was refused, for the log. Where the app's own secret would have
  /// been is not known, and the path may be odd.
  /// - Returns: nil: it has none. A path that has only stars, if it may have one.
  public func hiddenPath(ofRefused path: [UInt8]) -> String? {
    guard credentialForm == .segment, let target, case .segment(let before, let after) = target.form else { return nil }
    let mark = before.isEmpty ? after : before
    return !mark.isEmpty && DecodedText.mayContain(mark, path) ? "/***" : nil
  }
}
