import { hash } from "node:crypto";
import type { Bus } from "@switchyard/bus/bus";
import { publishEvent, publishLive } from "@switchyard/bus/publish";
import {
  featuresChanged,
  resourceUpdated,
  serverMessage,
} from "@switchyard/contracts/mcp-broker/mcp-features";
import type { ServerMessages } from "./server-messages.ts";
import type { Subscriptions } from "./subscriptions.ts";

/** The same change is published once in this time; replicas with the same server agree on the message id. */
const INTERVAL_MS = 1_000;

const LISTS: Readonly<Record<string, "resources" | "prompts">> = {
  "notifications/resources/list_changed": "resources",
  "notifications/prompts/list_changed": "prompts",
};

export type FeatureNotifications = ReturnType<typeof createFeatureNotifications>;

/** Forwards the notifications of servers: changed resources and lists as events, log messages live. */
export function createFeatureNotifications(options: {
  readonly bus: Bus;
  readonly subscriptions: Subscriptions;
  readonly now: () => number;
  readonly onTrouble: (server: string, error: unknown) => void;
}) {
  const { bus, subscriptions, now, onTrouble } = options;
  const stamp = (...facts: string[]) => {
    const at = now();
    const key = hash("sha256", facts.join("\0"), "base64url");
    return { at: new Date(at).toISOString(), messageId: `${key}:${Math.floor(at / INTERVAL_MS)}` };
  };
  const updates = createCoalescer({
    intervalMs: INTERVAL_MS,
    send(key) {
      const [server, uri] = split(key);
      const { at, messageId } = stamp("updated", server, uri);
      publishEvent(bus, resourceUpdated, { server }, { server, uri, at }, { messageId }).catch(
        (error: unknown) => onTrouble(server, error),
      );
    },
  });
  const lists = createCoalescer({
    intervalMs: INTERVAL_MS,
    send(key) {
      const [server, list] = split(key);
      const feature = list === "prompts" ? "prompts" : "resources";
      const { at, messageId } = stamp("list", server, feature);
      publishEvent(bus, featuresChanged, { server }, { server, feature, at }, { messageId }).catch(
        (error: unknown) => onTrouble(server, error),
      );
    },
  });
  return {
    subscribe(
      { server, messages }: { readonly server: string; readonly messages: ServerMessages },
      method: string,
      params: Readonly<Record<string, unknown>>,
    ): void {
      const { uri } = params;
      const list = LISTS[method];
      if (list !== undefined) lists.notify(`${server} ${list}`);
      else if (method === "notifications/resources/updated" && typeof uri === "string") {
        if (subscriptions.isWatched(server, uri)) updates.notify(`${server} ${uri}`);
      } else if (method === "notifications/message") {
        const message = messages.add(params);
        if (message !== null) publishLive(bus, serverMessage, { server }, message);
      }
    },
    stop(): void {
      updates.stop();
      lists.stop();
    },
  };
}

/** A server's id has no blank. */
function split(key: string): [string, string] {
  const blank = key.indexOf(" ");
  return [key.slice(0, blank), key.slice(blank + 1)];
}

/** Keys that are remembered at a time; beyond them messages are lost until one is quiet again. */
const MAX_KEYS = 1_000;

/**
 * Forwards the first of many equal messages at once and then at most one in each interval, the last one always: so a flood costs
 * little and no receiver misses that something changed.
 */
export function createCoalescer(options: {
  readonly intervalMs: number;
  readonly send: (key: string) => void;
}) {
  const { intervalMs, send } = options;
  const timers = new Map<string, NodeJS.Timeout>();
  const again = new Set<string>();
  const wait = (key: string): void => {
    const timer = setTimeout(() => {
      timers.delete(key);
      if (!again.delete(key)) return;
      send(key);
      wait(key);
    }, intervalMs);
    timers.set(key, timer);
  };
  return {
    notify(key: string): void {
      if (timers.has(key)) {
        again.add(key);
        return;
      }
      if (timers.size >= MAX_KEYS) return;
      send(key);
      wait(key);
    },
    stop(): void {
      for (const timer of timers.values()) clearTimeout(timer);
      timers.clear();
      again.clear();
    },
  };
}
