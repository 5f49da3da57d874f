import { canonicalDigest, canonicalJson } from "@switchyard/contracts/canonical-json";
import type { PinState } from "@switchyard/contracts/mcp-broker/mcp-pins";
import { SerialQueue } from "@switchyard/contracts/serial-queue";
import { StoreError } from "@switchyard/service/store-error";
import { isRecord, type JsonRecord } from "@switchyard/contracts/json-record";
import type { TrustSetting } from "@switchyard/project/mcp-servers/server-config";
import {
  approveTools,
  blockTools,
  droppablePins,
  seeTool,
  type Decided,
  type Refusal,
  type SeenTool,
} from "./decide-pins.ts";
import { stateOf, type PinRecord } from "./pin-record.ts";
import { type PinStore, type StoredPins } from "./pin-store.ts";
import { haveSameShape } from "./tool-shape.ts";

/** The tools of a server as it lists them now. */
export interface Sighting {
  readonly server: string;
  readonly trust: TrustSetting;
  readonly identity: unknown;
  readonly tools: readonly (SeenTool & { readonly definition: JsonRecord })[];
}

/** Records that were written here, with the user; null for those that the trust setting and findings decided. */
export interface PinsWritten {
  readonly server: string;
  readonly records: readonly PinRecord[];
  readonly by: string | null;
}

export interface ServerPinsOptions {
  readonly store: PinStore;
  readonly now: () => number;
  readonly onWritten: (written: PinsWritten) => void;
  /** Called when the states of a server's tools may have changed. */
  readonly onView: (server: string) => void;
  readonly onTrouble: (server: string, problem: unknown) => void;
}

type Written = { readonly count: number } | { readonly refusal: Refusal };
export type PinChange = (
  records: ReadonlyMap<string, PinRecord>,
  now: string,
) => Decided | Promise<Decided>;

/** The most pins of one server. Those of tools that it no longer lists are dropped when a new one needs the room. */
const MAX_PINS = 20_000;
const MAX_ATTEMPTS = 10;
/** Records in one write: each has its definition with it, and Redis does nothing else meanwhile. */
const BATCH = 250;

/**
 * Holds which definitions of which tools are approved. Loaded pins are answered from memory; a tool without a loaded pin is not
 * approved, so while Redis is down no new tool and no changed one gets in.
 */
export class ServerPins {
  readonly #options: ServerPinsOptions;
  readonly #known = new Map<string, StoredPins>();
  /** Sightings that could not be written, to be retried. */
  readonly #unwritten = new Map<string, Sighting>();
  readonly #queue = new SerialQueue();
  /** Reloads that have not begun: one serves all notifications until then. */
  readonly #reloads = new Map<string, Promise<void>>();

  constructor(options: ServerPinsOptions) {
    this.#options = options;
  }

