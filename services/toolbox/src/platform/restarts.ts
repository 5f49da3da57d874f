// Restarts take longer than a tool call may: a late result is sent to a session.
//
// K1  A service is restarted once at a time; concurrent requests wait for the same restart. A delayed restart is separate, and
// begins when it is due.
// K2  If the caller named a session, the result is sent there, unless the reply of the call contained all of it.

import { within } from "@switchyard/contracts/timeouts";
import { setTimeout as delay } from "node:timers/promises";
import { sendToSession } from "@switchyard/contracts/agent-runner/sessions";
import type { Bus } from "@switchyard/bus/bus";
import type { Restartable } from "@switchyard/contracts/restarts";
import type { Log } from "@switchyard/service/log";
import type { ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";
import type { AsCaller } from "./as-caller.ts";
import { restartService, type Restarted } from "./restart-service.ts";
import { findSession } from "./session-access.ts";
import { senderFor } from "./sender-for.ts";
import { agentOfKey } from "./session-names.ts";

export interface Restarts {
  /** Resolves with the result; null when it is not known in time and will be sent to the session, if there is one. */
  restart(wish: RestartRequest, context: ToolContext): Promise<Restarted | null>;
  /** Abandons the restarts in progress, and sends that to their sessions. */
  stop(): Promise<void>;
}

export interface RestartRequest {
  readonly service: Restartable;
  /** The delay before the restart, in milliseconds. */
  readonly delayMs: number;
  /** The session for the result when the call cannot wait for it. */
  readonly session: string | null;
  /** A text appended to the result in the session; with it, the result is always sent there. */
  readonly continuation: string | null;
  /** The caller states it; it is logged and sent to the session. */
  readonly reason: string | null;
  readonly note: string | null;
}

/** The time for a reply to reach the caller before the caller's timeout. */
const ANSWER_MS = 2_000;
const SEND_MS = 20_000;

export function createRestarts(options: {
  readonly bus: Bus;
  readonly asCaller: AsCaller;
  readonly log: Log;
}): Restarts {
  const { bus, log } = options;
  const underWay = new Map<Restartable, Promise<Restarted>>();
  const unsent = new Set<Promise<void>>();
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
      const { service, delayMs, reason, note } = wish;
      log.info({ caller: context.caller, service, reason, note }, "restart requested");
      const work = delayMs === 0 ? begin(service) : beginLater(service, delayMs);
      const limit = { ms: context.timeLeftMs - ANSWER_MS, signal: context.signal };
      const first = await within(work, limit, () => null);
      if (first === null || wish.continuation !== null) {
        const sending = sendResult(options, { wish, context, work }).catch((err: unknown) =>
          log.warn({ err, caller: context.caller }, "result of a restart not sent"),
        );
        unsent.add(sending);
        void sending.finally(() => unsent.delete(sending));
      }
      return first;
    },
    async stop() {
      stopping.abort();
      await Promise.all(unsent);
    },
  };
}

async function sendResult(
  { asCaller }: { readonly asCaller: AsCaller },
  about: {
    readonly wish: RestartRequest;
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
  const { session, continuation, reason, note } = wish;
  if (session === null) return;
  const calling = { ...context, signal: AbortSignal.timeout(SEND_MS), timeLeftMs: SEND_MS };
  const known = (await findSession(asCaller, calling, session))?.agent;
  const agent = known === undefined ? agentOfKey(session) : null;
  const lines = [
    `[gateway_restart] ${result}`,
    ...(reason === null ? [] : [`Reason: ${reason}`]),
    ...(note === null ? [] : [`Note: ${note}`]),
    ...(continuation === null ? [] : [continuation]),
  ];
  const message = lines.join("\n");
  await asCaller(calling, sendToSession, {
    session,
    message,
    ...(agent !== null && { agent }),
    timeoutSeconds: 0,
    ...senderFor(about.context),
  });
}

/** Describes the result of a restart in a sentence. */
export function resultText(service: Restartable, { processes, tookMs }: Restarted): string {
  const count = processes === 1 ? "1 process" : `${processes} processes`;
  return `${service} was restarted and is ready (${count}, ${(tookMs / 1_000).toFixed(1)} s).`;
}
