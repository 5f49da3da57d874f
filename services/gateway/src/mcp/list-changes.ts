import { InMemoryServerEventBus, type ServerEventBus } from "@modelcontextprotocol/server";
import type { McpParts } from "./tool-call.ts";

export type ListKind = "tools" | "resources" | "prompts";

/** Lists that have changed. */
export interface ListChange {
  /** Null: those of all servers, because other rules are in force. */
  readonly server: string | null;
  readonly kinds: ReadonlySet<ListKind>;
}

export interface ListChanges {
  /** Events are read while there is a listener. Returns a function that removes the listener. */
  subscribe(listener: (change: ListChange) => void): () => void;
}

/** A server that connects publishes several events, and another broker may still return the previous list. */
const DEBOUNCE_MS = 300;

const ALL: readonly ListKind[] = ["tools", "resources", "prompts"];
const CHANGES: Readonly<Record<string, readonly ListKind[]>> = {
  connected: ALL,
  disconnected: ALL,
  failed: ALL,
  updated: ALL,
  removed: ALL,
  "features-changed": ["resources", "prompts"],
  "tools-discovered": ["tools"],
  "pins-changed": ["tools"],
  "pins-approved": ["tools"],
  "pins-blocked": ["tools"],
};

/** Publishes changes of the lists of MCP servers and of the policy, which narrows them, and merges those of a short time [X41]. */
export function createListChanges(hub: McpParts["hub"]): ListChanges {
  const listeners = new Set<(change: ListChange) => void>();
  const pending = new Map<string | null, Set<ListKind>>();
  let stop: (() => void) | null = null;
  let timer: NodeJS.Timeout | null = null;

  const publish = (): void => {
    timer = null;
    const changes = [...pending].map(([server, kinds]) => ({ server, kinds }));
    pending.clear();
    for (const change of changes) for (const listener of listeners) listener(change);
  };
  const receive = ({ subject }: { readonly subject: string }): void => {
    const change = changeIn(subject);
    if (change === null) return;
    const { server, kinds } = change;
    const known = pending.get(server) ?? new Set();
    pending.set(server, known);
    for (const kind of kinds) known.add(kind);
    timer ??= setTimeout(publish, DEBOUNCE_MS);
  };
  return {
    subscribe(listener) {
      // Subscribing the same listener twice makes two subscriptions.
      const own = (change: ListChange): void => listener(change);
      listeners.add(own);
      stop ??= hub.onEvent(receive);
      return () => {
        listeners.delete(own);
        if (listeners.size > 0 || stop === null) return;
        stop();
        stop = null;
        if (timer !== null) clearTimeout(timer);
        timer = null;
        pending.clear();
      };
    },
  };
}

const POLICY = /^yard\.evt\.policy\.[^.]+\.activated$/;
const SERVER = /^yard\.evt\.mcp\.([a-z0-9-]+)\.([a-z-]+)$/;

/** Returns the lists that an event changes; null for any other event. */
function changeIn(subject: string) {
  if (POLICY.test(subject)) return { server: null, kinds: ALL };
  const [, server, what] = SERVER.exec(subject) ?? [];
  const kinds = what !== undefined && Object.hasOwn(CHANGES, what) ? CHANGES[what] : undefined;
  return server === undefined || kinds === undefined ? null : { server, kinds };
}

/**
 * Publishes the changes on streams of `subscriptions/listen`; each client then lists its own tools, resources and prompts.
 * `scopeOfRequest` returns the only server whose changes the stream of the request under way gets, or null for all.
 */
export function listChangesBus(
  changes: ListChanges,
  scopeOfRequest: () => string | null,
): ServerEventBus {
  const bus = new InMemoryServerEventBus();
  return {
    publish: (event) => bus.publish(event),
    subscribe(listener) {
      const scope = scopeOfRequest();
      const stops = [
        bus.subscribe(listener),
        changes.subscribe(({ server, kinds }) => {
          if (scope !== null && server !== null && scope !== server) return;
          for (const kind of kinds) listener({ kind: `${kind}_list_changed` });
        }),
      ];
      return () => stops.forEach((stop) => stop());
    },
  };
}