  stateOf(server: string, tool: string, pin: string): PinState {
    return stateOf(this.#known.get(server)?.records.get(tool), pin);
  }

  /** Compares what a server lists with its pins, and writes what is new. Never rejects. */
  async see(sighting: Sighting): Promise<void> {
    const { server } = sighting;
    try {
      await this.#inTurn(server, () =>
        this.#write(
          server,
          null,
          async (records, now) => {
            const reworded = await this.#reworded(records, sighting);
            return news(records, sighting, { now, reworded });
          },
          sighting,
        ),
      );
      this.#unwritten.delete(server);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#unwritten.set(server, sighting);
      this.#options.onTrouble(server, error);
    }
    const unpinned = sighting.tools.filter(
      ({ name }) => !this.#known.get(server)?.records.has(name),
    );
    if (unpinned.length > 0 && !this.#unwritten.has(server))
      this.#options.onTrouble(
        server,
        `${unpinned.length} tools are beyond the ${MAX_PINS} pins that a server may have`,
      );
  }

  /** The approved tools of a server, as far as they are loaded. Never rejects. */
  async approvedTools(server: string): Promise<string[]> {
    if (!this.#known.has(server)) {
      try {
        await this.#load(server);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error; // the sighting is retried when Redis is back
      }
    }
    const records = this.#known.get(server)?.records.values() ?? [];
    return [...records].flatMap(({ tool, approved }) => (approved === null ? [] : [tool]));
  }

  /** The pins as Redis has them now. Rejects with StoreError. */
  async read(server: string): Promise<ReadonlyMap<string, PinRecord>> {
    return (await this.#options.store.load(server)).records;
  }

  /** The approved and the listed definition, each null when it does not exist. Rejects with StoreError. */
  async definitions(
    server: string,
    record: PinRecord,
  ): Promise<{ before: unknown; after: unknown }> {
    const digests = [record.approved?.digest ?? "", record.digest];
    const [before = null, after = null] = await this.#options.store.definitions(server, digests);
    return {
      before: before === null ? null : JSON.parse(before),
      after: after === null ? null : JSON.parse(after),
    };
  }

  /** Applies a change of pins that a user requested. Rejects with StoreError. */
  async change(server: string, by: string, change: PinChange): Promise<Written> {
    return this.#inTurn(server, () => this.#write(server, by, change));
  }

  /**
   * Reads the pins of a server that a broker wrote. A broker receives its own writes, too, and one for each part of a long
   * listing, so pins at a revision that is already loaded are not read again. Never rejects.
   */
  async reload(server: string): Promise<void> {
    await this.#reload(server, { isGap: false });
  }

  /** Reads the pins of all servers: notifications may have been missed, and Redis may have lost what it had. */
  reloadAll(): void {
    for (const server of new Set([...this.#known.keys(), ...this.#unwritten.keys()]))
      void this.#reload(server, { isGap: true });
  }

  async #reload(server: string, { isGap }: { isGap: boolean }): Promise<void> {
    const unwritten = this.#unwritten.get(server);
    if (unwritten !== undefined) {
      await this.see(unwritten);
      this.#options.onView(server);
      return;
    }
    const known = this.#known.get(server);
    if (known === undefined) return;
    try {
      if (isGap) return await this.#load(server);
      const waiting = this.#reloads.get(server);
      if (waiting !== undefined) return await waiting;
      const reload = this.#inTurn(server, async () => {
        this.#reloads.delete(server);
        const revision = await this.#options.store.revision(server);
        if (revision !== this.#known.get(server)?.revision)
          this.#learn(server, await this.#options.store.load(server));
      });
      this.#reloads.set(server, reload);
      await reload;
    } catch (error) {
      this.#options.onTrouble(server, error);
    }
  }

  async #write(
    server: string,
    by: string | null,
    change: PinChange,
    sighting?: Sighting,
  ): Promise<Written> {
    const written: PinRecord[] = [];
    const definitions = new Map(sighting?.tools.map((tool) => [tool.pin, tool.definition]));
    const decide = (stored: StoredPins) =>
      change(stored.records, new Date(this.#options.now()).toISOString());
    try {
      let stored = await this.#options.store.load(server);
      let decided = await decide(stored);
      for (let conflicts = 0; "changed" in decided && decided.changed.length > 0;) {
        const { changed, dropped = [] }: Change = decided;
        // There are never more dropped records than new ones.
        const batch = { changed: changed.slice(0, BATCH), dropped: dropped.slice(0, BATCH) };
        if (
          await this.#options.store.commit(
            server,
            commitOf(stored, batch, { identity: sighting?.identity, definitions }),
          )
        ) {
          written.push(...batch.changed);
          stored = afterCommit(stored, batch);
          decided = { changed: changed.slice(BATCH), dropped: dropped.slice(BATCH) };
          continue;
        }
        conflicts += 1;
        if (conflicts >= MAX_ATTEMPTS)
          throw new StoreError("other brokers wrote the pins again and again");
        stored = await this.#options.store.load(server);
        decided = await decide(stored);
      }
      this.#learn(server, stored);
      return "refusal" in decided ? decided : { count: written.length };
    } finally {
      if (written.length > 0) this.#options.onWritten({ server, records: written, by });
    }
  }

  /** The listed tools whose approved definitions differ in their texts alone, where that is a reason to accept them. */
  async #reworded(
    records: ReadonlyMap<string, PinRecord>,
    { server, trust, tools }: Sighting,
  ): Promise<ReadonlySet<string>> {
    if (trust !== "pin-schema") return new Set();
    const changed = tools.flatMap((tool) => {
      const approved = records.get(tool.name)?.approved?.digest;
      return approved === undefined || approved === tool.pin ? [] : [{ tool, approved }];
    });
    const digests = changed.map(({ approved }) => approved);
    const texts = await this.#options.store.definitions(server, digests);
    const same = changed.filter(({ tool }, index) => {
      const kept: unknown = JSON.parse(texts[index] ?? "null");
      return isRecord(kept) && haveSameShape(kept["definition"], tool.definition);
    });
    return new Set(same.map(({ tool }) => tool.name));
  }

  #load(server: string): Promise<void> {
    return this.#inTurn(server, async () =>
      this.#learn(server, await this.#options.store.load(server)),
    );
  }

  #inTurn<T>(server: string, work: () => Promise<T>): Promise<T> {
    return this.#queue.run(work, server);
  }

  #learn(server: string, stored: StoredPins): void {
    this.#known.set(server, stored);
    this.#options.onView(server);
  }
}

