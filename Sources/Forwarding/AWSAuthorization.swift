import HTTPWire

/// An AWS signature in Authorization.
public enum AWSAuthorization {
  /// - Parameter value: of Authorization.
  public static func isScheme(_ value: UnsafeRawBufferPointer) -> Bool {
    value.count >= 5 && equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[..<5]), "AWS4-")
  }
}
