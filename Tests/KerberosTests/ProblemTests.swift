import CGSSAPI
import Testing

@testable import Kerberos

@Suite struct ProblemTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let code: Int
    let kind: KerberosProblem.Kind
    /// What the operator reads.
    let says: String
    var source = "/etc/svc.keytab"
    var testDescription: String { "\(code): \(says)" }
  }

  static let rows = [
    Row(code: Int(KRB5_KDC_UNREACH), kind: .temporary, says: "no KDC answers"),
    Row(code: Int(KRB5KDC_ERR_SVC_UNAVAILABLE), kind: .temporary, says: "not available"),
    Row(code: Int(KRB5_REALM_CANT_RESOLVE), kind: .temporary, says: "cannot be resolved"),
    Row(code: Int(KRB5_REALM_UNKNOWN), kind: .needsOperator, says: "[realms]"),
    Row(code: Int(KRB5KRB_AP_ERR_SKEW), kind: .temporary, says: "NTP"),
    Row(code: Int(KRB5_KDCREP_SKEW), kind: .temporary, says: "NTP"),
    Row(code: Int(KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN), kind: .needsOperator, says: "does not know svc@R"),
    Row(code: Int(KRB5KDC_ERR_PREAUTH_FAILED), kind: .keyRefused, says: "refuses the key of svc@R in /etc/svc.keytab"),
    Row(code: Int(KRB5KDC_ERR_PREAUTH_FAILED), kind: .keyRefused, says: "refuses the password of svc@R", source: ""),
    Row(code: Int(KRB5KDC_ERR_CLIENT_REVOKED), kind: .keyRefused, says: "locked"),
    Row(code: Int(KRB5KDC_ERR_KEY_EXP), kind: .keyRefused, says: "has expired", source: ""),
    Row(code: Int(KRB5KDC_ERR_ETYPE_NOSUPP), kind: .needsOperator, says: "encryption type"),
    Row(code: Int(KRB5KDC_ERR_POLICY), kind: .needsOperator, says: "policy"),
    Row(code: Int(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN), kind: .needsOperator, says: "setspn -S"),
    Row(code: Int(KRB5KDC_ERR_MUST_USE_USER2USER), kind: .needsOperator, says: "user's account"),
    Row(code: Int(KRB5KDC_ERR_WRONG_REALM), kind: .needsOperator, says: "[domain_realm]"),
    Row(code: Int(ENOENT), kind: .needsOperator, says: "/etc/svc.keytab does not exist"),
    Row(code: Int(EACCES), kind: .needsOperator, says: "may not read /etc/svc.keytab"),
    Row(code: Int(KRB5_KT_NOTFOUND), kind: .needsOperator, says: "klist -kte"),
    Row(code: Int(KRB5_KT_END), kind: .needsOperator, says: "has no key"),
    Row(code: Int(KRB5_KEYTAB_BADVNO), kind: .needsOperator, says: "is no keytab"),
    Row(code: Int(KRB5_FCC_NOFILE), kind: .needsOperator, says: "has no ticket"),
    Row(code: Int(KRB5KRB_AP_ERR_TKT_EXPIRED), kind: .temporary, says: "have expired"),
    Row(code: Int(KRB5_CC_UNKNOWN_TYPE), kind: .needsOperator, says: "no ticket cache of a known type"),
    Row(code: Int(KRB5_CONFIG_BADFORMAT), kind: .needsOperator, says: "krb5.conf cannot be used"),
    Row(code: Int(KRB5_CONFIG_NODEFREALM), kind: .needsOperator, says: "default_realm"),
    Row(code: Int(KRB5_PARSE_MALFORMED), kind: .needsOperator, says: "HTTP/h is no principal"),
    Row(code: 4_711, kind: .temporary, says: "Kerberos: the library's words"),
  ]

  @Test(arguments: rows)
  func `each error of the library says what to do`(_ row: Row) {
    let subject = KerberosProblem.Subject(client: "svc@R", service: "HTTP/h", source: row.source)
    let problem = KerberosProblem(krb5_error_code(row.code), "the library's words", subject)
    #expect(problem.kind == row.kind)
    #expect(problem.text.contains(row.says), "\(problem.text)")
  }

  @Test(arguments: [
    (Int(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN), "HTTP/h", true), (Int(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN), "", false),
    (Int(KRB5KDC_ERR_POLICY), "HTTP/h", true), (Int(KRB5KDC_ERR_CLIENT_REVOKED), "HTTP/h", false),
    (Int(KRB5KDC_ERR_PREAUTH_FAILED), "", false),
  ])
  func `what one service's tickets lack is its own problem, what the key lacks is all services'`(
    _ code: Int, _ service: String, _ isOfService: Bool
  ) {
    let subject = KerberosProblem.Subject(client: "svc@R", service: service)
    #expect(KerberosProblem(krb5_error_code(code), "", subject).isOfService == isOfService)
  }

  @Test func `an answer for a service that cannot be read is no refused key`() {
    let subject = KerberosProblem.Subject(client: "svc@R", service: "HTTP/h")
    #expect(KerberosProblem(krb5_error_code(KRB5KRB_AP_ERR_BAD_INTEGRITY), "", subject).kind == .temporary)
    let own = KerberosProblem.Subject(client: "svc@R")
    #expect(KerberosProblem(krb5_error_code(KRB5KRB_AP_ERR_BAD_INTEGRITY), "", own).kind == .keyRefused)
  }

  @Test(arguments: [
    ("HTTP/web.example.com", false), ("HTTP/web.example.com@EXAMPLE.COM", true), (#"HTTP/we\@b"#, false),
    (#"HTTP/w\\@R"#, true), ("HTTP/web@", true),
  ])
  func `a service names its realm behind an @ that is not escaped`(_ service: String, _ hasRealm: Bool) {
    #expect(HeldTicket.hasRealm(service) == hasRealm)
  }
}
