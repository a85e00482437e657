@main
enum AuthProxy {
  static func main() {}
}
