import type { PolicyVersion } from "@switchyard/contracts/policy/policy-bundles";
import { checkTexts, type PolicyInForce } from "./check-texts.ts";
import type { PolicyFile } from "./policy-file.ts";
import { splitTexts, type PolicyTexts } from "@switchyard/rules/engine/validate";
import { filesOf, VersionChanged, type StoredVersion, type VersionStore } from "./version-store.ts";

/** Keeps this replica at the active version that all replicas share. Redis is authoritative; a replica that cannot read it keeps its version. */
export interface PolicyVersions {
  /** Returns the policy to start with instead of the files; null follows the files. */
  pinnedAtStart(): Promise<PolicyInForce | null>;
  /** Returns the policy that the files last brought into force, by any replica; null when there is none that can be read. */
  lastOfFiles(): Promise<PolicyInForce | null>;
  /** Follows the active version. Concurrent calls share one read. */
  sync(file: PolicyFile): Promise<void>;
  /** Writes a version that has been checked, and brings it into force here. */
  activate(file: PolicyFile, change: Change): Promise<Activation>;
  /** Returns to the files on disk; null when they have errors, and then nothing is changed. */
  followFiles(file: PolicyFile, ifVersion?: string): Promise<Activation | null>;
}

export interface Change {
  readonly texts: PolicyTexts;
  readonly policyDigest: string;
  readonly rules: number;
  readonly by: string;
  readonly note: string | null;
  readonly restores: number | null;
  /** The newest version that the requester has seen; left out: any. */
  readonly ifVersion?: string | undefined;
}

interface Activation {
  readonly active: PolicyVersion;
  readonly previous: PolicyVersion | null;
}

// oxlint-disable-next-line max-lines-per-function -- one state, closed over by small functions
export function createPolicyVersions(parts: {
  readonly store: VersionStore;
  readonly now: () => number;
  /** A version that this replica cannot bring into force: another release wrote it. */
  readonly onRefused: (version: number, lines: readonly string[]) => void;
}): PolicyVersions {
  const { store, now, onRefused } = parts;
  let pinned: number | null = null;
  let syncing: Promise<void> | null = null;
  const at = () => new Date(now()).toISOString();

  const load = async (version: number): Promise<PolicyInForce | null> => {
    const stored = await store.read(version);
    const checked = stored === null ? null : await checkTexts(splitTexts(stored.files));
    if (checked !== null && checked.inForce !== null) return checked.inForce;
    onRefused(version, checked?.lines ?? [`version ${version} is not in Redis`]);
    return null;
  };
  const follow = async (file: PolicyFile): Promise<void> => {
    const active = await store.active();
    if (active.isPinned && active.version !== pinned) {
      pinned = active.version; // a version that cannot be loaded is reported once
      const inForce = await load(active.version);
      if (inForce !== null) await file.pin(inForce);
    } else if (!active.isPinned && pinned !== null) {
      pinned = null;
      await file.unpin();
    }
    if (!active.isPinned && pinned === null) await note(file);
  };
  let noted: string | null = null;
  const note = async (file: PolicyFile): Promise<void> => {
    const { bundle, texts } = file.inForce;
    if (noted === bundle.digest || !file.hasGoodFiles) return;
    const files = filesOf(texts);
    const facts = { policyDigest: bundle.digest, rules: bundle.ruleCount, at: at() };
    await store.noteFiles({
      ...facts,
      files,
      source: "file",
      by: null,
      note: null,
      restores: null,
    });
    noted = bundle.digest;
  };
  const sync = (file: PolicyFile): Promise<void> => {
    syncing ??= follow(file).finally(() => {
      syncing = null;
    });
    return syncing;
  };
  /** Waits for a read that begins after this call. */
  const syncAnew = async (file: PolicyFile): Promise<void> => {
    await syncing?.catch(() => undefined); // the caller that started it gets the error
    await sync(file);
  };

  return {
    async pinnedAtStart() {
      const active = await store.active();
      if (!active.isPinned) return null;
      pinned = active.version;
      return load(active.version);
    },
    async lastOfFiles() {
      const active = await store.active();
      return active.version === 0 || active.isPinned ? null : load(active.version);
    },
    sync,
    async activate(file, { texts, ifVersion, ...change }) {
      await syncAnew(file);
      const [previous] = await store.list();
      const version = { ...change, files: filesOf(texts), source: "activated", at: at() } as const;
      const active = await store.activate(version, ifVersion);
      noted = null;
      await syncAnew(file);
      return { active: publicOf(active), previous: previous ? publicOf(previous) : null };
    },
    async followFiles(file, ifVersion) {
      await syncAnew(file);
      if (!file.hasGoodFiles) return null;
      const [previous] = await store.list();
      if (ifVersion !== undefined && ifVersion !== String(previous?.version ?? 0))
        throw new VersionChanged();
      if (pinned !== null) await store.followFiles(ifVersion);
      noted = null;
      await syncAnew(file);
      const [active] = await store.list();
      if (active === undefined) return null;
      return { active: publicOf(active), previous: previous ? publicOf(previous) : null };
    },
  };
}

/**
 * Returns the version that a rollback restores: the newest one before the present one that has another bundle. A restored version
 * counts as the version it restores, so a second rollback goes further back.
 */
export function rollbackTarget(versions: readonly StoredVersion[]): StoredVersion | null {
  const [active] = versions;
  if (active === undefined) return null;
  const from = active.restores ?? active.version;
  const isEarlier = ({ version, policyDigest }: StoredVersion): boolean =>
    version < from && policyDigest !== active.policyDigest;
  return versions.find(isEarlier) ?? null;
}

/** Returns the version without its texts. */
export function publicOf(stored: StoredVersion): PolicyVersion {
  const { version, policyDigest, rules, source, by, at, note } = stored;
  return { version, policyDigest, rules, source, by, at, note };
}
