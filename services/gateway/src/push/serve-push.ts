import { ServiceError } from "@switchyard/contracts/errors";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { OwnOperations, SignedIn } from "../routes/own-operations.ts";
import { getPush, setPush, removePush } from "../routes/push-operations.ts";
import { answering } from "../subscriptions/serve-subscriptions.ts";
import { encryptMessage } from "./encrypt-message.ts";
import type { PushKeys } from "./push-keys.ts";
import { isAtPushService } from "./push-services.ts";
import { contextOf, type PushStore, type PushTarget } from "./push-store.ts";

export interface PushOperations {
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

export function servePush(own: OwnOperations, parts: PushOperations): void {
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