export const approving =
  (approval: Omit<Parameters<typeof approveTools>[1], "now">): PinChange =>
  (records, now) =>
    approveTools(records, { ...approval, now });

export const blocking =
  (block: Omit<Parameters<typeof blockTools>[1], "now">): PinChange =>
  (records, now) =>
    blockTools(records, { ...block, now });

function news(
  records: ReadonlyMap<string, PinRecord>,
  { trust, tools }: Sighting,
  { now, reworded }: { now: string; reworded: ReadonlySet<string> },
): Required<Change> {
  const listed = new Set(tools.map(({ name }) => name));
  const added = tools.filter(({ name }) => !records.has(name)).length;
  const dropped = droppablePins(records, { listed, count: records.size + added - MAX_PINS });
  let room = MAX_PINS - records.size + dropped.length;
  const listing = listingDigest(tools);
  const isFirst = isFirstListing(records, listing);
  const changed: PinRecord[] = [];
  for (const tool of tools) {
    const record = records.get(tool.name);
    if (record === undefined && room <= 0) continue;
    const isSameShape = reworded.has(tool.name);
    const next = seeTool(record, tool, { trust, isSameShape, isLater: !isFirst, now });
    if (next === null) continue;
    if (record === undefined) room -= 1;
    changed.push(record === undefined && isFirst ? { ...next, firstListing: listing } : next);
  }
  return { changed, dropped };
}

/** A long listing is written in parts, perhaps by several brokers: with a part of it there it is still the first one. */
function isFirstListing(records: ReadonlyMap<string, PinRecord>, listing: string): boolean {
  if (records.size === 0) return true;
  return [...records.values()].some(({ firstListing }) => firstListing === listing);
}

function listingDigest(tools: Sighting["tools"]): string {
  return canonicalDigest(tools.map(({ pin }) => pin).toSorted());
}

type Change = Extract<Decided, { readonly changed: unknown }>;

function afterCommit({ revision, records }: StoredPins, batch: Required<Change>): StoredPins {
  const after = new Map(records);
  for (const { tool } of batch.dropped) after.delete(tool);
  for (const record of batch.changed) after.set(record.tool, record);
  return { revision: String(Number(revision) + 1), records: after };
}

function commitOf(
  stored: StoredPins,
  { changed: batch, dropped: removed }: Required<Change>,
  {
    identity,
    definitions,
  }: { readonly identity: unknown; readonly definitions: ReadonlyMap<string, JsonRecord> },
) {
  const dropped = batch.flatMap(({ tool, digest, approved }) => {
    const before = stored.records.get(tool);
    return [before?.digest, before?.approved?.digest].flatMap((one) =>
      one === undefined || one === digest || one === approved?.digest ? [] : [one],
    );
  });
  return {
    revision: stored.revision,
    records: batch,
    definitions: batch.flatMap(({ digest }) => {
      const definition = definitions.get(digest);
      return definition === undefined
        ? []
        : [{ digest, text: canonicalJson({ definition, identity }) }];
    }),
    dropped: [...dropped, ...removed.flatMap(digestsOf)],
    removed: removed.map(({ tool }) => tool),
  };
}

function digestsOf({ digest, approved }: PinRecord): string[] {
  return approved === null ? [digest] : [digest, approved.digest];
}
