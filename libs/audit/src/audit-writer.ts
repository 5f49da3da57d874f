import { within } from "@switchyard/contracts/timeouts";
import { randomBytes } from "node:crypto";
import {
  AUDIT_EVENT_OF,
  MAX_BLOCK_RECORDS,
  type AuditFact,
} from "@switchyard/contracts/policy/audit";
import { blockJson, sealRecord } from "@switchyard/contracts/policy/audit-chain";
import type { AuditRoom } from "./audit-room.ts";

/** A fact that got its number, and whose record may not have been made yet. */
export interface AuditEntry {
  /** `{writer}:{seq}`. */
  readonly ref: string;
  readonly seq: number;
  /** False as long as a change of the fact's source still reaches the record. */
  readonly isSealed: boolean;
}

/** The state of the audit of this process. */
export interface AuditState {
  /** Records that the stream does not have yet. */
  readonly waiting: number;
  /** Records that the stream has. */
  readonly stored: number;
  /** The reason why nothing may happen that would have to be recorded; null when it may. */
  readonly refusal: string | null;
}

/**
 * The chain of one process. Facts are numbered at once and written a moment later, many in a message, in their order and one message at a
 * time, so that recording costs a call next to nothing. While the stream refuses, records wait in memory; new facts are refused when that
 * has lasted too long or too many wait. See `decisions/015-audit.md`.
 */
export interface AuditWriter {
  readonly id: string;
  readonly state: AuditState;
  /**
   * Throws AuditUnavailableError while nothing may happen that would have to be recorded. Call it before the action. With `user` it counts
   * as one record of that user, and throws as well when that user has had its number in this hour, or has filled the stream.
   */
  admit(user?: string): void;
  /** `fact` is called when the record is made, within milliseconds; it must not throw. */
  append(fact: () => AuditFact): AuditEntry;
  /** Resolves when the stream has the record; rejects with AuditUnavailableError when the stream refuses for too long. */
  stored(entry: Pick<AuditEntry, "seq">): Promise<void>;
  /** Writes the waiting records, and gives up at the end of the time. Returns how many records are lost. */
  close(budgetMs: number): Promise<number>;
}

/** Nothing may happen now that would have to be recorded. */
export class AuditUnavailableError extends Error {
  override readonly name = "AuditUnavailableError";
}

export interface AuditWriterOptions {
  /** NATS user of the process. */
  readonly service: string;
  /** Stores the JSON of one block; a repeat with the same `messageId` must be dropped by the receiver. */
  readonly publish: (block: string, to: BlockTarget) => Promise<void>;
  /** The most records of one user in an hour by this process, so that no user fills the audit for all; 0 for no limit. */
  readonly perUserHour?: number;
  /** The room that is left in the stream, by user. */
  readonly room?: Pick<AuditRoom, "refusalOf" | "count">;
  /** For how long the stream may refuse until calls are refused, in milliseconds. */
  readonly giveUpAfterMs: number;
  /** The reason why a retry does not help against a failure, so that nothing is to happen from then on; null when it may help. */
  readonly refusalOf?: (error: unknown) => string | null;
  /** Called with the first failure in a row, and on the first success after it. */
  readonly onTrouble: (error: unknown) => void;
  readonly onRecovered: () => void;
  /** Called for every block that was stored. */
  readonly onStored?: (head: { readonly seq: number; readonly hash: string }) => void;
}

export interface BlockTarget {
  readonly kind: AuditFact["kind"];
  readonly messageId: string;
}

/**
 * Facts wait this long for others to share a message with. Each message wakes processes on both sides: with 10 ms all of them together
 * took a tenth of the processor time of a brokered call.
 */
const GATHER_MS = 50;
const RETRY_MS = 250;
const HOUR_MS = 3_600_000;
const MAX_WAITING = 20_000;
/** The most of one message, estimated from its JSON text; the stream accepts 1 MiB. */
const MAX_BLOCK_CHARS = 256 * 1024;
/** The most of all waiting records together. */
const MAX_WAITING_CHARS = 64 * 1024 * 1024;

/** One for each decision and call. A class, because objects with a getter of their own are made slowly. */
class NumberedFact implements AuditEntry {
  readonly seq: number;
  /** In milliseconds since the epoch. */
  readonly at: number;
  readonly fact: () => AuditFact;
  isSealed = false;
  readonly #writer: string;

