/** A Debian archive that the system already trusts, found in its apt sources. */
export interface DebianMirror {
  url: string;
  /** Path of the keyring the system checks this archive with, where its sources name one. */
  signedBy: string | null;
}

/** One archive and suite of an apt source. */
interface Source extends DebianMirror {
  suites: readonly string[];
  components: readonly string[];
}

const DEBIAN_SUITES = ["stable", "oldstable", "testing", "unstable", "sid"];

/**
 * Finds Debian's own archive in the text of `/etc/apt/sources.list` and `/etc/apt/sources.list.d/*`. `file.name` determines the format:
 * `*.sources` is deb822, anything else one line a source (sources.list(5)). The security archive, snapshots and third-party repositories
 * are passed over; the first that remains wins.
 */
export function debianMirror(
  files: readonly { name: string; text: string }[],
  codename: string,
): DebianMirror | null {
  const suites = new Set([...DEBIAN_SUITES, codename]);
  for (const { name, text } of files) {
    const sources = name.endsWith(".sources") ? deb822Sources(text) : oneLineSources(text);
    const found = sources.find(
      (source) =>
        source.components.includes("main") &&
        source.suites.some((suite) => suites.has(suite)) &&
        isDebianArchive(source.url),
    );
    if (found !== undefined)
      return { url: found.url.replace(/\/+$/, ""), signedBy: found.signedBy };
  }
  return null;
}

/** Mirrors serve the archive under a folder called `debian`; third-party repositories of the same suites do not. */
function isDebianArchive(url: string): boolean {
  if (!/^https?:\/\//.test(url) || url.includes("://snapshot.")) return false;
  const folder = url.replace(/\/+$/, "").split("/").at(-1) ?? "";
  return folder.startsWith("debian") && !folder.startsWith("debian-security");
}

function oneLineSources(text: string): Source[] {
  return text.split("\n").flatMap((line) => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]+)/.exec(line);
    const [, options = "", url, suite, components] = match ?? [];
    if (url === undefined || suite === undefined || components === undefined) return [];
    const keyring = /(?:^|\s)signed-by=(\S+)/i.exec(options)?.[1];
    return [
      { url, suites: [suite], components: words(components), signedBy: keyringPath(keyring) },
    ];
  });
}

function deb822Sources(text: string): Source[] {
  return text.split(/\n\s*\n/).flatMap((stanza) => {
    const fields = deb822Fields(stanza);
    if (
      /^(no|false|0)$/i.test(fields.get("enabled") ?? "yes") ||
      !words(fields.get("types")).includes("deb")
    )
      return [];
    return words(fields.get("uris")).map((url) => ({
      url,
      suites: words(fields.get("suites")),
      components: words(fields.get("components")),
      signedBy: keyringPath(fields.get("signed-by")),
    }));
  });
}

function deb822Fields(stanza: string): Map<string, string> {
  const fields = new Map<string, string>();
  let current: string | null = null;
  for (const line of stanza.split("\n").filter((each) => !each.startsWith("#"))) {
    const [, name, value] = /^([A-Za-z-]+):\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined) current = name.toLowerCase();
    if (current === null) continue;
    // A line that begins with a space continues the field above.
    fields.set(
      current,
      name === undefined ? `${fields.get(current) ?? ""} ${line.trim()}` : (value ?? "").trim(),
    );
  }
  return fields;
}

/** `Signed-By` may also hold fingerprints or a whole key; only a file can be passed on. */
function keyringPath(value: string | undefined): string | null {
  return value !== undefined && /^\/\S+$/.test(value) ? value : null;
}

function words(text: string | undefined): string[] {
  return (text ?? "").split(/\s+/).filter((word) => word !== "");
}
