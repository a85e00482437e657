#!/usr/bin/env python3
"""Builds authproxy_VERSION_ARCH.deb, and the package with its debug symbols, from a built program.

Plain dpkg-deb, without debhelper: a few files, each in one line below. The same source, program and SOURCE_DATE_EPOCH make the same
bytes.
"""

import argparse
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).parent
SOURCE = HERE.parent.parent
EXAMPLES = "usr/share/doc/authproxy/examples"


def said(*command, **options):
    return subprocess.run([*map(str, command)], check=True, capture_output=True, text=True, **options).stdout


class Tree:
    """The files of one package."""

    def __init__(self, root):
        self.root = root
        root.mkdir()

    def put(self, path, content, mode=0o644):
        """Writes a file; the folders above it are 0755."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        target.chmod(mode)
        return target

    def compressed(self, path, content):
        # Without name and time: the same input makes the same bytes.
        self.put(path + ".gz", gzip.compress(content.encode(), 9, mtime=0))

    def build(self, package, into, control, compression, conffiles=()):
        files = sorted(each for each in self.root.rglob("*") if each.is_file())
        size = sum(-(-each.stat().st_size // 1024) for each in files)
        sums = [f"{hashlib.md5(each.read_bytes()).hexdigest()}  {each.relative_to(self.root)}\n" for each in files
                if each.relative_to(self.root).parts[0] != "DEBIAN" and f"/{each.relative_to(self.root)}" not in conffiles]
        self.put("DEBIAN/control", control.rstrip() + f"\nInstalled-Size: {size}\n")
        self.put("DEBIAN/md5sums", "".join(sums))
        if conffiles:
            self.put("DEBIAN/conffiles", "".join(f"{each}\n" for each in conffiles))
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", f"-Z{compression}", "--build", self.root, into / package], check=True, stdout=subprocess.DEVNULL)
        return into / package


def source_time():
    """Of the last commit; without git, of the list of changes."""
    try:
        return int(said("git", "-C", SOURCE, "log", "-1", "--format=%ct"))
    except (OSError, subprocess.CalledProcessError):
        return int((SOURCE / "docs/changes.md").stat().st_mtime)


def paragraphs(version, architecture, depends):
    """The control file of each package, with what it takes from the source's."""
    filled = (HERE / "control").read_text().replace("@VERSION@", version).replace("@DEPENDS@", depends)
    source, *packages = filled.strip().split("\n\n")
    general = dict(line.split(": ", 1) for line in source.splitlines())
    for paragraph in packages:
        name = re.match(r"Package: (\S+)", paragraph)[1]
        text = paragraph.replace("Architecture: any", f"Version: {version}\nArchitecture: {architecture}")
        for key in ("Section", "Priority", "Maintainer", "Source"):
            if not re.search(rf"^{key}:", text, re.M) and general[key] != name:
                text = text.replace("\nVersion:", f"\n{key}: {general[key]}\nVersion:", 1)
        yield name, text


def shared_libraries(program, work):
    """The packages of the libraries that the program is linked with."""
    (work / "debian").mkdir()
    (work / "debian/control").write_text("Source: authproxy\n\nPackage: authproxy\nArchitecture: any\n")
    return said("dpkg-shlibdeps", "-O", f"-e{program}", cwd=work).strip().removeprefix("shlibs:Depends=")


def unit():
    """The service, as `make install` installs it, but for the place of the example."""
    text = (SOURCE / "docs/authproxy.service").read_text().replace("@PREFIX@/share/doc/authproxy", "/" + EXAMPLES)
    return text.replace("@PREFIX@", "/usr")


