import CGSSAPI

/// Makes security contexts with one ticket, without asking a KDC: tens of microseconds each. Belongs to one loop, as two threads
/// that share it would wait for each other.
final class GSSInitiator: Initiator {
  /// `GSS_S_CONTINUE_NEEDED`.
  private static let continueNeeded: OM_uint32 = 1

  private let credential: gss_cred_id_t
  private let target: gss_name_t
  private let ticket: HeldTicket
  /// Unused: while a context is open, all others share its parsed krb5.conf. Otherwise each step would read the file twice.
  private let library: Library

  init(_ ticket: HeldTicket) throws(KerberosProblem) {
    self.ticket = ticket
    library = try Library()
    credential = try Self.credential(ticket.cache.name)
    do throws(KerberosProblem) { target = try Self.name(ticket.service) } catch {
      var minor: OM_uint32 = 0
      var credential: gss_cred_id_t? = credential
      gss_release_cred(&minor, &credential)
      throw error
    }
  }

  deinit {
    var minor: OM_uint32 = 0
    var (credential, target): (gss_cred_id_t?, gss_name_t?) = (credential, target)
    gss_release_cred(&minor, &credential)
    gss_release_name(&minor, &target)
  }

  func authentication(binding: [UInt8]?) -> any Authentication { SecurityContext(self, binding: binding) }

  private static func credential(_ cache: String) throws(KerberosProblem) -> gss_cred_id_t {
    var (major, minor): (OM_uint32, OM_uint32) = (0, 0)
    var credential: gss_cred_id_t?
    var spnego = gss_OID_set_desc(count: 1, elements: Mechanism.spnego)
    cache.withCString { cache in
      "ccache".withCString { key in
        // A keytab that holds nothing: otherwise the library looks for the one of KRB5_CLIENT_KTNAME, and may ask a KDC.
        "MEMORY:authproxy-none".withCString { none in
          "client_keytab".withCString { keytabKey in
            var elements = [
              gss_key_value_element_desc(key: key, value: cache), gss_key_value_element_desc(key: keytabKey, value: none),
            ]
            elements.withUnsafeMutableBufferPointer { elements in
              var store = gss_key_value_set_desc(count: 2, elements: elements.baseAddress)
              major = gss_acquire_cred_from(
                &minor, nil, OM_uint32.max, &spnego, GSS_C_INITIATE, &store, &credential, nil, nil)
            }
          }
        }
      }
    }
    guard major == 0, let credential else { throw Self.problem(major, minor) }
    // Kerberos alone: where a plug-in brings NTLM, SPNEGO would offer it, too.
    var kerberos = gss_OID_set_desc(count: 1, elements: Mechanism.kerberos)
    major = gss_set_neg_mechs(&minor, credential, &kerberos)
    guard major == 0 else {
      var released: gss_cred_id_t? = credential
      var ignored: OM_uint32 = 0
      gss_release_cred(&ignored, &released)
      throw Self.problem(major, minor)
    }
    return credential
  }

  private static func name(_ principal: String) throws(KerberosProblem) -> gss_name_t {
    var (major, minor): (OM_uint32, OM_uint32) = (0, 0)
    var name: gss_name_t?
    var text = Array(principal.utf8)
    text.withUnsafeMutableBytes {
      var buffer = gss_buffer_desc(length: $0.count, value: $0.baseAddress)
      major = gss_import_name(&minor, &buffer, Mechanism.principalName, &name)
    }
    guard major == 0, let name else { throw Self.problem(major, minor) }
    return name
  }

  static func problem(_ major: OM_uint32, _ minor: OM_uint32) -> KerberosProblem {
    var texts: [String] = []
    for (code, type, mechanism) in [
      (major, GSS_C_GSS_CODE, nil as gss_OID?), (minor, GSS_C_MECH_CODE, Mechanism.spnego as gss_OID?),
    ] where code != 0 {
      var (ignored, more): (OM_uint32, OM_uint32) = (0, 0)
      var text = gss_buffer_desc()
      guard gss_display_status(&ignored, code, type, mechanism, &more, &text) == 0 else { continue }
      texts.append(String(decoding: UnsafeRawBufferPointer(start: text.value, count: text.length), as: UTF8.self))
      gss_release_buffer(&ignored, &text)
    }
    return KerberosProblem(.temporary, texts.isEmpty ? "error \(major)" : texts.joined(separator: ": "))
  }

  /// One step of a context.
  fileprivate func step(
    _ context: inout gss_ctx_id_t?, _ binding: inout [UInt8]?, _ input: UnsafeRawBufferPointer?
  ) throws(KerberosProblem) -> AuthenticationStep {
    var (major, minor, flags): (OM_uint32, OM_uint32, OM_uint32) = (0, 0, 0)
    var output = gss_buffer_desc()
    // Mutual authentication, nothing else: no delegation, whatever krb5.conf or the ticket allow.
    let wanted = OM_uint32(GSS_C_MUTUAL_FLAG)
    var token = gss_buffer_desc(length: input?.count ?? 0, value: UnsafeMutableRawPointer(mutating: input?.baseAddress))
    if binding == nil {
      major = gss_init_sec_context(
        &minor, credential, &context, target, Mechanism.spnego, wanted, 0, nil, &token, nil, &output, &flags, nil)
    } else {
      binding?.withUnsafeMutableBytes {
        var bindings = gss_channel_bindings_struct()
        bindings.application_data = gss_buffer_desc(length: $0.count, value: $0.baseAddress)
        major = gss_init_sec_context(
          &minor, credential, &context, target, Mechanism.spnego, wanted, 0, &bindings, &token, nil, &output, &flags, nil)
      }
    }
    defer {
      var ignored: OM_uint32 = 0
      gss_release_buffer(&ignored, &output)
    }
    // The upper half are errors; the lower ones say that more is to come, or nothing of interest here.
    guard major & 0xffff_0000 == 0 else { throw Self.problem(major, minor) }
    let isComplete = major & Self.continueNeeded == 0
    return AuthenticationStep(
      token: Array(UnsafeRawBufferPointer(start: output.value, count: output.length)), isComplete: isComplete,
      isMutual: isComplete && flags & OM_uint32(GSS_C_MUTUAL_FLAG) != 0)
  }
}

private final class SecurityContext: Authentication {
  private let initiator: GSSInitiator
  private var binding: [UInt8]?
  private var context: gss_ctx_id_t?

  init(_ initiator: GSSInitiator, binding: [UInt8]?) {
    self.initiator = initiator
    self.binding = binding
  }

  deinit {
    var minor: OM_uint32 = 0
    if context != nil { gss_delete_sec_context(&minor, &context, nil) }
  }

  func step(_ input: UnsafeRawBufferPointer?) throws(KerberosProblem) -> AuthenticationStep {
    try initiator.step(&context, &binding, input)
  }
}
