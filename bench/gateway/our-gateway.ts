import { Agent, request as httpRequest } from "node:http";
import { text as textOf } from "node:stream/consumers";
import type { Bus } from "@switchyard/bus/bus";
import type { DevInstance } from "../../test/lib/yard-dev.ts";
import { freePort } from "@switchyard/local-servers/free-port";
import type { Stage } from "../lib/stage.ts";

/** A running Switchyard and its gateway. */
export interface OurGateway {
  readonly bus: Bus;
  readonly instance: DevInstance;
  readonly url: string;
  readonly token: string;
  /** A server that passes requests on to NATS and does nothing else, at the same paths. */
  readonly bare: Pick<OurGateway, "url" | "token">;
}

/** Starts the server that every gateway on Node.js's own HTTP server is compared with. */
export async function startBareServer(
  stage: Stage,
  { natsUrl, stateDir }: DevInstance,
): Promise<string> {
  const port = await freePort();
  await stage.process(new URL("bare-server.ts", import.meta.url), {
    BARE_PORT: String(port),
    BARE_NATS_URL: natsUrl,
    BARE_STATE_DIR: stateDir,
  });
  return `http://127.0.0.1:${port}`;
}

/** Kept alive. `fetch` takes as much processor time for a call as the gateway does, which is not what is measured. */
const agent = new Agent({ keepAlive: true });

/** The JSON answer of a POST; throws for anything but success. */
export function post(
  { url, token }: Pick<OurGateway, "url" | "token">,
  path: string,
  body: object,
): Promise<Record<string, unknown>> {
  const sent = Buffer.from(JSON.stringify(body));
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": sent.length,
  };
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
  const options = { agent, method: "POST", headers };
  const request = httpRequest(`${url}/api/v1${path}`, options, (response) => {
    const { statusCode = 0 } = response;
    textOf(response)
      .then((text) => {
        if (statusCode >= 300) throw new Error(`POST ${path}: ${statusCode} ${text}`);
        return JSON.parse(text) as Record<string, unknown>; // an answer is a JSON object
      })
      .then(resolve, reject);
  });
  request.on("error", reject).end(sent);
  return promise;
}
