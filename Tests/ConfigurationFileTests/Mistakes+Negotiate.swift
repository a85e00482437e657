extension Mistake {
  /// `negotiate`.
  static let ofNegotiate: [Mistake] = [
    Mistake(
      "no source of tickets, or several",
      #"""
      credentials:
        a: {negotiate: {principal: svc@R}}
        b: {negotiate: {keytab: k, ccache: FILE:c}}
        c: {negotiate: {keytab: k, password: {env: TOKEN}, principal: p}}
        d: {negotiate: {keytap: k}}
        e: {negotiate: {keytab: k}, basic: {username: u, password: {env: TOKEN}}}
      """#,
      [
        "3:7: error: credentials.a.negotiate must have one of 'keytab', 'ccache' and 'password'",
        "4:7: error: credentials.b.negotiate must have one of 'keytab', 'ccache' and 'password'",
        "5:7: error: credentials.c.negotiate must have one of 'keytab', 'ccache' and 'password'",
        "6:19: error: unknown key 'keytap' in credentials.d.negotiate (did you mean 'keytab'?)",
        "7:3: error: credentials.e \(Mistake.oneKind)",
      ]),
    Mistake(
      "a password without a principal, and what no password is",
      #"""
      credentials:
        a: {negotiate: {password: {env: TOKEN}}}
        b: {negotiate: {password: {file: nothing}, principal: p}}
      """#,
      [
        "3:7: error: credentials.a.negotiate needs 'principal' with 'password'",
        "4:29: error: credentials.b.negotiate.password: /etc/authproxy/nothing: No such file or directory",
      ]),
    Mistake(
      "what is no principal",
      #"""
      credentials:
        a: {negotiate: {keytab: k, principal: a@b@c}}
        b: {negotiate: {keytab: k, principal: "@R"}}
        c: {negotiate: {keytab: k, service_principal: "HTTP/h\n"}}
        d: {negotiate: {keytab: k, service_principal: 'HTTP/h\'}}
        e: {negotiate: {keytab: k, principal: 'a\@b@R'}}
      """#,
      [
        "3:41: error: credentials.a.negotiate.principal must be a Kerberos principal, as name@REALM or name, not 'a@b@c'",
        "4:41: error: credentials.b.negotiate.principal must be a Kerberos principal, as name@REALM or name, not '@R'",
        #"5:49: error: credentials.c.negotiate.service_principal must be a Kerberos principal, as name@REALM or name, not 'HTTP/h�'"#,
        #"6:49: error: credentials.d.negotiate.service_principal must be a Kerberos principal, as name@REALM or name, not 'HTTP/h\'"#,
      ]),
    Mistake(
      "ticket caches that nobody else can keep fresh, and other values",
      #"""
      credentials:
        a: {negotiate: {ccache: "MEMORY:x"}}
        b: {negotiate: {ccache: "file:/x"}}
        c: {negotiate: {ccache: "FILE:a\tb"}}
        d: {negotiate: {keytab: k, channel_binding: maybe, mutual: never}}
      """#,
      [
        "3:27: error: credentials.a.negotiate.ccache must be a ticket cache of type FILE, DIR, KCM or KEYRING, as FILE:/run/krb5cc, not 'MEMORY:x'",
        "4:27: error: credentials.b.negotiate.ccache must be a ticket cache of type FILE, DIR, KCM or KEYRING, as FILE:/run/krb5cc, not 'file:/x'",
        "5:27: error: credentials.c.negotiate.ccache contains a control character",
        "6:47: error: credentials.d.negotiate.channel_binding must be true or false, not 'maybe'",
        "6:62: error: credentials.d.negotiate.mutual must be optional or required, not 'never'",
      ]),
    Mistake(
      "the app's own credential on a connection that is the proxy's",
      #"""
      upstreams:
        - {match: a.example, credential: n, client_authorization: keep}
        - {match: b.example, credential: n, client_authorization: reject}
      credentials:
        n: {negotiate: {keytab: k}}
      """#,
      [
        "3:61: error: upstreams[0].client_authorization cannot be keep: credential 'n' authenticates connections, which an app's own "
          + "credential would use, too"
      ]),
  ]
}
