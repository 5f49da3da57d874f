import { rpc } from "@switchyard/contracts/define";
import { storeUnavailable } from "@switchyard/contracts/store-errors";
import { z } from "zod";

// Web push of the console. Like webhooks, these operations have the form of contracts and are answered by the gateway.

/** The keys of a browser's subscription in base64url, https://www.rfc-editor.org/rfc/rfc8291#section-3.1. */
const PushKeys = z.strictObject({
  /** The browser's public key: an uncompressed point of P-256. */
  p256dh: z.base64url().length(87),
  /** The authentication secret. */
  auth: z.base64url().length(22),
});

const unavailable = {
  /** The gateway has no key for subscriptions, or pages reach it without https. */
  push_disabled: { data: z.object({ reason: z.string() }) },
  /** The credential is not the session of a browser. */
  session_required: { data: z.object({ credential: z.string() }) },
  store_unavailable: storeUnavailable,
} as const;

export const getPush = rpc({
  subject: "yard.rpc.{caller}.push.get",
  summary: "Returns the key with which a browser subscribes to web push; null where there is none.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({ publicKey: z.string().nullable() }),
  errors: {},
});

export const setPush = rpc({
  subject: "yard.rpc.{caller}.push.set",
  summary: "Notifies the browser of this session by web push, until the session ends.",
  role: "viewer",
  request: z.strictObject({
    /** An address at the push service of the browser's maker. */
    endpoint: z.url().max(2_048),
    keys: PushKeys,
    /** `publicKey` of `push.get`, with which the browser subscribed. */
    publicKey: z.base64url().length(87),
  }),
  reply: z.object({ isOn: z.literal(true) }),
  errors: {
    ...unavailable,
    /** The endpoint is at no known push service, or the keys are no keys. */
    invalid_subscription: { data: z.object({ reason: z.string() }) },
  },
});

export const removePush = rpc({
  subject: "yard.rpc.{caller}.push.remove",
  summary: "Notifies the browser of this session no more.",
  role: "viewer",
  request: z.strictObject({}),
  reply: z.object({ isOn: z.literal(false) }),
  errors: {
    session_required: unavailable.session_required,
    store_unavailable: storeUnavailable,
  },
});
