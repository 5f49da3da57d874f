import type { Bus } from "@switchyard/bus/bus";
import { follow } from "@switchyard/bus/follow";
import { userSessionEnded } from "@switchyard/contracts/policy/user-sessions";
import type { Log } from "@switchyard/service/log";
import type { EgressGuard } from "@switchyard/service/network/egress-guard";
import type { OwnerStorage } from "@switchyard/service/owner-storage";
import type { Redis } from "@switchyard/service/redis";
import type { UserCache } from "../identity/user-cache.ts";
import type { OwnOperations } from "../routes/own-operations.ts";
import type { OnRead } from "../subscriptions/read-events.ts";
import type { PushKeys } from "./push-keys.ts";
import { openPushStore } from "./push-store.ts";
import { notifyBrowsers } from "./notify-browsers.ts";
import { servePush } from "./serve-push.ts";

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
