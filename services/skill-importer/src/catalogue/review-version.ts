import type { VersionReview } from "@switchyard/contracts/skill-importer/skill-scan";
import { visible } from "@switchyard/service/visible-text";
import { agentText } from "@switchyard/skills/agents/describe-agent";
import { decodeLeniently } from "@switchyard/skills/frontmatter/decode-text";
import type { CatalogueStore } from "../store/catalogue-store.ts";
import { isCalled, type Kind } from "@switchyard/skills/catalogue/definition";
import type { VersionStore } from "../store/version-store.ts";

interface Parts {
  readonly store: Pick<CatalogueStore, "read" | "listWithheld">;
  readonly versions: Pick<VersionStore, "record" | "report" | "file">;
}

/** A limit for all files of a version together; those beyond it are named without their text. */
const MAX_REVIEWED_BYTES = 262_144;

/** Returns everything that a person reviews before they trust a version: its files, the scanner's report, why it waits. */
export async function reviewVersion(
  parts: Parts,
  { kind, name, version }: { readonly kind: Kind; readonly name: string; readonly version: string },
): Promise<VersionReview> {
  const { store, versions } = parts;
  const [scan, all, files] = await Promise.all([
    versions.report(kind, name, version),
    store.listWithheld(),
    kind === "skill" ? skillFiles(parts, name, version) : agentFile(parts, name, version),
  ]);
  const withheld = all.find((item) => isCalled(item, { kind, name, version }))?.reason ?? null;
  return { files, scan, withheld };
}

async function skillFiles(
  { versions }: Parts,
  name: string,
  version: string,
): Promise<VersionReview["files"]> {
  const record = await versions.record("skill", name, version);
  const isOwn = ({ digest }: { readonly digest: string }): number =>
    Number(digest === record?.digest);
  const facts = (record?.files ?? []).toSorted((one, other) => isOwn(other) - isOwn(one));
  const files: VersionReview["files"] = [];
  let leftBytes = MAX_REVIEWED_BYTES;
  for (const { path, sizeBytes } of facts) {
    const isRead = sizeBytes <= leftBytes;
    const bytes = isRead ? await versions.file(name, version, path) : null;
    const decoded = bytes === null ? null : decodeLeniently(bytes);
    const text = decoded !== null && "text" in decoded ? visible(decoded.text) : null;
    if (text !== null) leftBytes -= sizeBytes;
    files.push({ path, sizeBytes, text });
  }
  return files;
}

/** The fields of an agent are stored, not its file. */
async function agentFile(
  { store }: Parts,
  name: string,
  version: string,
): Promise<VersionReview["files"]> {
  const agent = await store.read("agent", name, version);
  if (agent === null) return [];
  const text = agentText(agent);
  return [{ path: name, sizeBytes: Buffer.byteLength(text), text: visible(text) }];
}
