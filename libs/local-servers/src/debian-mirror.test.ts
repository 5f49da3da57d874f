import assert from "node:assert/strict";
import { test } from "node:test";

import { debianMirror } from "./debian-mirror.ts";

const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

function sources(...texts: string[]): { name: string; text: string }[] {
  return texts.map((text, index) => ({ name: `/etc/apt/sources.list.d/${index}.sources`, text }));
}

function list(text: string): { name: string; text: string }[] {
  return [{ name: "/etc/apt/sources.list", text }];
}

test("finds the mirror and its keyring in a deb822 file", () => {
  const text = `Types: deb
# a comment inside the stanza
URIs: http://mirror.example.net/debian/
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: ${KEYRING}

Types: deb
URIs: http://deb.mirror.example/debian-security
Suites: bookworm-security
Components: main
`;
  assert.deepEqual(debianMirror(sources(text), "bookworm"), {
    url: "http://mirror.example.net/debian",
    signedBy: KEYRING,
  });
});

test("finds the mirror in a one-line sources.list", () => {
  const text = `# deb cdrom:[Debian]/ bookworm main
deb-src http://deb.mirror.example/debian bookworm main
deb [arch=amd64 signed-by=${KEYRING}] https://ftp.example.org/debian bookworm main non-free # ours
`;
  assert.deepEqual(debianMirror(list(text), "bookworm"), {
    url: "https://ftp.example.org/debian",
    signedBy: KEYRING,
  });
});

test("passes over security archives, snapshots, disabled sources and other people's repositories", () => {
  const text = `deb http://deb.mirror.example/debian-security bookworm-security main
deb http://security.mirror.example/debian-security bookworm main
deb http://snapshot.mirror.example/archive/debian/20250520T000000Z bookworm main
deb http://snapshot.mirror.example/debian bookworm main
deb https://packages.redis.io/deb bookworm main
deb https://download.docker.com/linux/debian bookworm stable
deb https://apt.example.com/debian bookworm-pgdg main
deb file:/srv/debian bookworm main
`;
  assert.equal(debianMirror(list(text), "bookworm"), null);
  const disabled =
    "Enabled: no\nTypes: deb\nURIs: http://deb.mirror.example/debian\nSuites: bookworm\nComponents: main\n";
  assert.equal(debianMirror(sources(disabled), "bookworm"), null);
});

test("takes no keyring from a stanza that holds the key itself", () => {
  const text = `Types: deb
URIs: http://deb.mirror.example/debian
Suites: stable
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mDMEY865UxYJKwYBBAHaRw8BAQdAd7Z0srwuhlB6JKFkcf4HU4SSS
`;
  assert.deepEqual(debianMirror(sources(text), "trixie"), {
    url: "http://deb.mirror.example/debian",
    signedBy: null,
  });
});

test("reads several values that continue over lines", () => {
  const text =
    "Types: deb\nURIs:\n http://a.example/other\n http://b.example/debian\nSuites: sid\nComponents:\n main\n";
  assert.equal(debianMirror(sources("", text), "forky")?.url, "http://b.example/debian");
});
