import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import { userSessionEnded } from "@switchyard/contracts/policy/user-sessions";
import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import { ServiceError } from "@switchyard/contracts/errors";
import type { UserCache } from "../identity/user-cache.ts";
import type { OwnOperations, SignedIn } from "../routes/own-operations.ts";
import type { OnRead } from "../subscriptions/read-events.ts";
import type { PushKeys } from "./push-keys.ts";
import { openPushStore, contextOf, type PushStore, type PushTarget } from "./push-store.ts";
import { notifyBrowsers, isAtPushService } from "./notify-browsers.ts";
import { getPush, setPush, removePush } from "../routes/push-operations.ts";
import { answering } from "../subscriptions/serve-subscriptions.ts";
import { encryptMessage } from "./encrypt-message.ts";

interface PushKit {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly storage: Pick<OwnerStorage, "admit">;
  readonly log: Log;
}

interface PushSettings {
  readonly guard: EgressGuard;
  readonly users: Pick<UserCache, "identify">;
  /** Null where web push is not possible. */
  readonly keys: PushKeys | null;
  /** Called when there is a browser to notify. */
  readonly onChange: () => void;
}

/** Notifies browsers of what needs their person: the operations on subscriptions, and the messages for events that `notify` gets. */
export function startPush(
  own: OwnOperations,
  { bus, redis, storage, log }: PushKit,
  { guard, users, keys, onChange }: PushSettings,
): { readonly notify: OnRead; stop(): Promise<void> } {
  const now = Date.now;
  const store = openPushStore(redis);
  servePush(own, { store, storage, keys, now, onChange });
  const ended = follow(bus, userSessionEnded, ({ id: session, caller: owner }) => {
    store
      .end({ session, owner })
      // It is removed when the next note finds that the session has ended.
      .catch((err: unknown) => log.debug({ err, owner }, "the end of web push is not noted"));
  });
  const browsers = notifyBrowsers({ bus, store, guard, users, keys, log, now });
  return {
    notify: browsers.notify,
    async stop() {
      ended.stop();
      await browsers.stop();
    },
  };
}

interface PushOperations {
  readonly store: PushStore;
  readonly storage: Pick<OwnerStorage, "admit">;
  /** Null where web push is not possible. */
  readonly keys: PushKeys | null;
  readonly now: () => number;
  /** Called when there is a browser to notify. */
  readonly onChange: () => void;
}

/** The browsers of one user; the oldest gives way to a new one. */
const MOST_BROWSERS = 10;

function servePush(own: OwnOperations, parts: PushOperations): void {
  const { store, storage, keys, now } = parts;
  own.add(getPush, async () => ({ publicKey: keys?.vapid[0].publicKey ?? null }));
  own.add(setPush, ({ endpoint, keys: browser, publicKey }, caller, signedIn) =>
    answering(async () => {
      if (keys === null) {
        const reason = "the gateway has no webhooks.key, or is reached without https";
        throw new ServiceError("push_disabled", `there is no web push here: ${reason}`, {
          data: { reason },
        });
      }
      const session = sessionOf(signedIn);
      const target = { sessionKey: signedIn.credential, endpoint, ...browser, publicKey };
      checkTarget(target, keys);
      await storage.admit(caller);
      const sealed = keys.cipher.seal(JSON.stringify(target), contextOf(session));
      await store.put({ session, owner: caller, sealed }, { now: now(), most: MOST_BROWSERS });
      parts.onChange();
      return { isOn: true as const };
    }),
  );
  own.add(removePush, (_, caller, signedIn) =>
    answering(async () => {
      await store.end({ session: sessionOf(signedIn), owner: caller });
      return { isOn: false as const };
    }),
  );
}

function sessionOf({ user }: SignedIn): string {
  const { session, credential } = user;
  if (session !== undefined) return session;
  const message = "web push is for the browser of a session: sign in with the console";
  throw new ServiceError("session_required", message, { data: { credential } });
}

/** Throws the ServiceError `invalid_subscription`. */
function checkTarget({ endpoint, p256dh, auth, publicKey }: PushTarget, keys: PushKeys): void {
  const reason = !isAtPushService(new URL(endpoint))
    ? "the endpoint is at no push service of a browser's maker"
    : keys.vapid.every((key) => key.publicKey !== publicKey)
      ? "publicKey is not the one that GET /push returns: subscribe again"
      : areKeys(p256dh, auth)
        ? null
        : "p256dh is not a public key of P-256";
  if (reason === null) return;
  throw new ServiceError("invalid_subscription", reason, { data: { reason } });
}

function areKeys(p256dh: string, auth: string): boolean {
  const [point, secret] = [Buffer.from(p256dh, "base64url"), Buffer.from(auth, "base64url")];
  try {
    encryptMessage(Buffer.alloc(0), { p256dh: point, auth: secret });
    return point[0] === UNCOMPRESSED;
  } catch {
    return false;
  }
}

const UNCOMPRESSED = 4;
