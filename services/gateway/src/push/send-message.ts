import { createHash } from "node:crypto";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import { postWebhook } from "@switchyard/service/network/post-webhook";
import { encryptMessage } from "./encrypt-message.ts";
import type { Note } from "./notes-of-events.ts";
import { isAtPushService } from "./push-services.ts";
import type { PushTarget } from "./push-store.ts";
import type { VapidKey } from "./vapid-key.ts";

export type PushOutcome =
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
export async function sendMessage(
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
