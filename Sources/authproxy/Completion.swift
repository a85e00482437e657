import ArgumentParser
import ConfigurationFile

extension CompletionKind {
  /// Names of credentials in the configuration that the command line names with --config.
  /// - Parameter use: only those that it accepts; nil: all.
  static func credential(for use: CredentialUse?) -> CompletionKind {
    .custom { words, _, _ in
      let home = Environment.current["HOME"]
      for path in CommandWords.configurations(in: words, home: home) {
        let names = ConfigurationFile.credentialNames(for: use, path: path)
        if !names.isEmpty { return names.compactMap { CompletionText.candidate($0, for: CompletionShell.requesting) } }
      }
      return []
    }
  }
}

/// The words of an unfinished command line, as a shell passes them for completion: with their quotes and escapes.
enum CommandWords {
  /// Where the configuration may be if --config is not written yet: in this folder, or where a package puts it.
  private static let usual = ["proxy.conf", "/etc/authproxy/proxy.conf"]

  /// Paths to try, in this order.
  static func configurations(in words: [String], home: String?) -> [String] {
    let option = "--config"
    guard let index = words.lastIndex(where: { $0 == option || $0.hasPrefix(option + "=") }) else { return usual }
    var written = words[index...]
    var word = written.removeFirst()
    if word == option {
      // bash makes `=` a word of its own.
      if written.first == "=" { written.removeFirst() }
      guard let value = written.first else { return usual }
      word = value
    } else {
      word.removeFirst(option.count + 1)
    }
    if let home, word.hasPrefix("~/") { return [home + unquoted(word.dropFirst())] }
    return [unquoted(word[...])]
  }

  /// Without quotes and backslashes. Variables stay as they are written: only the shell knows them.
  private static func unquoted(_ word: Substring) -> String {
    var result = ""
    var (quote, isEscaped): (Character?, Bool) = (nil, false)
    for character in word {
      if isEscaped {
        result.append(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
      } else {
        result.append(character)
      }
    }
    return result
  }
}

enum CompletionText {
  /// A candidate as the completion script of the shell takes it; nil if no script can take it.
  static func candidate(_ text: String, for shell: CompletionShell?) -> String? {
    // Each line of the answer is a candidate, and control characters could change the terminal.
    guard text.unicodeScalars.allSatisfy({ $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }) else { return nil }
    switch shell {
    // The script passes candidates to `compgen -W`, which expands them: it would run a `$(command)`.
    case .some(.bash): return text.allSatisfy(isPlain) ? text : "'" + text.replacing("'", with: #"'\''"#) + "'"
    // `_describe` takes what follows a colon as a description.
    case .some(.zsh): return text.replacing("\\", with: "\\\\").replacing(":", with: "\\:")
    default: return text
    }
  }

  private static func isPlain(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || "._@%+-".contains(character))
  }
}
