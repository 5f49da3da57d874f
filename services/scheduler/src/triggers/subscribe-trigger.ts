import { setTimeout as delay } from "node:timers/promises";
import type { Bus } from "@switchyard/bus/bus";
import {
  subscribeForeign,
  readStream,
  type ForeignMessage,
} from "@switchyard/bus/foreign-messages";
import type { Log } from "@switchyard/service/log";
import { receiveMessage, skipMessages, type ReceiveParts } from "./receive-message.ts";
import type { MessageTrigger } from "@switchyard/project/triggers/triggers-file";

export interface SubscribeParts extends ReceiveParts {
  readonly bus: Bus;
  readonly log: Log;
}

export interface TriggerSubscription {
  /** Stops receiving, and resolves when the received messages are processed. */
  stop(): Promise<void>;
}

/** The limit for messages of a subject that wait in this process; further ones are dropped, and the log of the job states their number. */
const MOST_WAITING = 1_000;
const RETRY_MS = 1_000;
/** The interval at which a message is retried while its trigger is paused. */
const PAUSED_MS = 5_000;
/** The interval after which the server may have loaded other permissions. */
const REFUSED_MS = 15_000;
const HINT =
  "the permissions of NATS user scheduler come from triggers.yaml: make them with yard keys init --triggers, and have NATS read them";

/** Receives the messages of a trigger from now on. Failures are logged and retried. */
export function subscribeTrigger(
  trigger: MessageTrigger,
  parts: SubscribeParts,
): TriggerSubscription {
  return trigger.source.stored === null ? subscribe(trigger, parts) : read(trigger, parts);
}

/** A stream stores the messages whose run cannot begin now. */
function read(trigger: MessageTrigger, parts: SubscribeParts): TriggerSubscription {
  const { bus, log } = parts;
  const { source, from, concurrency } = trigger;
  return readStream(bus, {
    subject: source.subject,
    stream: source.stored?.stream ?? "",
    consumer: source.stored?.consumer ?? "",
    from,
    atOnce: concurrency,
    onFault: (err) =>
      log.warn(
        { err, trigger: trigger.id, hint: HINT },
        "trigger does not read its stream; trying on",
      ),
    async handle(message) {
      const received = await receiveMessage(trigger, message, parts);
      if (received.outcome === "busy") return { retryMs: RETRY_MS };
      if (received.outcome === "off") return { retryMs: PAUSED_MS };
      if (received.outcome === "unfit")
        await skipMessages(trigger, { count: 1, reason: received.reason }, parts);
      return "done";
    },
  });
}

/** A subject stores nothing: messages that arrive while the maximum number of runs is active are skipped, with an entry in the log. */
function subscribe(trigger: MessageTrigger, parts: SubscribeParts): TriggerSubscription {
  const { bus, log } = parts;
  const waiting: ForeignMessage[] = [];
  const skips = new Map<string, number>();
  const stopping = new AbortController();
  let work: Promise<void> | null = null;

  const skipped = (reason: string): void => void skips.set(reason, (skips.get(reason) ?? 0) + 1);
  /** Retries until Redis answers, or the process stops. */
  const surely = async <T>(step: () => Promise<T>): Promise<T | null> => {
    for (let isLogged = false; ; isLogged = true) {
      try {
        return await step();
      } catch (err) {
        if (!isLogged) log.warn({ err, trigger: trigger.id }, "message cannot be taken; trying on");
        if (stopping.signal.aborted) return null;
        await delay(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => {}); // stopped
      }
    }
  };
  const receive = async (message: ForeignMessage): Promise<void> => {
    const received = await surely(() => receiveMessage(trigger, message, parts));
    if (received?.outcome === "busy")
      skipped(`${trigger.concurrency} runs of the trigger are under way`);
    if (received?.outcome === "unfit") skipped(received.reason);
  };
  const workOff = async (): Promise<void> => {
    while (waiting.length > 0 || skips.size > 0) {
      for (const message of waiting.splice(0)) await receive(message);
      const counts = [...skips];
      skips.clear();
      for (const [reason, count] of counts)
        await surely(() => skipMessages(trigger, { count, reason }, parts));
    }
  };
  const begin = (): void => {
    work ??= workOff().finally(() => {
      work = null;
      if (waiting.length > 0 || skips.size > 0) begin();
    });
  };

  let isRefused = false;
  const listen = (): { stop(): void } => {
    let again: NodeJS.Timeout | undefined;
    const subscription = subscribeForeign(bus, {
      subject: trigger.source.subject,
      onRefused: (err) => {
        if (!isRefused)
          log.error({ err, trigger: trigger.id, hint: HINT }, "trigger receives no messages");
        isRefused = true;
        again ??= setTimeout(() => (listening = listen()), REFUSED_MS).unref();
      },
      onMessage: (message) => {
        if (waiting.length < MOST_WAITING) waiting.push(message);
        else skipped(`${MOST_WAITING} messages waited already`);
        begin();
      },
    });
    return {
      stop() {
        clearTimeout(again);
        subscription.stop();
      },
    };
  };
  let listening = listen();
  return {
    async stop() {
      listening.stop();
      stopping.abort();
      await work;
    },
  };
}
