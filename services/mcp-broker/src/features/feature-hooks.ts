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

/** What is kept of one server over its connections. */
export interface ServerMemory {
  readonly messages: ServerMessages;
  readonly sampling: RateLimit;
  /** Of everything that it asks and the policy would be asked about. */
  readonly asking: RateLimit;
}

/** Beside its samplings. Each costs a decision for everybody on whose behalf the server works, and a record of it. */
export const ASKED_PER_MINUTE = 120;

/**
 * Everything is declared to every server: what a server may have is decided at each request, by the
 * policy, and not by a capability that would have to be known before.
 */
const CAPABILITIES: ClientCapabilities = {
  sampling: {},
  elicitation: { form: {}, url: {} },
  roots: { listChanged: true },
};

/** What a connection offers its server. */
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
      else deps.notifications.hear({ server, messages: memory.messages }, method, params);
    },
  };
}

function tooMany(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, "asked too often; ask again later");
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
