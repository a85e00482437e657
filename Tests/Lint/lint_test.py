#!/usr/bin/env python3
"""Tests of the lint scripts: what they find in Swift code, and what does not confuse them."""

import pathlib
import tempfile
import unittest

import dashboard
import parts
import walls
from swift_source import Source, blanked


class Sources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, path, text):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def settable(self, body):
        source = Source.read(self.write("A.swift", body))
        return [name for name, _ in source.settable(source.scopes[0])]

    def references(self, **files):
        for path, text in files.items():
            self.write(path.replace("__", "/") + ".swift", text)
        return parts.Parts(self.folder)


class Blanked(unittest.TestCase):
    def test_keeps_code_alone(self):
        for text, left in [
            ("a // b", "a     "),
            ("a /* b /* c */ d */ e", "a                   e"),
            ('f("B{")', "f(    )"),
            (r'f("B \(C.d(1)) E")', "f(     C.d(1)    )"),
            (r'f(#"B \(C) "D" \#(E)"#) G', r"f(                E   ) G"),
            ('"""\nB "C" \\(D)\n""" E', "   \n        D \n    E"),
            (r'"\"" + A', "     + A"),
        ]:
            self.assertEqual(blanked(text), left, text)


class Properties(Sources):
    def test_counts_what_is_stored_and_settable(self):
        for text, names in [
            ("var a = 1, b: Int?\nvar c: [String: Int] = [:]", ["a", "b", "c"]),
            ("private var a = 1\nfileprivate var b = 1\nprivate(set) var c = 1\npublic private(set) var d = 1\nstatic var e = 1", []),
            ("var a: Int { 1 }\nvar b: Int {\n  get { 1 }\n  set {}\n}\nlet c = 1", []),
            ("var a = 1 {\n  didSet { f() }\n}\nvar b: Int = { 1 }()\nlazy var c = D()", ["a", "b", "c"]),
            ("@inline(__always) var a: Int { 1 }\nunowned(unsafe) var b: C\nweak var c: D?\npublic internal(set) var d = 1", ["b", "c", "d"]),
            ("func f() { var a = 1 }\nstruct D { var e = 1 }\nvar f: (Int, Int) -> Void", ["f"]),
        ]:
            self.assertEqual(self.settable("struct A {\n" + text + "\n}"), names, text)


class References(Sources):
    def pairs(self, **files):
        return set(self.references(**files).references)

    def test_types_extensions_and_added_methods_refer_to_their_part(self):
        self.assertEqual(self.pairs(X__A="struct A {}", Y__B="let b = A()"), {("Y", "X")})
        self.assertEqual(self.pairs(X__A="struct A { struct C {} }", Y__B="extension A { func f(_: C) {} }"), {("Y", "X")})
        self.assertEqual(self.pairs(X__A="struct A { func g() { added() } }", Y__B="extension A { func added() {} }"), {("X", "Y"), ("Y", "X")})

    def test_names_in_text_and_shared_names_refer_to_nobody(self):
        self.assertEqual(self.pairs(X__A="struct A {}", Y__B='// A\nlet b = "A", c = d.A'), set())
        self.assertEqual(
            self.pairs(X__A="struct A { func g() { a() } }\nstruct C { func a() {} }", Y__B="extension A { func a() {} }"), {("Y", "X")})

    def test_an_inner_name_is_that_of_its_own_type(self):
        self.assertEqual(
            self.pairs(X__A="struct A { enum State {} }", Y__B="struct B { enum State {}\n var s: State }", Z__C="struct C { var s: B.State }"),
            {("Z", "Y")})

    def test_cycles_are_found_and_known_ones_must_be_there(self):
        it = self.references(X__A="struct A { var b: B }", Y__B="struct B { var a: A }", Z__C="struct C { var a: A }")
        found = list(parts.cycles(it, {}))
        self.assertEqual(len(found), 1)
        self.assertIn("X -> Y (1, as B in", found[0])
        self.assertEqual(list(parts.cycles(it, {"Y -> X": "because"})), [])
        self.assertIn("Z -> X closes no cycle", "".join(parts.cycles(it, {"Y -> X": "", "Z -> X": ""})))
        self.assertIn("X -> Z is no more", "".join(parts.cycles(it, {"Y -> X": "", "X -> Z": ""})))

    def test_shrinking_takes_out_and_adds_nothing(self):
        it = self.references(X__A="struct A { var b: B }", Y__B="struct B {}")
        known = {"cycles": {"X -> Y": "a", "Y -> X": "b"}, "settable": {"M.A": {"count": 12, "reason": "c"}, "M.B": {"count": 12, "reason": "d"}}}
        parts.shrink(known, it, ("settable", {"M.A": (11, ""), "M.C": (20, "")}, 10))
        self.assertEqual(known, {"cycles": {}, "settable": {"M.A": {"count": 11, "reason": "c"}}})


