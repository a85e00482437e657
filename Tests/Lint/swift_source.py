"""What the lint scripts need from a Swift file: braces, words and declarations, without comments and strings. Not a compiler."""

import pathlib
import re
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPE = re.compile(r"(?<![.\w])(class|struct|enum|actor|protocol|extension)\s+([A-Z]\w*(?:\.[A-Z]\w*)*)")
# `class var` and `class func` are members.
VARIABLE = re.compile(r"(?<![.\w`])var\s+(?=[\w`(])")
SETTER_IS_OWN = re.compile(r"\b(?:file)?private(?:\s*\(set\))?(?![\w(])|\bstatic\b|\bclass\b")


def blanked(text):
    """The text with comments, strings and their quotes as spaces, line breaks kept. Code in an interpolation stays."""
    out, i = list(text), 0

    def blank(start, end):
        for k in range(start, end):
            if out[k] != "\n":
                out[k] = " "

    def comment(i):
        """The end of the comment that begins here."""
        if text.startswith("//", i):
            end = text.find("\n", i)
            return len(text) if end < 0 else end
        depth, i = 1, i + 2
        while i < len(text) and depth:
            if text.startswith("/*", i):
                depth, i = depth + 1, i + 2
            elif text.startswith("*/", i):
                depth, i = depth - 1, i + 2
            else:
                i += 1
        return i

    def string(i):
        """Replaces the string that begins here by spaces, and returns its end."""
        hashes = re.match(r"#*", text[i:])[0]
        quote = '"""' if text.startswith('"""', i + len(hashes)) else '"'
        escape, closing = "\\" + hashes, quote + hashes
        start, i = i, i + len(hashes) + len(quote)
        while i < len(text):
            if text.startswith(closing, i):
                i += len(closing)
                break
            if text.startswith(escape + "(", i):
                blank(start, i + len(escape) + 1)
                i = code(i + len(escape) + 1, ")")
                start = i - 1
            elif text.startswith(escape, i):
                i += len(escape) + 1
            elif text[i] == "\n" and quote == '"':
                break
            else:
                i += 1
        blank(start, i)
        return i

    def code(i, closing=None):
        """Reads code up to and including its closing bracket."""
        depth = 0
        while i < len(text):
            if text.startswith(("//", "/*"), i):
                end = comment(i)
                blank(i, end)
                i = end
            elif re.match(r'#*"', text[i:i + 8]):
                i = string(i)
            else:
                if closing and text[i] == "(":
                    depth += 1
                elif closing and text[i] == closing:
                    if depth == 0:
                        return i + 1
                    depth -= 1
                i += 1
        return i

    code(0)
    return "".join(out)


@dataclass
class Scope:
    """The body of a type, or of an extension."""
    kind: str
    name: str  # qualified by the types around it
    start: int
    body: int  # behind its brace
    end: int = 0
    parent: "Scope | None" = None


@dataclass
class Source:
    path: pathlib.Path
    code: str
    scopes: list = field(default_factory=list)

    @classmethod
    def read(cls, path):
        source = cls(path, blanked(path.read_text()))
        source.find_scopes()
        return source

    def line(self, position):
        return self.code.count("\n", 0, position) + 1

    def place(self, position):
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line(position)}"

    def find_scopes(self):
        heads = {}
        for found in TYPE.finditer(self.code):
            brace = self.code.find("{", found.end())
            # `class func`, `any protocol` and similar have no capitalised name. A name followed by a brace is a declaration.
            if brace >= 0:
                heads.setdefault(brace, found)
        stack = []
        for found in re.finditer(r"[{}]", self.code):
            position = found.start()
            if found[0] == "{":
                scope = None
                if head := heads.get(position):
                    parent = next((it for it in reversed(stack) if it), None)
                    name = f"{parent.name}.{head[2]}" if parent else head[2]
                    scope = Scope(head[1], name, head.start(), position + 1, parent=parent)
                    self.scopes.append(scope)
                stack.append(scope)
            elif stack and (scope := stack.pop()):
                scope.end = position

    def scope_at(self, position):
        inside = [it for it in self.scopes if it.start <= position < it.end]
        return max(inside, key=lambda it: it.start, default=None)

    def own_text(self, scope):
        """The text of a type's body, with spaces inside every inner pair of braces, so that its length is the same."""
        out, depth = [], 0
        for letter in self.code[scope.body:scope.end]:
            if letter == "}":
                depth -= 1
            out.append(letter if depth == 0 or letter == "\n" else " ")
            if letter == "{":
                depth += 1
        return "".join(out)

    def settable(self, scope):
        """Names and positions of the stored properties that code outside the type may set."""
        text, result = self.own_text(scope), []
        for found in VARIABLE.finditer(text):
            # Attributes and modifiers are before it, on the same line or on separate lines.
            before = re.search(r"(?:@\w+(?:\([^)]*\))?\s+|\b[a-z]+(?:\([a-z]+\))?\s+)*$", text[:found.start()])[0]
            if SETTER_IS_OWN.search(before):
                continue
            result += [(name, scope.body + found.start()) for name in self.stored(text, scope, found.end())]
        return result

    def stored(self, text, scope, start):
        """Names of the stored properties in one declaration: those without a getter or body."""
        names, depth, i, fresh, has_value = [], 0, start, True, False
        while i < len(text):
            letter = text[i]
            if letter in "([<":
                depth += 1
            elif letter in ")]" or letter == ">" and text[i - 1] != "-":
                depth -= 1
            elif letter == "=" and depth == 0:
                has_value = True
            elif letter == "," and depth == 0:
                fresh, has_value = True, False
            elif letter == "{" and depth == 0:
                end = text.index("}", i)
                inside = self.code[scope.body + i:scope.body + end]
                if not has_value and not re.search(r"\b(willSet|didSet)\b", inside):
                    names.pop()
                i = end
            elif letter == "\n" and depth <= 0:
                # A declaration continues after a comma, an operator or a colon.
                if not re.search(r"[,=:&]\s*$", text[start:i]) and not re.match(r"\s*[{=.?&]", text[i:]):
                    break
            elif letter == ";":
                break
            if fresh and (word := re.match(r"[\w`]+", text[i:])):
                names.append(word[0])
                fresh, i = False, i + len(word[0]) - 1
            i += 1
        return names


def swift_files(folder):
    return sorted(folder.rglob("*.swift"))