  constructor(writer: string, seq: number, fact: () => AuditFact) {
    this.seq = seq;
    this.at = Date.now();
    this.fact = fact;
    this.#writer = writer;
  }

  get ref(): string {
    return `${this.#writer}:${this.seq}`;
  }
}

interface Sealed {
  readonly block: string;
  readonly target: BlockTarget;
  readonly last: { readonly seq: number; readonly hash: string };
}

/** Each writer has a name of its own, so no chain is ever continued by another process. */
export function createAuditWriter(options: AuditWriterOptions): AuditWriter {
  return new ChainWriter(options);
}

/** The event of a fact; facts of one event may share a message. */
function subjectOf(kind: AuditFact["kind"]): string {
  return AUDIT_EVENT_OF[kind].name;
}

class ChainWriter implements AuditWriter {
  readonly id: string;
  readonly #options: AuditWriterOptions;
  #numbered: NumberedFact[] = [];
  readonly #sealed: Sealed[] = [];
  #chars = 0;
  #seq = 0;
  #storedSeq = 0;
  #hash: string | null = null;
  /** The time of the first failure in a row, on a monotonic clock. */
  #failingSince: number | null = null;
  /** The reason of the last failure against which a retry does not help. */
  #refused: string | null = null;
  #pumping: Promise<void> | null = null;
  /** Ends a pause in which facts gather; `#hurry` ends any pause. */
  #wake: (() => void) | null = null;
  #hurry: (() => void) | null = null;
  #isClosing = false;
  readonly #admitted = new Map<string, number>();
  #hour = 0;
  #waiters: { seq: number; done: PromiseWithResolvers<void> }[] = [];

  constructor(options: AuditWriterOptions) {
    this.#options = options;
    this.id = `${options.service}-${randomBytes(8).toString("hex")}`;
  }