def program_tree(root, program, version, moment):
    tree = Tree(root)
    maintainer = re.search(r"Maintainer: (.*)", (HERE / "control").read_text())[1]
    dated = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(moment))
    tree.put("usr/bin/authproxy", program.read_bytes(), 0o755)
    tree.put("lib/systemd/system/authproxy.service", unit())
    tree.put("usr/lib/sysusers.d/authproxy.conf", (HERE.parent / "authproxy.sysusers").read_text())
    tree.put("etc/authproxy/proxy.conf", (HERE / "proxy.conf").read_text(), 0o640).parent.chmod(0o750)
    for shell, path in {
        "bash": "usr/share/bash-completion/completions/authproxy",
        "zsh": "usr/share/zsh/vendor-completions/_authproxy",
        "fish": "usr/share/fish/vendor_completions.d/authproxy.fish",
    }.items():
        # bash sources the script, it does not run it.
        tree.put(path, said(program, "--generate-completion-script", shell).removeprefix("#!/bin/bash\n"))
    tree.put("usr/share/authproxy/proxy.schema.json", said(program, "schema"))
    tree.compressed("usr/share/man/man1/authproxy.1", said("python3", HERE.parent / "man.py", program, "/" + EXAMPLES))
    doc = "usr/share/doc/authproxy"
    tree.put(f"{doc}/copyright", (HERE / "copyright").read_text())
    tree.put(f"{doc}/README.Debian", (HERE / "README.Debian").read_text())
    tree.compressed(f"{doc}/changelog", (SOURCE / "docs/changes.md").read_text())
    tree.compressed(
        f"{doc}/changelog.Debian",
        f"authproxy ({version}) unstable; urgency=medium\n\n  * changelog.gz has the changes.\n\n -- {maintainer}  {dated}\n")
    for example in ("proxy.conf.example", "docs/alerts.yml", "docs/grafana.json"):
        tree.put(f"{EXAMPLES}/{pathlib.Path(example).name}", (SOURCE / example).read_text())
    tree.put("usr/share/lintian/overrides/authproxy", (HERE / "lintian-overrides").read_text())
    for script in ("postinst", "prerm", "postrm"):
        tree.put(f"DEBIAN/{script}", (HERE / script).read_text(), 0o755)
    return tree


def symbols_tree(root, symbols, identity):
    """Debuggers look for symbols by the program's build ID."""
    tree = Tree(root)
    tree.put(f"usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug", symbols.read_bytes())
    link = root / "usr/share/doc/authproxy-dbgsym"
    link.parent.mkdir(parents=True)
    link.symlink_to("authproxy")
    return tree


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--program", type=pathlib.Path, required=True, help="with its symbols")
    options.add_argument("--out", type=pathlib.Path, required=True, help="the folder for the packages")
    options.add_argument("--revision", default="1", help="of the package; default: %(default)s")
    options.add_argument("--compression", default="xz", help="of dpkg-deb; default: %(default)s")
    options.add_argument("--without-symbols", action="store_true", help="make no package of debug symbols")
    options = options.parse_args()

    os.environ.setdefault("SOURCE_DATE_EPOCH", str(source_time()))
    os.umask(0o022)
    program = options.program.resolve()
    version = f"{said(program, '--version').strip()}-{options.revision}"
    architecture = said("dpkg", "--print-architecture").strip()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        symbols, stripped = work / "authproxy.debug", work / "authproxy"
        said("objcopy", "--only-keep-debug", "--compress-debug-sections", program, symbols)
        said("objcopy", "--strip-all", "--remove-section=.comment", "--remove-section=.note", program, stripped)
        stripped.chmod(0o755)
        identity = re.search(r"Build ID: ([0-9a-f]+)", said("readelf", "--notes", program))[1]
        control = dict(paragraphs(version, architecture, shared_libraries(stripped, work)))
        trees = {"authproxy": program_tree(work / "tree", stripped, version, int(os.environ["SOURCE_DATE_EPOCH"]))}
        if not options.without_symbols:
            trees["authproxy-dbgsym"] = symbols_tree(work / "symbols", symbols, identity)
            control["authproxy-dbgsym"] += f"\nBuild-Ids: {identity}"
        for name, tree in trees.items():
            conffiles = ["/etc/authproxy/proxy.conf"] if name == "authproxy" else []
            print(tree.build(f"{name}_{version}_{architecture}.deb", options.out, control[name], options.compression, conffiles))


main()
