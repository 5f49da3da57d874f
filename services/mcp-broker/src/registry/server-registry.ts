import { canonicalDigest } from "@switchyard/contracts/canonical-json";
import { failuresOf } from "@switchyard/contracts/errors";
import { SerialQueue } from "@switchyard/contracts/serial-queue";
import { changedMessage } from "@switchyard/contracts/if-version";
import {
  addServer,
  connectServer,
  resetServer,
  updateServer,
  type ServerDeclaration,
  type ServerInfo,
} from "@switchyard/contracts/mcp-broker/mcp-servers";
import { storeFailureAs } from "@switchyard/service/store-error";
import { adoptClientKeys } from "@switchyard/project/mcp-servers/client-keys";
import type { ServerEntry } from "@switchyard/project/mcp-servers/server-config";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import { makeSameConnection } from "../declaration/live-fields.ts";
import { shownDeclaration } from "../declaration/shown-declaration.ts";
import type { RegistryRecord, RegistryStore } from "./registry-store.ts";
import type { ServerConnection } from "../connection/server-connection.ts";
import type { ServerPool } from "../connection/server-pool.ts";
import {
  byId,
  checked,
  invalid,
  isSameEntry,
  mergedEntries,
  refuseLiteralSecrets,
  warned,
} from "./server-entries.ts";

interface ChangeBy {
  /** A NATS user, or null for an edit of the file. */
  readonly by: string | null;
  /** Lets a server connect that was disconnected by hand. */
  readonly isResume?: boolean;
  readonly isEcho?: boolean;
  /** The change is for this version alone. */
  readonly ifVersion?: string | undefined;
}

export type RegistryChange = { readonly by: string | null } & (
  | { readonly kind: "added" | "updated"; readonly server: ServerInfo }
  | { readonly kind: "removed"; readonly serverId: string }
) & {
    /** True for a change that another broker made and reported. */
    readonly isEcho?: boolean;
  };

export interface ServerRegistryOptions {
  readonly pool: ServerPool;
  readonly store: RegistryStore;
  readonly records: ReadonlyMap<string, RegistryRecord>;
  readonly file: readonly ServerEntry[];
  readonly now: () => number;
  /** The file's entry of a server was edited, but a change over the bus takes precedence. */
  readonly onIgnoredEdit: (server: string) => void;
  /** Called with an error of background work. */
  readonly onTrouble: (error: unknown) => void;
}

/** More changed servers over the bus would be no configuration any more. */
const MAX_SERVERS = 256;

const fail = failuresOf({
  ...addServer.errors,
  ...updateServer.errors,
  ...resetServer.errors,
  ...connectServer.errors,
});

/**
 * The declared servers. The file declares them, and changes over the bus override the file: a server that was added or changed
 * there has origin `api`, and the file no longer affects it; a server of the file that was removed there stays removed until the
 * file no longer names it. Changes happen one after the other.
 */
export class ServerRegistry {
  readonly #options: ServerRegistryOptions;
  readonly #records: Map<string, RegistryRecord>;
  #file: ReadonlyMap<string, ServerEntry>;
  readonly #changes = new SerialQueue();
  readonly #listeners: ((change: RegistryChange) => void)[] = [];

  constructor(options: ServerRegistryOptions) {
    this.#options = options;
    this.#records = new Map(options.records);
    this.#file = byId(options.file);
  }

  /** Calls the listener for every change from now on. */
  listen(listener: (change: RegistryChange) => void): void {
    this.#listeners.push(listener);
  }

  /** Returns the time of the server's last change over the bus; null for one of the file. */
  updatedAt(id: string): string | null {
    return this.#records.get(id)?.updatedAt ?? null;
  }

  /**
   * Version of the declaration and its last change over the bus. Values of secrets are not part of it, so that it cannot be used
   * to guess them: the file's server with another secret is at the same version.
   */
  version(id: string): string {
    const { origin, declaration } = this.#options.pool.known(id).entry;
    return canonicalDigest([origin, shownDeclaration(declaration), this.updatedAt(id)]);
  }

