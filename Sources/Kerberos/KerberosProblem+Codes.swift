import CGSSAPI

extension KerberosProblem {
  /// What was tried, for the texts.
  struct Subject {
    /// The proxy's own name; empty: not known yet.
    var client = ""
    var service = ""
    /// Keytab or ticket cache; empty: a password.
    var source = ""
  }

  /// docs/kerberos.md has the same table, with more words.
  /// - Parameter said: the library's own text.
  init(_ code: krb5_error_code, _ said: @autoclosure () -> String, _ subject: Subject) {
    let problem = Self.meaning(of: code, said, subject)
    // Only the key itself is refused for all of them.
    self.init(problem.kind, problem.text, isOfService: !subject.service.isEmpty && problem.kind != .keyRefused)
  }

  private static func meaning(of code: krb5_error_code, _ said: () -> String, _ subject: Subject) -> KerberosProblem {
    let client = subject.client.isEmpty ? "the proxy's principal" : subject.client
    let (service, source) = (subject.service, subject.source)
    return switch Int(code) {
    // The KDC and the way to it.
    case Int(KRB5_KDC_UNREACH):
      KerberosProblem(.temporary, "no KDC answers (\(said())): see kdc in krb5.conf, and port 88 of UDP and TCP")
    case Int(KRB5KDC_ERR_SVC_UNAVAILABLE): KerberosProblem(.temporary, "the KDC is not available now (\(said()))")
    case Int(KRB5_REALM_CANT_RESOLVE):
      KerberosProblem(.temporary, "the names of the realm's KDCs cannot be resolved (\(said())): see kdc in krb5.conf, and DNS")
    case Int(KRB5_REALM_UNKNOWN):
      KerberosProblem(.needsOperator, "no KDC of the realm is known (\(said())): name it in krb5.conf under [realms]")
    case Int(KRB5KRB_AP_ERR_SKEW), Int(KRB5_KDCREP_SKEW), Int(KRB5KRB_AP_ERR_TKT_NYV), Int(KRB5KDC_ERR_NEVER_VALID):
      KerberosProblem(.temporary, "the clocks of this machine and of the KDC differ too much: set both by NTP")
    // The client.
    case Int(KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN):
      KerberosProblem(.needsOperator, "the KDC does not know \(client): see principal")
    case Int(KRB5KRB_AP_ERR_BAD_INTEGRITY) where !service.isEmpty:
      KerberosProblem(.temporary, "the KDC does not take its own ticket of \(client), or its answer cannot be read (\(said()))")
    case Int(KRB5KDC_ERR_PREAUTH_FAILED), Int(KRB5KRB_AP_ERR_BAD_INTEGRITY):
      KerberosProblem(
        .keyRefused,
        source.isEmpty
          ? "the KDC refuses the password of \(client)"
          : "the KDC refuses the key of \(client) in \(source): make the keytab again, as the account's password has changed")
    case Int(KRB5KDC_ERR_CLIENT_REVOKED):
      KerberosProblem(
        .keyRefused, "the account of \(client) is disabled, locked or expired: see it in the KDC or Active Directory")
    case Int(KRB5KDC_ERR_KEY_EXP):
      KerberosProblem(.keyRefused, "the password of \(client) has expired: set another one")
    case Int(KRB5KDC_ERR_NAME_EXP): KerberosProblem(.needsOperator, "the account of \(client) has expired")
    case Int(KRB5KDC_ERR_ETYPE_NOSUPP):
      KerberosProblem(
        .needsOperator,
        "the KDC supports no encryption type that \(client) and the service share: give the keytab AES keys, and see permitted_enctypes in krb5.conf"
      )
    case Int(KRB5KDC_ERR_POLICY):
      KerberosProblem(.needsOperator, "the KDC's policy forbids it (\(said())): see the account's restrictions")
    // The service.
    case Int(KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN):
      KerberosProblem(
        .needsOperator,
        service.isEmpty
          ? "the KDC does not know the realm's ticket service (\(said())): see the realm of the principal"
          : "the KDC does not know the service \(service): register it (setspn -S, addprinc), or set service_principal")
    case Int(KRB5KDC_ERR_MUST_USE_USER2USER):
      KerberosProblem(
        .needsOperator, "\(service) belongs to a user's account, for which the KDC gives no ticket: see service_principal")
    case Int(KRB5KDC_ERR_SERVICE_EXP), Int(KRB5KDC_ERR_SERVICE_REVOKED), Int(KRB5KDC_ERR_SERVICE_NOTYET):
      KerberosProblem(.needsOperator, "the account of \(service) is disabled or expired")
    case Int(KRB5KDC_ERR_WRONG_REALM), Int(KRB5_ERR_HOST_REALM_UNKNOWN), Int(KRB5_GET_IN_TKT_LOOP), Int(KRB5_KDCREP_MODIFIED),
      Int(KRB5KDC_ERR_PATH_NOT_ACCEPTED):
      KerberosProblem(
        .needsOperator,
        "no way leads from the realm of \(client) to \(service.isEmpty ? "its KDC" : service) (\(said())): see [domain_realm] and [capaths] in krb5.conf"
      )
    // Files.
    case Int(ENOENT) where !source.isEmpty: KerberosProblem(.needsOperator, "\(source) does not exist")
    case Int(EACCES) where !source.isEmpty, Int(EPERM) where !source.isEmpty, Int(KRB5_FCC_PERM):
      KerberosProblem(.needsOperator, "the proxy may not read \(source)")
    case Int(KRB5_KT_NOTFOUND), Int(KRB5_KT_KVNONOTFOUND):
      KerberosProblem(.needsOperator, "\(source) has no usable key of \(client) (\(said())): see `klist -kte`")
    case Int(KRB5_KT_END): KerberosProblem(.needsOperator, "\(source) has no key")
    case Int(KRB5_KEYTAB_BADVNO), Int(KRB5_KT_FORMAT), Int(KRB5_KT_NAME_TOOLONG), Int(KRB5_KT_UNKNOWN_TYPE):
      KerberosProblem(.needsOperator, "\(source) is no keytab")
    case Int(KRB5_FCC_NOFILE), Int(KRB5_CC_NOTFOUND), Int(KRB5_CC_END):
      KerberosProblem(.needsOperator, "\(source) has no ticket: see that kinit, k5start or sssd keeps it (`klist -c`)")
    case Int(KRB5KRB_AP_ERR_TKT_EXPIRED):
      KerberosProblem(.temporary, "the tickets in \(source) have expired: see that kinit, k5start or sssd renews them")
    case Int(KRB5_CC_FORMAT), Int(KRB5_CCACHE_BADVNO), Int(KRB5_CC_BADNAME), Int(KRB5_CC_UNKNOWN_TYPE),
      Int(KRB5_CC_TYPE_EXISTS):
      KerberosProblem(.needsOperator, "\(source) is no ticket cache of a known type (\(said()))")
    // krb5.conf.
    case Int(KRB5_CONFIG_CANTOPEN), Int(KRB5_CONFIG_BADFORMAT), Int(KRB5_LIBOS_BADPWDMATCH):
      KerberosProblem(.needsOperator, "krb5.conf cannot be used: \(said())")
    case Int(KRB5_CONFIG_NODEFREALM):
      KerberosProblem(.needsOperator, "no realm: write principal with @REALM, or set default_realm in krb5.conf")
    case Int(KRB5_PARSE_MALFORMED), Int(KRB5_PARSE_ILLCHAR):
      KerberosProblem(.needsOperator, "\(service.isEmpty ? client : service) is no principal")
    default: KerberosProblem(.temporary, "Kerberos: \(said())")
    }
  }
}
