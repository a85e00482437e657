import Credentials
import HTTPWire

/// What an answer tells of its origin's clock.
public enum AnswerDate {
  /// 2020: a clock that tells less was never set.
  private static let earliest: Int64 = 1_577_836_800
  private static let day: Int64 = 86_400

  /// nil: the answer does not tell, or cannot be believed.
  /// - Parameters:
  ///   - sent: when the request went out, in seconds since 1970.
  ///   - received: when the answer's head came.
  public static func reading(
    status: Int, fields: borrowing ContiguousArray<Field>, in bytes: UnsafeRawBufferPointer, sent: Int64, received: Int64
  ) -> ClockReading? {
    // With Age it is not the origin's clock, or not of now.
    guard status == 400 || status == 401 || status == 403, fields.first(.age) == nil, fields.count(of: .date) == 1,
      let date = fields.first(.date), let told = parseHTTPDate(date.value.bytes(in: bytes), now: received), told >= earliest
    else { return nil }
    let reading = ClockReading(told, between: sent, and: received)
    return abs(reading.offset) < day ? reading : nil
  }
}
