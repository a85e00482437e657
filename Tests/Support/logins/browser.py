"""A person with a browser: opens a URL and submits the pages' forms until a page has none that it can fill.

    browser.py URL NAME=VALUE...

Keeps cookies and follows redirects. Of each page it submits the first form with a field or button of these names; it fills the fields, and presses the
button that is named, else the first without a name. Prints the last page. Exit status 1: the pages do not end."""

import html.parser
import sys
import urllib.parse

import requests

LONGEST = 12


class Forms(html.parser.HTMLParser):
    """Forms of a page: (method, action, fields, buttons)."""

    def __init__(self, page):
        super().__init__()
        self.forms = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.forms.append(((given.get("method") or "get").lower(), given.get("action") or "", {}, []))
        if not self.forms or not (tag in ("input", "button", "textarea")):
            return
        _, _, fields, buttons = self.forms[-1]
        kind = given.get("type", "submit" if tag == "button" else "text").lower()
        if kind in ("submit", "image"):
            buttons.append((given.get("name"), given.get("value") or ""))
        elif "name" in given and kind != "checkbox":
            fields[given["name"]] = given.get("value") or ""


def fill(form, wanted):
    """What the form sends; None if it asks for nothing that is wanted."""
    _, _, fields, buttons = form
    chosen = next((button for button in buttons if wanted.get(button[0]) == button[1]), None)
    if chosen is None and not any(name in wanted for name in fields):
        return None
    sent = {name: wanted.get(name, value) for name, value in fields.items()}
    chosen = chosen or next((button for button in buttons if button[0] is None), None)
    if chosen and chosen[0]:
        sent[chosen[0]] = chosen[1]
    return sent


def main():
    wanted = dict(argument.split("=", 1) for argument in sys.argv[2:])
    session = requests.Session()
    session.trust_env = False
    answer = session.get(sys.argv[1], timeout=20)
    for _ in range(LONGEST):
        found = [(form, sent) for form in Forms(answer.text).forms if (sent := fill(form, wanted)) is not None]
        if not found:
            print(answer.text)
            return 0
        (method, action, _, _), sent = found[0]
        target = urllib.parse.urljoin(answer.url, action) if action else answer.url
        answer = session.post(target, data=sent, timeout=20) if method == "post" else session.get(target, params=sent, timeout=20)
    print(answer.text)
    return 1


sys.exit(main())
