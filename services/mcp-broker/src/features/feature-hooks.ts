import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import {
  ProtocolError,
  ProtocolErrorCode,
  type ClientCapabilities,
  type Result,
} from "@modelcontextprotocol/client";
import type { SessionHooks } from "../connection/session-hooks.ts";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import type { FeatureNotifications } from "./feature-notifications.ts";
import { askPerson, type AskPersonDeps } from "../server-requests/ask-person.ts";
import type { RateLimit } from "../server-requests/rate-limit.ts";
import { sample, type SamplingDeps } from "../server-requests/sampling.ts";
import type { ServerMessages } from "./server-messages.ts";

export interface FeatureHookDeps extends SamplingDeps, AskPersonDeps {
  readonly notifications: FeatureNotifications;
  /** The roots of a server as they are now. */
  readonly rootsOf: (config: ServerConfig) => readonly string[];
}

/** The state of one server that outlives its connections. */
export interface ServerMemory {
  readonly messages: ServerMessages;
  readonly sampling: RateLimit;
  /** The rate limit of all requests of the server that need a decision of the policy. */
  readonly asking: RateLimit;
}

/**
 * The limit beside its samplings. Each request costs a decision, and a record of it, for every caller on whose behalf the server
 * works.
 */
export const ASKED_PER_MINUTE = 120;

/**
 * Every capability is declared to every server: the policy decides at each request whether a server may use it, and a capability
 * would have to be decided before.
 */
const CAPABILITIES: ClientCapabilities = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};

/** The handlers that a connection offers its server. */
export function featureHooks(
  deps: FeatureHookDeps,
  config: ServerConfig,
  memory: ServerMemory,
): SessionHooks {
  const server = config.id;
  return {
    capabilities: CAPABILITIES,
    requests: {
      async "sampling/createMessage"(request) {
        if (!memory.asking.take()) throw tooMany();
        return sample(deps, { config, rate: memory.sampling }, request);
      },
      async "elicitation/create"(request) {
        if (!memory.asking.take()) return { action: "cancel" };
        return askPerson(deps, config, request);
      },
      "roots/list": () => Promise.resolve(rootsResult(deps.rootsOf(config))),
    },
    onNotification(method, params) {
      const { elicitationId } = params;
      if (method === "notifications/elicitation/complete" && typeof elicitationId === "string")
        deps.questions.complete(server, elicitationId);
      else deps.notifications.subscribe({ server, messages: memory.messages }, method, params);
    },
  };
}

function tooMany(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, "too many requests; retry later");
}

/** Answers `roots/list` with directories or `file:` addresses. */
function rootsResult(roots: readonly string[]): Result {
  return {
    roots: roots.map((root) => {
      const url = root.startsWith("file://") ? new URL(root) : pathToFileURL(root);
      return { uri: url.href, name: basename(decodeURIComponent(url.pathname)) || "/" };
    }),
  };
}