class Walls(unittest.TestCase):
    def test_imports_in_every_spelling(self):
        text = "import A\n@testable import B\npublic import C\nimport struct D.E\n@preconcurrency internal import F\n// import G\nimporting()\n"
        self.assertEqual([it["module"] for it in walls.IMPORT.finditer(blanked(text))], ["A", "B", "C", "D", "F"])

    def test_socket_calls_and_not_methods(self):
        for text, found in [("epoll_ctl(a)", True), ("csys_send2(a)", True), ("socket(AF_INET, 0, 0)", True), ("Glibc.socket(a)", True),
                            ("a.socket(b)", False), ("func socket(", False), ("csys_monotonic()", False), ("connect()", False)]:
            self.assertEqual(bool(walls.SOCKETS.search(text)), found, text)


class Dashboard(unittest.TestCase):
    KNOWN = dashboard.metrics(
        "| `authproxy_requests_total{upstream,code}` | counter | x |\n| `authproxy_wait_seconds{upstream}` | histogram | x |\n"
        "| `process_open_fds` | gauge | x |\n")

    def found(self, expression, legend=""):
        return list(dashboard.mistakes_in(expression, legend, self.KNOWN))

    def test_series_of_histograms_and_labels_of_prometheus_are_known(self):
        self.assertEqual(self.found('sum by (upstream) (rate(authproxy_requests_total{instance=~"$i", code="200"}[1m]))', "{{upstream}}"), [])
        self.assertEqual(self.found("sum by (le, upstream) (rate(authproxy_wait_seconds_bucket[1m]))", "{{upstream}}"), [])
        self.assertEqual(self.found("process_open_fds and on (instance) authproxy_requests_total", "{{instance}}"), [])

    def test_what_does_not_exist_is_found(self):
        self.assertEqual(self.found("authproxy_request_total"), ["metrics.md has no authproxy_request_total"])
        self.assertEqual(self.found("rate(authproxy_requests_total_bucket[1m])"), ["metrics.md has no authproxy_requests_total_bucket"])
        self.assertEqual(self.found('authproxy_wait_seconds_sum{code="200"}'), ["authproxy_wait_seconds has no label code"])
        self.assertEqual(self.found("sum by (host) (process_open_fds)"), ["no metric of the expression has the label host"])
        self.assertEqual(self.found("process_open_fds", "{{upstream}}"), ["no metric of the expression has the label upstream"])
        self.assertEqual(self.found("vector(1)"), ["an expression without a metric"])

    def test_panels_have_names_units_and_places_of_their_own(self):
        def panel(number, x, **more):
            return {"id": number, "type": "stat", "title": f"p{number}", "description": "d", "gridPos": {"x": x, "y": 0, "w": 12, "h": 4},
                    "fieldConfig": {"defaults": {"unit": "s"}}, "targets": [{"expr": "process_open_fds"}], **more}

        def found(*panels):
            return list(dashboard.mistakes({"panels": panels, "templating": {"list": []}}, self.KNOWN))

        self.assertEqual(found(panel(1, 0), panel(2, 12)), [])
        self.assertEqual(found(panel(1, 0), panel(2, 11)), ["panel 'p1': overlaps 'p2'"])
        self.assertEqual(found(panel(1, 0), panel(1, 12)), ["panel 'p1': has the ID of 'p1'", "panel 'p1': its row has another one of this title"])
        self.assertEqual(found(panel(1, 13)), ["panel 'p1': goes beyond the right edge"])
        self.assertEqual(found(panel(1, 0, description="")), ["panel 'p1': has no description"])
        self.assertEqual(found(panel(1, 0, fieldConfig={"defaults": {}})), ["panel 'p1': has no unit"])
        self.assertEqual(found(panel(1, 0, targets=[{"expr": "process_open_fds{a=\"$b\"}"}]))[0], "variable $b is not defined")


unittest.main()
