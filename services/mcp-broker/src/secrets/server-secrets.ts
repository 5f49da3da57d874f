import { MAX_SECRETS } from "@switchyard/contracts/mcp-broker/mcp-secrets";
import { SealError, type SecretCipher } from "@switchyard/service/secret-cipher";
import type { SecretLookup } from "../declaration/env-references.ts";
import type { SecretStore, StoredSecret } from "./secret-store.ts";

export type ServerSecrets = ReturnType<typeof createServerSecrets>;

/**
 * The secrets of MCP servers, as far as this broker has read them. Values are in memory because a server connects, and texts are
 * redacted, also while Redis is away.
 */
export function createServerSecrets(options: {
  readonly store: SecretStore;
  /** Null without a key; then nothing is stored and nothing opens. */
  readonly cipher: Pick<SecretCipher, "seal" | "open" | "isNewest"> | null;
  readonly now: () => number;
  /** A stored value does not open. */
  readonly onUnreadable: (name: string, reason: SealError["reason"]) => void;
}) {
  const { store, cipher, now, onUnreadable } = options;
  let known: ReadonlyMap<string, StoredSecret> = new Map();
  const values = new Map<string, { readonly sealed: string; readonly value: string }>();

  const openAll = (): void => {
    for (const name of values.keys()) if (!known.has(name)) values.delete(name);
    for (const [name, { sealed }] of known) {
      if (values.get(name)?.sealed === sealed) continue;
      const value = cipher === null ? null : opened(cipher, { name, sealed, onUnreadable });
      if (value === null) values.delete(name);
      else values.set(name, { sealed, value });
    }
  };

  return {
    get all(): ReadonlyMap<string, StoredSecret> {
      return known;
    },
    get isWritable(): boolean {
      return cipher !== null;
    },
    /** The value of a reference, or why there is none. */
    lookup: ((name, server) => {
      const secret = known.get(name);
      if (secret === undefined)
        return { problem: `secret ${name} does not exist`, fix: `yard mcp secret set ${name}` };
      if (secret.servers !== null && !secret.servers.includes(server))
        return {
          problem: `secret ${name} is not for this server`,
          fix: `yard mcp secret set ${name} --server ${server}`,
        };
      const value = values.get(name)?.value;
      if (value !== undefined) return { value };
      return {
        problem: `secret ${name} cannot be decrypted with the broker's keys`,
        fix: `yard mcp secret set ${name}`,
      };
    }) satisfies SecretLookup,
    /** Reads all of them. Returns the names of those with another value, or for other servers, than before. Rejects with StoreError. */
    async refresh(): Promise<ReadonlySet<string>> {
      const before = known;
      known = await store.load();
      openAll();
      const names = new Set([...before.keys(), ...known.keys()]);
      const isChanged = (name: string): boolean =>
        before.get(name)?.updatedAt !== known.get(name)?.updatedAt;
      return new Set([...names].filter(isChanged));
    },
    /** Null when there are too many. Rejects with StoreError. */
    async set(
      name: string,
      given: {
        readonly value: string;
        readonly owner: string;
        /** Undefined leaves them as they are. */
        readonly servers: readonly string[] | null | undefined;
      },
    ): Promise<StoredSecret | null> {
      if (cipher === null) throw new TypeError("a secret cannot be stored without a key");
      const { value, owner } = given;
      const before = (await store.load()).get(name);
      const afterMs = before === undefined ? 0 : Date.parse(before.updatedAt) + 1;
      const updatedAt = new Date(Math.max(now(), afterMs)).toISOString();
      const servers = given.servers === undefined ? (before?.servers ?? null) : given.servers;
      const sealed = cipher.seal(value, contextOf(name));
      const secret = { sealed, owner, updatedAt, servers: servers === null ? null : [...servers] };
      return (await store.write(name, secret, MAX_SECRETS)) ? secret : null;
    },
    remove: (name: string): Promise<boolean> => store.remove(name),
    /** Encrypts with the newest key what an earlier one encrypted, so that the earlier one can be taken out. Rejects with StoreError. */
    async reseal(): Promise<void> {
      if (cipher === null) return;
      for (const [name, secret] of known) {
        const open = values.get(name);
        if (open === undefined || cipher.isNewest(secret.sealed)) continue;
        await store.reseal(name, secret, cipher.seal(open.value, contextOf(name)));
      }
    },
  };
}

function opened(
  cipher: Pick<SecretCipher, "open">,
  {
    name,
    sealed,
    onUnreadable,
  }: {
    name: string;
    sealed: string;
    onUnreadable: (name: string, reason: SealError["reason"]) => void;
  },
): string | null {
  try {
    return cipher.open(sealed, contextOf(name));
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof SealError ? error.cause : error;
    if (!(cause instanceof SealError)) throw error;
    onUnreadable(name, cause.reason);
    return null;
  }
}

/** A sealed value is bound to its name. */
function contextOf(name: string): string {
  return `mcp-secret:${name}`;
}
