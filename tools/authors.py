"""Lists the crates that gptr is built from: `cargo metadata --format-version 1 | authors.py > inst/AUTHORS`."""
import json
import re
import sys

packages = [p for p in json.load(sys.stdin)["packages"] if p["source"]]
print("The binary of gptr contains or is built with these Rust crates; each is under its own licence.\n")
for p in sorted(packages, key=lambda p: (p["name"], p["version"])):
    authors = ", ".join(re.sub(r" *<[^>]*>", "", a) for a in p["authors"]) or "the authors of " + p["name"]
    licence = p["license"] or ("file " + p["license_file"] if p["license_file"] else "unknown")
    print(f"{p['name']} {p['version']}\n  authors: {authors}\n  licence: {licence}")
    if p["repository"]:
        print(f"  source: {p['repository']}")
