import { createHash } from "node:crypto";
import { call } from "@switchyard/bus/call";
import type { Bus } from "@switchyard/bus/bus";
import { ServiceError } from "@switchyard/contracts/errors";
import { approvalStates } from "@switchyard/contracts/policy/approvals";
import { refusalOf } from "@switchyard/contracts/user-roles";
import { constant } from "@switchyard/service/constant";
import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { SealError } from "@switchyard/service/secret-cipher";
import { postWebhook } from "@switchyard/service/network/post-webhook";
import type { User, UserCache } from "../identity/user-cache.ts";
import type { OnRead } from "../subscriptions/read-events.ts";
import { noteOf, type Note } from "./notes-of-events.ts";
import type { PushKeys } from "./push-keys.ts";
import { contextOf, type PushedBrowser, type PushStore, type PushTarget } from "./push-store.ts";
import { encryptMessage } from "./encrypt-message.ts";
import type { VapidKey } from "./vapid-key.ts";

export interface NotifyParts {
  readonly bus: Bus;
  readonly store: PushStore;
  readonly guard: EgressGuard;
  readonly users: Pick<UserCache, "identify">;
  /** Null where web push is not possible: what is stored is removed. */
  readonly keys: PushKeys | null;
  readonly log: Log;
  readonly now: () => number;
}

/** One note on its way to one browser. */
interface Message {
  readonly note: Note;
  readonly session: string;
  readonly attempts: number;
}

/** A note is of no use later: the person sees the inbox, or was notified otherwise. */
const noteMs = (): number => constant("pushNoteMs", 600_000);
const ATTEMPTS = 4;
const AT_ONCE = 32;
const MOST_WAITING = 10_000;

/**
 * Sends notes of events to browsers, on the replica that reads events. Notes are kept in memory alone: those of a process that dies are
 * lost, as are those above a limit.
 */
export function notifyBrowsers(parts: NotifyParts): { notify: OnRead; stop(): Promise<void> } {
  const { store, log, now } = parts;
  const ending = new AbortController();
  const { signal } = ending;
  const waiting: Message[] = [];
  const underWay = new Set<Promise<void>>();
  let reading = Promise.resolve();

  const begin = (): void => {
    while (underWay.size < AT_ONCE && !signal.aborted) {
      const message = waiting.shift();
      if (message === undefined) return;
      const work = send(message).finally(() => {
        underWay.delete(work);
        begin();
      });
      underWay.add(work);
    }
  };
  const send = async (message: Message): Promise<void> => {
    try {
      const waitMs = await attempt(parts, message, signal);
      if (waitMs !== null) again({ ...message, attempts: message.attempts + 1 }, waitMs);
    } catch (err) {
      log.warn({ err }, "web push not sent");
    }
  };
  const add = (message: Message): void => {
    if (waiting.length < MOST_WAITING) waiting.push(message);
    else log.warn({ count: MOST_WAITING }, "web push dropped, too much waits");
  };
  const again = (message: Message, waitMs: number): void => {
    setTimeout(() => {
      add(message);
      begin();
    }, waitMs).unref();
  };
  const read = async (...[events, agentOf]: Parameters<OnRead>): Promise<void> => {
    const fresh = events.filter(({ time }) => now() - time.getTime() < noteMs());
    const notes = (await Promise.all(fresh.map((event) => noteOf(event, agentOf)))).filter(
      (note) => note !== null,
    );
    if (notes.length === 0) return;
    const browsers = await store.list();
    for (const note of notes)
      for (const { session, owner } of browsers)
        if (!("owner" in note.for) || note.for.owner === owner) add({ note, session, attempts: 0 });
    begin();
  };
  return {
    notify(events, agentOf) {
      reading = reading
        .then(() => (signal.aborted ? undefined : read(events, agentOf)))
        .catch((err: unknown) => log.warn({ err }, "web push not sent"));
    },
    async stop() {
      ending.abort();
      await reading;
      await Promise.all(underWay);
    },
  };
}

/** Makes one attempt. Resolves with the time until the next one; null when there is none. */
async function attempt(
  parts: NotifyParts,
  { note, session, attempts }: Message,
  signal: AbortSignal,
): Promise<number | null> {
  const { store, guard, keys, log, now } = parts;
  const endsAt = note.at + noteMs();
  const browser = await store.find(session);
  if (browser === null || now() >= endsAt) return null;
  const { owner } = browser;
  const later = (waitMs: number, reason: string): number | null => {
    const pause = Math.max(waitMs, constant("pushRetryMs", 5_000) * 4 ** attempts);
    if (attempts + 1 < ATTEMPTS && now() + pause < endsAt) return pause;
    log.warn({ owner, reason }, "web push given up");
    return null;
  };
  const target = openTarget(keys, browser);
  const key = keys?.vapid.find(({ publicKey }) => publicKey === target?.publicKey);
  // Without its key the subscription is of no use; the page subscribes again when it is opened.
  if (target === null || key === undefined) return end(parts, browser, "its key is gone");
  try {
    const user = await parts.users.identify(target.sessionKey);
    if (!(await mayBeNotified(parts.bus, note, user))) return null;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.code === "bad_credential"
      ? end(parts, browser, "the session has ended")
      : later(0, error.message);
  }
  const sent = await sendMessage(note, target, { guard, key, nowMs: now(), endsAt, signal });
  if (sent.outcome === "gone") return end(parts, browser, "the push service has it no more");
  if (sent.outcome === "later") return signal.aborted ? null : later(sent.waitMs, sent.reason);
  if (sent.outcome === "refused") log.warn({ owner, reason: sent.reason }, "web push refused");
  return null;
}

