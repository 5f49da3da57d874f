import { createClient, type Client } from "@switchyard/client/client";
import { apiKeyFor } from "./api-key.ts";
import { chosenGateway } from "./bus-session.ts";
import { CliError } from "./cli-error.ts";
import { httpAccess } from "./dev/http-access.ts";
import { gatewayFailure } from "./http-bus.ts";
import { findRunningInstance } from "./instance-record.ts";
import { stateDirectory } from "./locations.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Calls a gateway, for data that no service on NATS provides: the one that --server, YARD_CONTEXT or the context names, else that of
 * the running `yard dev`. Throws `not_running` where there is none.
 */
export async function withGateway<T>(
  terminal: Pick<Terminal, "env">,
  ask: (client: Client) => Promise<T>,
): Promise<T> {
  const { baseUrl, token } = await findGateway(terminal.env);
  try {
    return await ask(createClient({ baseUrl, token }));
  } catch (error) {
    throw gatewayFailure(error, baseUrl);
  }
}

async function findGateway(env: NodeJS.ProcessEnv): Promise<{ baseUrl: string; token: string }> {
  const chosen = chosenGateway(env);
  if (chosen !== null) return { baseUrl: chosen, token: await apiKeyFor(chosen, env) };
  const state = stateDirectory(env);
  const isElsewhere = (env["YARD_NATS_URL"] ?? "") !== "";
  const instance = isElsewhere ? null : await findRunningInstance(state.instanceFile);
  const http = instance === null ? null : await httpAccess(instance, state.keys);
  if (http !== null) return { baseUrl: http.url, token: http.token };
  throw new CliError("not_running", "there is no gateway here, and NATS alone does not know this", {
    hint: "name one with --server https://…, or start ./yard dev",
  });
}
