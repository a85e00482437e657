/// `listen[].proxy_protocol`.
extension Mistake {
  static let ofProxyProtocol: [Mistake] = [
    Mistake(
      "peers that are none",
      #"""
      listen:
        - {address: "127.0.0.1:1", proxy_protocol: []}
        - {address: "127.0.0.1:2", proxy_protocol: [10.0.0.1/8, 10.0.0.0/33, host, "fd00::/8"]}
        - {address: "127.0.0.1:3", proxy_protocol: [unx, "unix:/run/a", "127.0.0.1:80", "::1%1"]}
        - {address: "127.0.0.1:4", proxy_protocol: true}
        - {address: "127.0.0.1:5", proxy_protocl: [10.0.0.0/8]}
        - {address: "127.0.0.1:6", proxy_protocol: }
      """#,
      [
        "2:46: error: listen[0].proxy_protocol is empty; leave it out if no connection begins with a PROXY header",
        "3:47: error: listen[1].proxy_protocol[0]: '10.0.0.1/8' has bits set beyond its prefix; the block is 10.0.0.0/8",
        "3:59: error: listen[1].proxy_protocol[1]: '10.0.0.0/33' has a prefix length that is not a number from 0 to 32",
        "3:72: error: listen[1].proxy_protocol[2]: 'host' must be an address or a block such as 10.2.0.0/16 or fd00::/8",
        "4:47: error: listen[2].proxy_protocol[0]: 'unx' is not an address block (did you mean 'unix'?)",
        "4:52: error: listen[2].proxy_protocol[1]: 'unix:/run/a' must be an address or a block such as 10.2.0.0/16 or fd00::/8",
        "4:67: error: listen[2].proxy_protocol[2]: '127.0.0.1:80' must be an address or a block such as 10.2.0.0/16 or fd00::/8",
        "4:83: error: listen[2].proxy_protocol[3]: '::1%1' must be an address or a block such as 10.2.0.0/16 or fd00::/8",
        "5:46: error: listen[3].proxy_protocol must be a list, not a text",
        "6:30: error: unknown key 'proxy_protocl' in listen[4] (did you mean 'proxy_protocol'?)",
        "7:30: error: listen[5].proxy_protocol has no value",
      ]),
    Mistake(
      "the admin listener takes no headers",
      #"""
      listen: 127.0.0.1:1
      admin: {address: "127.0.0.1:2", proxy_protocol: [10.0.0.0/8]}
      """#,
      [
        "2:33: error: unknown key 'proxy_protocol' in admin"
      ]),
  ]
}
