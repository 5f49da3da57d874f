import { within } from "@switchyard/contracts/timeouts";
import { redactText } from "@switchyard/service/redact";
import type { ServerConfig } from "@switchyard/project/mcp-servers/server-config";
import {
  resolveServer,
  UnsetVariableError,
  type ResolvedServer,
} from "../declaration/env-references.ts";
import {
  isPermanent,
  reasonOf,
  SilenceError,
  ConnectionAttempt,
  type AttemptParts,
  type ChildSurroundings,
} from "./connection-attempt.ts";
import { startExcerpt } from "./exit-excerpt.ts";
import {
  ConnectError,
  keepSession,
  type OpenedConnection,
  type OpenSession,
} from "./mcp-session.ts";

const MAX_SHOWN = 2_000;

/** Connects to servers, with the references in their configuration resolved from `env`. */
export function createSessionOpener(options: AttemptParts): OpenSession {
  return async (config, events, signal) => {
    const resolved = resolve(config, options.children);
    const show = (text: string): string =>
      startExcerpt(redactText(resolved.redact(text)), MAX_SHOWN);
    const attempt = new ConnectionAttempt({ config, resolved, show, events, options });
    try {
      // One budget for every handshake and every page of the list: a slow server cannot stretch it.
      const opened = await withinBudget(attempt, config, signal);
      // The connection ended while the tools were inspected, and its end was not reported yet.
      if (opened.isClosed()) throw new Error("the server closed the connection");
      return keepSession(opened, { config, events, show });
    } catch (error) {
      const { link, closed } = attempt.giveUp();
      throw new ConnectError(show(reasonOf(error, link)), {
        permanent: isPermanent(error),
        closed,
        stderr: link?.stderr() ?? "",
        cause: error,
      });
    }
  };
}

function resolve(config: ServerConfig, { env, secrets }: ChildSurroundings): ResolvedServer {
  try {
    return resolveServer(config, env, secrets);
  } catch (error) {
    if (!(error instanceof UnsetVariableError)) throw error;
    throw new ConnectError(error.message, { permanent: true, cause: error });
  }
}

/** The SDK's timeouts begin with its first request and leave out notifications, so the whole attempt has its own. */
function withinBudget(
  attempt: ConnectionAttempt,
  { id: server, connectTimeoutMs: timeoutMs }: ServerConfig,
  signal: AbortSignal,
): Promise<OpenedConnection> {
  return within(attempt.open(), { ms: timeoutMs, signal }, () => {
    if (signal.aborted) throw new Error("the broker is stopping");
    const what = `no answer within connectTimeoutMs (${timeoutMs} ms) to ${attempt.requester}`;
    const longer = `'{"connectTimeoutMs":${Math.min(3 * timeoutMs, 3_600_000)}}'`;
    throw new SilenceError(`${what}; if it needs longer: yard mcp update ${server} ${longer}`);
  });
}
