// Restarts take longer than a tool call may: what is not there in time is told in a session.
//
// K1  A service is restarted once at a time; who asks meanwhile waits for the same restart.
//     One that is wanted later is one of its own, and begins then.
// K2  Whoever named a session is told there, unless the answer of the call had it all.

import { setTimeout as delay } from "node:timers/promises";
import { sendToSession } from "@switchyard/contracts/sessions";
import type { Bus } from "@switchyard/bus/connect";
import type { Restartable } from "@switchyard/contracts/restarts";
import type { Log } from "@switchyard/service/log";
import type { ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import type { AsCaller } from "./as-caller.ts";
import { restartService, type Restarted } from "./restart-service.ts";
import { findSession } from "./session-access.ts";
import { agentOfKey } from "./session-names.ts";

export interface RestartDesk {
  /** What came of it; null when that is not known yet and will be told in the session, where there is one. */
  restart(wish: RestartWish, context: ToolContext): Promise<Restarted | null>;
  /** Gives up what is under way, and tells so. */
  stop(): Promise<void>;
}

export interface RestartWish {
  readonly service: Restartable;
  /** How long the restart is to wait. */
  readonly delayMs: number;
  /** Where the result is told when the call cannot wait for it. */
  readonly session: string | null;
  /** Said in the session behind the result, which is told there in any case then. */
  readonly continuation: string | null;
}

/** What an answer needs to reach the caller before the caller gives up. */
const ANSWER_MS = 2_000;
const TELL_MS = 20_000;

export function createRestartDesk(options: {
  readonly bus: Bus;
  readonly asCaller: AsCaller;
  readonly log: Log;
}): RestartDesk {
  const { bus, log } = options;
  const underWay = new Map<Restartable, Promise<Restarted>>();
  const telling = new Set<Promise<void>>();
  const stopping = new AbortController();

  const begin = (service: Restartable): Promise<Restarted> => {
    const known = underWay.get(service);
    if (known !== undefined) return known;
    const work = restartService(bus, service, stopping.signal)
      .catch((error: unknown) => {
        if (!stopping.signal.aborted) throw error;
        throw new ToolError(
          `The toolbox was stopped while it waited for the ${service}; whether it is ready again is not known.`,
        );
      })
      .finally(() => underWay.delete(service));
    underWay.set(service, work);
    return work;
  };

  const beginLater = async (service: Restartable, delayMs: number): Promise<Restarted> => {
    await delay(delayMs, undefined, { signal: stopping.signal }).catch(() => {
      throw new ToolError(
        `The toolbox was stopped before the restart of the ${service} began; ask for it again.`,
      );
    });
    return begin(service);
  };

  return {
    async restart(wish, context) {
      const { service, delayMs } = wish;
      const work = delayMs === 0 ? begin(service) : beginLater(service, delayMs);
      const late = later(context.timeLeftMs - ANSWER_MS, context.signal);
      const first = await Promise.race([work, late.promise]).finally(late.end);
      if (first === null || wish.continuation !== null) {
        const sending = tell(options, { wish, context, work }).catch((err: unknown) =>
          log.warn({ err, caller: context.caller }, "result of a restart not sent"),
        );
        telling.add(sending);
        void sending.finally(() => telling.delete(sending));
      }
      return first;
    },
    async stop() {
      stopping.abort();
      await Promise.all(telling);
    },
  };
}

/** Null after so long, or when nobody waits any more. */
function later(ms: number, signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<null>();
  const give = (): void => resolve(null);
  const timer = setTimeout(give, Math.max(0, ms));
  signal.addEventListener("abort", give, { once: true });
  const end = (): void => {
    clearTimeout(timer);
    signal.removeEventListener("abort", give);
  };
  return { promise, end };
}

async function tell(
  { asCaller }: { readonly asCaller: AsCaller },
  about: {
    readonly wish: RestartWish;
    readonly context: ToolContext;
    readonly work: Promise<Restarted>;
  },
): Promise<void> {
  const { wish, context, work } = about;
  const result = await work.then(
    (restarted) => resultText(wish.service, restarted),
    (error: unknown) => {
      if (error instanceof ToolError) return error.message;
      throw error;
    },
  );
  const { session, continuation } = wish;
  if (session === null) return;
  const calling = { ...context, signal: AbortSignal.timeout(TELL_MS), timeLeftMs: TELL_MS };
  const known = (await findSession(asCaller, calling, session))?.agent;
  const agent = known === undefined ? agentOfKey(session) : null;
  const message = `[gateway_restart] ${result}${continuation === null ? "" : `\n${continuation}`}`;
  await asCaller(calling, sendToSession, {
    session,
    message,
    ...(agent !== null && { agent }),
    timeoutSeconds: 0,
  });
}

/** How a restart ended, in a sentence. */
export function resultText(service: Restartable, { processes, tookMs }: Restarted): string {
  const count = processes === 1 ? "1 process" : `${processes} processes`;
  return `${service} was restarted and is ready (${count}, ${(tookMs / 1_000).toFixed(1)} s).`;
}
