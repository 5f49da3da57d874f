import { SerialQueue } from "@switchyard/contracts/serial-queue";
import { within } from "@switchyard/contracts/timeouts";
import type { Bus } from "@switchyard/bus/bus";
import type { Log } from "@switchyard/service/log";
import { startRounds, type Rounds } from "@switchyard/service/rounds";
import type { Account, Accounts } from "../accounts/accounts.ts";
import { deliverMessage, claimMs, TakenOver, type DeliverParts } from "./deliver-message.ts";
import type { SaidTexts } from "./said-texts.ts";
import type { SendRecord, StoredSend } from "./send-record.ts";
import { publishOutcome } from "./publish-outcome.ts";

export interface OutboxOptions extends DeliverParts {
  readonly bus: Bus;
  readonly accounts: Accounts;
  readonly log: Log;
  readonly said: SaidTexts;
  /** Adds a note about a message to the session of its chat. Rejects when it has to be retried. */
  readonly note: (record: SendRecord) => Promise<void>;
}

/** The outcome of a message, as far as it is known. */
export type Fate =
  | { readonly kind: "ended"; readonly record: SendRecord; readonly isReplay: boolean }
  | { readonly kind: "under-way"; readonly record: SendRecord }
  /** Its id is that of another message. */
  | { readonly kind: "conflict" };

const SWEEP_MS = 1_000;
const SWEEP_BATCH = 50;
const POLL_MS = 100;
/** The delay before a failed note is retried, and for how long retries continue. */
const NOTE_AGAIN_MS = 10_000;
const NOTE_MS = 3_600_000;

/**
 * Sends messages that are stored first. When a process dies, another one finds its messages, continues with those that were
 * certainly not sent, and repeats none that may have been.
 */
export class Outbox {
  readonly #options: OutboxOptions;
  readonly #turns = new SerialQueue();
  readonly #mine = new Set<string>();
  readonly #notes = new Map<string, Promise<void>>();
  readonly #rounds: Rounds;

  constructor(options: OutboxOptions) {
    this.#options = options;
    this.#rounds = startRounds({
      everyMs: SWEEP_MS,
      round: () => this.#sweep(),
      onError: (err) => options.log.warn({ err }, "abandoned sends not looked for"),
    });
  }

  /**
   * Sends a message, or returns the outcome of an existing one with its id. Waits at most until `deadline`; an unfinished send
   * continues in the background. Rejects when the store does not answer.
   */
  async send(account: Account, intent: SendRecord, deadline: number): Promise<Fate> {
    const { store } = this.#options;
    this.#mine.add(intent.sendId);
    const known = await store.create(intent, claimMs(this.#options)).catch((error: unknown) => {
      this.#mine.delete(intent.sendId);
      throw error;
    });
    if (known !== null) {
      this.#mine.delete(intent.sendId);
      if (known.record.digest !== intent.digest) return { kind: "conflict" };
      return this.#await(known, deadline);
    }
    const work = this.#work(account, { revision: 1, record: intent });
    return within(work, { ms: deadline - Date.now() }, () => ({
      kind: "under-way",
      record: intent,
    }));
  }

  /** Ends the search for abandoned messages, and waits for messages in flight. */
  async stop(): Promise<void> {
    await this.#rounds.stop();
    await this.#turns.settled();
    await Promise.all(this.#notes.values());
  }

  /** Sends in the order of the message's address. */
  #work(account: Account, begun: StoredSend): Promise<Fate> {
    const { record } = begun;
    const work = async (): Promise<Fate> => {
      try {
        const done = await deliverMessage(this.#options, account, begun);
        if (done.record.state === "open") return { kind: "under-way", record: done.record };
        await this.#report(done);
        return { kind: "ended", record: done.record, isReplay: false };
      } catch (error) {
        if (error instanceof TakenOver) return { kind: "under-way", record };
        throw error;
      } finally {
        this.#mine.delete(record.sendId);
      }
    };
    return this.#turns.run(work, placeOf(record));
  }

  /** Best effort: an outcome that is not published stays open, and the sweep publishes it. */
  async #report(done: StoredSend): Promise<void> {
    const { bus, store, now, log, said } = this.#options;
    const { record } = done;
    if (record.isTold) return this.#noteSoon(done);
    try {
      await said.remember(record);
      if (record.isAnnounced) await publishOutcome(bus, record, new Date(now()));
      const isNoted = record.isNoted || record.state !== "sent";
      const lookMs = isNoted ? null : NOTE_AGAIN_MS;
      const published = await store.change(done, { ...record, isTold: true, isNoted }, lookMs);
      if (published !== null) this.#noteSoon(published);
    } catch (err) {
      log.warn({ err, sendId: record.sendId }, "end of a send not published yet");
    }
  }

  /** The note runs in the background, and the message counts as sent whatever its outcome. */
  #noteSoon(published: StoredSend): void {
    const { sendId, isNoted } = published.record;
    if (isNoted || this.#notes.has(sendId)) return;
    const noting = this.#note(published).finally(() => this.#notes.delete(sendId));
    this.#notes.set(sendId, noting);
  }

  async #note(published: StoredSend): Promise<void> {
    const { store, note, now, log } = this.#options;
    const { record } = published;
    const { sendId } = record;
    try {
      const isNoted = await note(record).then(
        () => true,
        (err: unknown) => {
          const isOver = now() - Date.parse(record.at) > NOTE_MS;
          log.warn(
            { err, sendId },
            `message not added to the session of a chat${isOver ? "" : " yet"}`,
          );
          return isOver;
        },
      );
      await store.change(published, { ...record, isNoted }, isNoted ? null : NOTE_AGAIN_MS);
    } catch (err) {
      log.warn({ err, sendId }, "note about a message not written down");
    }
  }

  async #await(known: StoredSend, deadline: number): Promise<Fate> {
    let { record } = known;
    while (record.state === "open" && this.#options.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      record = (await this.#options.store.read(record.sendId))?.record ?? record;
    }
    return record.state === "open"
      ? { kind: "under-way", record }
      : { kind: "ended", record, isReplay: true };
  }

  /** Takes over abandoned messages, without waiting until they are sent. */
  async #sweep(): Promise<void> {
    const { store, log, holder, stopping } = this.#options;
    if (stopping.aborted) return;
    for (const sendId of await store.due(SWEEP_BATCH)) {
      if (this.#mine.has(sendId)) continue;
      const found = await store.read(sendId);
      if (found === null) continue;
      const account = this.#accountOf(found.record);
      const { record } = found;
      if (record.state !== "open") {
        await this.#report(found);
        continue;
      }
      const claimed = await store.change(found, { ...record, holder }, claimMs(this.#options));
      if (claimed === null || account === null) continue;
      log.info({ sendId, attempts: record.attempts }, "continues a send of another process");
      this.#mine.add(sendId);
      this.#work(account, claimed).catch((err: unknown) =>
        log.warn({ err, sendId }, "send interrupted; tried again later"),
      );
    }
  }

  /** Null for an account that is not in force: its messages wait for it. */
  #accountOf({ address }: SendRecord): Account | null {
    return this.#options.accounts.get(address.channel, address.accountId);
  }
}

function placeOf({ address }: SendRecord): string {
  const { channel, accountId, target } = address;
  return JSON.stringify([channel, accountId, target.kind, target.id]);
}
