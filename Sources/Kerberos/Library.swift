import CGSSAPI

/// A context of libkrb5. For one thread at a time.
final class Library {
  let context: krb5_context

  init() throws(KerberosProblem) {
    var context: krb5_context?
    let code = krb5_init_context(&context)
    guard code == 0, let context else {
      throw KerberosProblem(code, "error \(code); is krb5.conf readable and well-formed?", KerberosProblem.Subject())
    }
    self.context = context
  }

  deinit { krb5_free_context(context) }

  func check(_ code: krb5_error_code, _ subject: @autoclosure () -> KerberosProblem.Subject) throws(KerberosProblem) {
    guard code != 0 else { return }
    throw KerberosProblem(code, text(of: code), subject())
  }

  private func text(of code: krb5_error_code) -> String {
    guard let text = krb5_get_error_message(context, code) else { return "error \(code)" }
    defer { krb5_free_error_message(context, text) }
    return String(cString: text)
  }

  // MARK: Principals

  /// - Returns: owned by the caller, who frees it with `krb5_free_principal`.
  func principal(_ text: String, _ subject: KerberosProblem.Subject) throws(KerberosProblem) -> krb5_principal {
    var principal: krb5_principal?
    try check(krb5_parse_name(context, text, &principal), subject)
    guard let principal else { throw KerberosProblem(.needsOperator, "\(text) is no principal") }
    return principal
  }

  func name(of principal: krb5_const_principal?) -> String {
    var text: UnsafeMutablePointer<CChar>?
    guard krb5_unparse_name(context, principal, &text) == 0, let text else { return "" }
    defer { krb5_free_unparsed_name(context, text) }
    return String(cString: text)
  }

  /// By the KDC's clock, if a KDC has told it.
  func now() -> Int64 {
    var now: krb5_timestamp = 0
    return krb5_timeofday(context, &now) == 0 ? Self.seconds(now) : 0
  }

  /// The library counts in 32 bits without sign (until 2106), in a type with sign.
  static func seconds(_ time: krb5_timestamp) -> Int64 { Int64(UInt32(bitPattern: time)) }
}