  /** Adds a server and begins to connect it. */
  add(declaration: ServerDeclaration, by: string): Promise<ServerInfo> {
    return this.#changes.run(() => {
      const id = typeof declaration["id"] === "string" ? declaration["id"] : "";
      const entry = checked(id, declaration);
      refuseLiteralSecrets(entry.declaration);
      const { members } = this.#options.pool;
      if (members.some(({ connection }) => connection.entry.id === id))
        throw fail.server_exists(
          `MCP server ${id} exists already; change it with mcp.update, or remove it first.`,
          { server: id },
        );
      if (members.length >= MAX_SERVERS)
        throw invalid([`there are ${MAX_SERVERS} servers already; remove one first`]);
      return this.#keep(entry, { by });
    });
  }

  /** Checks the changed declaration as a whole. A server is connected anew only where its connection would be another one. */
  update(
    id: string,
    changes: ServerDeclaration,
    change: ChangeBy,
  ): Promise<{ readonly server: ServerInfo; readonly version: string }> {
    return this.#changes.run(async () => {
      const { declaration } = this.#options.pool.known(id).entry;
      this.#checkVersion(id, change);
      if ((changes["id"] ?? id) !== id) throw invalid(['"id" cannot be changed']);
      const adopted = adoptClientKeys(changes);
      if (adopted.problems.length > 0) throw invalid([...adopted.problems]);
      refuseLiteralSecrets({ ...adopted.declaration, id });
      const merged = mergeDeclaration({ ...declaration, id }, adopted.declaration);
      const server = await this.#keep(warned(checked(id, merged), adopted.warnings), change);
      return { server, version: this.version(id) };
    });
  }

  /** Deletes the changes that were made over the bus, a removal too. */
  reset(id: string, by: string): Promise<ServerInfo> {
    return this.#changes.run(async () => {
      const entry = this.#file.get(id);
      if (entry === undefined) {
        this.#options.pool.known(id);
        throw fail.not_in_file(
          `The server file has no MCP server ${id}: there is nothing to go back to.`,
          { server: id },
        );
      }
      await this.#write({ by }, id, null);
      return this.#place(entry, { by });
    });
  }

  /** Resolves when the server, its connection and its processes are gone. */
  async remove(id: string, change: ChangeBy): Promise<void> {
    const { gone } = await this.#changes.run(async () => {
      this.#checkVersion(id, change);
      const mark = { state: "removed", updatedAt: this.#later(null) } as const;
      await this.#write(change, id, this.#file.has(id) ? mark : null);
      // Not awaited here: the next change need not wait for this server's processes.
      return { gone: this.#drop(id, change) };
    });
    await gone;
  }

  /** Begins to connect, anew when it is connected. `attempt` resolves when the first attempt has ended. */
  connect(id: string, by: string): { connection: ServerConnection; attempt: Promise<void> } {
    const { entry } = this.#options.pool.known(id);
    if (entry.config?.enabled === false)
      throw fail.server_disabled(`MCP server ${id} is disabled; enable it first.`, { server: id });
    const change = { reason: `connected anew by ${by}`, heldBecause: null };
    const { connection } = this.#options.pool.put(entry, change);
    return { connection, attempt: connection.start() };
  }

  /** Resolves when the connection is gone; null for an unknown server. */
  async disconnect(id: string, by: string): Promise<ServerInfo | null> {
    const { pool } = this.#options;
    const member = pool.find(id);
    if (member === null) return null;
    const reason = `disconnected by ${by}`;
    const placed = pool.put(member.connection.entry, { reason, heldBecause: reason });
    await placed.predecessorEnded;
    return placed.connection.info;
  }

  /** The file has changed. Servers that are the same in both versions stay untouched. */
  reload(file: readonly ServerEntry[]): Promise<void> {
    return this.#changes.run(async () => {
      const before = this.#file;
      this.#file = byId(file);
      for (const [id, entry] of this.#file)
        if (this.#records.has(id) && !isSameEntry(before.get(id), entry))
          this.#options.onIgnoredEdit(id);
      await this.#forgetMarks().catch(this.#options.onTrouble);
      this.#apply({ by: null });
    });
  }

  /** Another broker has changed the records. They are read in turn, or a change made meanwhile would be lost. */
  follow(load: () => Promise<ReadonlyMap<string, RegistryRecord>>): Promise<void> {
    return this.#changes.run(async () => {
      this.#replace(await load());
    });
  }

  #replace(records: ReadonlyMap<string, RegistryRecord>): void {
    this.#records.clear();
    for (const [id, record] of records) this.#records.set(id, record);
    this.#apply({ by: null, isEcho: true });
  }

  /** Applies the servers of the file and the records. */
  #apply(change: ChangeBy): void {
    const { pool, onTrouble } = this.#options;
    const wanted = mergedEntries([...this.#file.values()], this.#records);
    const ids = new Set(wanted.map(({ id }) => id));
    for (const { connection } of pool.members)
      if (!ids.has(connection.entry.id)) this.#drop(connection.entry.id, change).catch(onTrouble);
    for (const entry of wanted) {
      const current = pool.find(entry.id)?.connection.entry;
      if (!isSameEntry(current, entry)) this.#place(entry, change);
    }
  }

  async #keep(checkedEntry: ServerEntry, change: ChangeBy): Promise<ServerInfo> {
    const { id, declaration, warnings } = checkedEntry;
    const entry = { ...checkedEntry, overridesFile: this.#file.has(id) };
    const updatedAt = this.#later(this.updatedAt(id));
    const notes = warnings.length === 0 ? {} : { warnings: [...warnings] };
    const record = { state: "set", declaration, updatedAt, ...notes } as const;
    await this.#write(change, id, record);
    return this.#place(entry, change);
  }

  #place(entry: ServerEntry, { by, isResume = false, isEcho = false }: ChangeBy): ServerInfo {
    const { pool, onTrouble } = this.#options;
    const before = pool.find(entry.id)?.connection;
    if (
      before !== undefined &&
      before.session !== null &&
      makeSameConnection(before.entry, entry)
    ) {
      pool.amend(entry);
      this.#report({ kind: "updated", server: before.info, by, isEcho });
      return before.info;
    }
    const wasUp = before !== undefined && isUp(before.info);
    const reason = by === null ? "its entry in the file changed" : `changed by ${by}`;
    const heldBecause = isResume ? null : (before?.heldBecause ?? null);
    const { connection } = pool.put(entry, { reason, heldBecause });
    if (wasUp || entry.config?.autoConnect) connection.start().catch(onTrouble);
    const kind = before === undefined ? "added" : "updated";
    this.#report({ kind, server: connection.info, by, isEcho });
    return connection.info;
  }

  #drop(id: string, { by, isEcho = false }: ChangeBy): Promise<void> {
    const { pool } = this.#options;
    const gone = pool.take(id, by === null ? "its entry left the file" : `removed by ${by}`);
    this.#report({ kind: "removed", serverId: id, by, isEcho });
    return gone;
  }

  #checkVersion(id: string, { ifVersion }: ChangeBy): void {
    const version = this.version(id);
    if (ifVersion !== undefined && ifVersion !== version) throw versionChanged(id, version);
  }

  /**
   * Redis first: a change that is answered is there after a restart. Nothing is written when the change is for a version that
   * another broker has changed since this one read its record.
   */
  async #write({ ifVersion }: ChangeBy, id: string, record: RegistryRecord | null): Promise<void> {
    const { store, pool } = this.#options;
    const expected = ifVersion === undefined ? undefined : { updatedAt: this.updatedAt(id) };
    if (!(await orUnavailable(() => store.write(id, record, expected)))) {
      this.#replace(await orUnavailable(() => store.load()));
      throw versionChanged(id, pool.find(id) === null ? null : this.version(id));
    }
    if (record === null) this.#records.delete(id);
    else this.#records.set(id, record);
  }

  /** A removal mark is obsolete when the file no longer names the server: naming it again is a new declaration. */
  async #forgetMarks(): Promise<void> {
    const done = [...this.#records]
      .filter(([id, { state }]) => state === "removed" && !this.#file.has(id))
      .map(([id]) => id);
    await this.#options.store.forget(done);
    for (const id of done) this.#records.delete(id);
  }

  /** The current time, or the next millisecond after a change that another broker's clock or the same millisecond put there. */
  #later(before: string | null): string {
    const after = before === null ? 0 : Date.parse(before) + 1;
    return new Date(Math.max(this.#options.now(), after)).toISOString();
  }

  #report(change: RegistryChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

function versionChanged(server: string, version: string | null): Error {
  return fail.version_changed(changedMessage(`MCP server ${server}`, version), { version });
}

function isUp({ status }: ServerInfo): boolean {
  return status === "connected" || status === "connecting";
}

const orUnavailable = storeFailureAs(({ message: cause }) =>
  fail.registry_unavailable(
    `The registry cannot be changed now: ${cause}; try again when Redis is up.`,
    { cause },
  ),
);

/** Fields whose keys are changed one by one: a client cannot send them whole without the secrets in them. */
const BY_KEY = new Set(["env", "headers"]);

/**
 * A declaration with some fields changed: a value replaces the field, null removes it. `env` and `headers` are changed in the
 * same way key by key. The id stays what it is.
 */
export function mergeDeclaration(declaration: JsonRecord, changes: JsonRecord): JsonRecord {
  const { id } = declaration;
  const merged = patched(declaration, changes, (field, before, after) =>
    BY_KEY.has(field) && isRecord(after)
      ? patched(isRecord(before) ? before : {}, after, (_key, _before, value) => value)
      : after,
  );
  return { ...merged, id };
}

function patched(
  before: JsonRecord,
  changes: JsonRecord,
  change: (key: string, before: unknown, after: unknown) => unknown,
): JsonRecord {
  const kept = Object.entries(before).filter(([key]) => !Object.hasOwn(changes, key));
  const changed = Object.entries(changes)
    .filter(([, value]) => value !== null)
    .map(([key, value]) => [key, change(key, before[key], value)] as const);
  return Object.fromEntries([...kept, ...changed]);
}