  get state(): AuditState {
    const waiting = this.#seq - this.#storedSeq;
    return { waiting, stored: this.#storedSeq, refusal: this.#refusal() };
  }

  admit(user?: string): void {
    const refusal = this.#refusal();
    if (refusal !== null) throw new AuditUnavailableError(refusal);
    if (user === undefined) return;
    const { room } = this.#options;
    const full = room?.refusalOf(user) ?? null;
    if (full !== null) throw new AuditUnavailableError(full);
    this.#count(user);
    room?.count(user);
  }

  append(fact: () => AuditFact): AuditEntry {
    this.#seq += 1;
    const numbered = new NumberedFact(this.id, this.#seq, fact);
    this.#numbered.push(numbered);
    this.#pumping ??= this.#pump();
    return numbered;
  }

  stored({ seq }: Pick<AuditEntry, "seq">): Promise<void> {
    if (seq <= this.#storedSeq) return Promise.resolve();
    const refusal = this.#refusal();
    if (refusal !== null) return Promise.reject(new AuditUnavailableError(refusal));
    const done = Promise.withResolvers<void>();
    this.#waiters.push({ seq, done });
    this.#wake?.();
    return done.promise;
  }

  async close(budgetMs: number): Promise<number> {
    this.#isClosing = true;
    this.#hurry?.();
    await within(this.#pumping ?? Promise.resolve(), { ms: budgetMs });
    this.#rejectWaiters("the process stops");
    return this.#seq - this.#storedSeq;
  }

  #count(user: string): void {
    const limit = this.#options.perUserHour ?? 0;
    if (limit === 0) return;
    const hour = Math.floor(Date.now() / HOUR_MS);
    if (hour !== this.#hour) this.#admitted.clear();
    this.#hour = hour;
    const count = this.#admitted.get(user) ?? 0;
    if (count >= limit) {
      const next = new Date((hour + 1) * HOUR_MS).toISOString();
      throw new AuditUnavailableError(
        `${user} has had the ${limit} audit records of an hour, its calls continue at ${next}`,
      );
    }
    this.#admitted.set(user, count + 1);
  }

  #refusal(): string | null {
    if (this.#seq - this.#storedSeq >= MAX_WAITING || this.#chars >= MAX_WAITING_CHARS)
      return `${this.#seq - this.#storedSeq} audit records wait to be stored`;
    if (this.#failingSince === null) return null;
    if (this.#refused !== null) return this.#refused;
    const forMs = performance.now() - this.#failingSince;
    if (forMs < this.#options.giveUpAfterMs) return null;
    return `audit records could not be stored for ${Math.round(forMs / 1_000)} s`;
  }

  /** Runs as long as there is something to store; never rejects. */
  async #pump(): Promise<void> {
    while (this.#numbered.length > 0 || this.#sealed.length > 0) {
      const hasMany = this.#numbered.length >= MAX_BLOCK_RECORDS || this.#sealed.length > 0;
      if (!hasMany && this.#waiters.length === 0 && !this.#isClosing) await this.#pause(GATHER_MS);
      this.#seal();
      const [next] = this.#sealed;
      if (next !== undefined) await this.#store(next);
    }
    this.#pumping = null;
  }

  async #store(next: Sealed): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.#options.publish(next.block, next.target);
    } catch (error) {
      if (this.#failingSince === null) {
        this.#failingSince = startedAt;
        this.#options.onTrouble(error);
      }
      this.#refused = this.#options.refusalOf?.(error) ?? null;
      const refusal = this.#refusal();
      if (refusal !== null) this.#rejectWaiters(refusal);
      return this.#pause(RETRY_MS);
    }
    this.#sealed.shift();
    this.#chars -= next.block.length;
    this.#storedSeq = next.last.seq;
    if (this.#failingSince !== null) this.#options.onRecovered();
    this.#failingSince = null;
    this.#options.onStored?.(next.last);
    this.#resolveWaiters();
  }

  /** Makes the records of all numbered facts, and blocks of them. */
  #seal(): void {
    const numbered = this.#numbered;
    this.#numbered = [];
    const { service } = this.#options;
    let open: OpenBlock | null = null;
    let time = { ms: Number.NaN, text: "" };
    for (const entry of numbered) {
      const { seq, fact } = entry;
      if (entry.at !== time.ms) time = { ms: entry.at, text: new Date(entry.at).toISOString() };
      const at = time.text;
      entry.isSealed = true;
      const content = fact();
      const prev = this.#hash;
      const place = { v: 1, service, writer: this.id, prev } as const;
      const { hash, json } = sealRecord(place, { seq, at, ...content });
      const fits =
        open !== null &&
        subjectOf(open.kind) === subjectOf(content.kind) &&
        open.records.length < MAX_BLOCK_RECORDS &&
        open.chars + json.length <= MAX_BLOCK_CHARS;
      if (open === null || !fits) {
        if (open !== null) this.#push(open);
        open = { prev, kind: content.kind, records: [], chars: 0, first: seq, last: { seq, hash } };
      }
      open.records.push(json);
      open.chars += json.length;
      open.last = { seq, hash };
      this.#hash = hash;
    }
    if (open !== null) this.#push(open);
  }

  #push({ prev, kind, records, first, last }: OpenBlock): void {
    const block = blockJson({ service: this.#options.service, writer: this.id, prev }, records);
    const target = { kind, messageId: `${this.id}:${first}` };
    this.#sealed.push({ block, target, last });
    this.#chars += block.length;
  }

  #resolveWaiters(): void {
    const done = this.#waiters.filter(({ seq }) => seq <= this.#storedSeq);
    if (done.length === 0) return;
    this.#waiters = this.#waiters.filter(({ seq }) => seq > this.#storedSeq);
    for (const waiter of done) waiter.done.resolve();
  }

  #rejectWaiters(reason: string): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { done } of waiters) done.reject(new AuditUnavailableError(reason));
  }

  /** Ends early when the process stops; a pause to gather also when a caller waits for a record. */
  async #pause(ms: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = setTimeout(over.resolve, ms);
    this.#hurry = over.resolve;
    if (ms === GATHER_MS) this.#wake = over.resolve;
    await over.promise;
    clearTimeout(timer);
    this.#wake = null;
    this.#hurry = null;
  }
}

interface OpenBlock {
  readonly prev: string | null;
  readonly kind: AuditFact["kind"];
  /** The JSON of each record. */
  readonly records: string[];
  chars: number;
  /** Number of the first record. */
  readonly first: number;
  last: Sealed["last"];
}