/** Checked for each message: roles, settings and rules change, and another person may have decided. */
async function mayBeNotified(bus: Bus, note: Note, user: User): Promise<boolean> {
  if (refusalOf(note.needs, user) !== null) return false;
  if ("owner" in note.for) return note.for.owner === user.caller;
  const ids = [note.for.approvalId];
  const { approvals } = await call(bus, approvalStates, { ids }, { userToken: user.token });
  return approvals[0]?.mayDecide === true;
}

/** Null when no key opens it. */
function openTarget(keys: PushKeys | null, { session, sealed }: PushedBrowser): PushTarget | null {
  try {
    const text = keys?.cipher.open(sealed, contextOf(session));
    return text === undefined ? null : (JSON.parse(text) as PushTarget); // Only start-push.ts seals.
  } catch (error) {
    if (error instanceof SealError) return null;
    throw error;
  }
}

async function end({ store, log }: NotifyParts, browser: PushedBrowser, reason: string) {
  if (await store.drop(browser)) log.info({ owner: browser.owner, reason }, "web push ended");
  return null;
}

type PushOutcome =
  | { readonly outcome: "sent" }
  /** The subscription has ended. */
  | { readonly outcome: "gone" }
  /** `waitMs`: how long the push service wants the sender to wait; 0 when it states nothing. */
  | { readonly outcome: "later"; readonly waitMs: number; readonly reason: string }
  | { readonly outcome: "refused"; readonly reason: string };

interface Sender {
  readonly guard: EgressGuard;
  readonly key: VapidKey;
  readonly nowMs: number;
  /** The end of the note, in milliseconds since 1970: the push service keeps the message so long. */
  readonly endsAt: number;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 10_000;
/** Texts are padded to this size. Push services take 4,096 bytes of a whole message (https://www.rfc-editor.org/rfc/rfc8030#section-7.2). */
const PADDED_BYTES = 1_024;

/** Posts a note once, as https://www.rfc-editor.org/rfc/rfc8030#section-5 describes. Never rejects. */
async function sendMessage(
  { shown }: Pick<Note, "shown">,
  { endpoint, p256dh, auth }: PushTarget,
  { guard, key, nowMs, endsAt, signal }: Sender,
): Promise<PushOutcome> {
  const url = new URL(endpoint);
  // The list may have become shorter since the browser subscribed.
  if (!isAtPushService(url)) return { outcome: "gone" };
  const browser = {
    p256dh: Buffer.from(p256dh, "base64url"),
    auth: Buffer.from(auth, "base64url"),
  };
  const text = Buffer.from(JSON.stringify(shown));
  const sent = await postWebhook({
    guard,
    url: endpoint,
    body: encryptMessage(text, browser, { paddedBytes: PADDED_BYTES }),
    headers: {
      "user-agent": "switchyard-push",
      "content-type": "application/octet-stream",
      "content-encoding": "aes128gcm",
      authorization: key.authorization(url, nowMs),
      ttl: String(Math.max(0, Math.ceil((endsAt - nowMs) / 1_000))),
      urgency: "high",
      // A message that still waits for the browser is replaced by a later one about the same thing.
      topic: createHash("sha256").update(shown.id).digest("base64url").slice(0, 32),
    },
    signing: null,
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  if (sent.kind === "refused") return { outcome: "refused", reason: sent.error.message };
  if (sent.kind !== "answered")
    return { outcome: "later", waitMs: 0, reason: `${url.host} cannot be reached from here` };
  const { status } = sent;
  const reason = `${url.host} answered ${status}`;
  if (status >= 200 && status < 300) return { outcome: "sent" };
  if (status === 404 || status === 410) return { outcome: "gone" };
  if (status === 429 || status >= 500)
    return { outcome: "later", waitMs: sent.retryAfterMs ?? 0, reason };
  return { outcome: "refused", reason };
}

/** The origins of the browser makers' push services: Google (also Edge on some systems), Mozilla, Apple and Microsoft. */
const ORIGINS = [
  "https://fcm.googleapis.com",
  "https://updates.push.services.mozilla.com",
  "https://*.push.apple.com",
  "https://*.notify.windows.com",
].join(" ");

/**
 * True for an address at a known push service. A browser chooses the address, and a viewer may send it, so the gateway
 * posts to no other host.
 */
export function isAtPushService(url: URL): boolean {
  if (url.username !== "" || url.password !== "") return false;
  return constant("pushOrigins", ORIGINS)
    .split(" ")
    .some((origin) => {
      const [scheme = "", suffix] = origin.split("*");
      if (suffix === undefined) return url.origin === origin;
      return url.origin.startsWith(scheme) && url.origin.endsWith(suffix);
    });
}
