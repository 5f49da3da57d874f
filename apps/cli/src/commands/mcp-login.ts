import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline/promises";
import { client } from "@switchyard/bus/call";
import {
  beginLogin,
  finishLogin,
  logout as logoutContract,
  type LoginRevocation,
} from "@switchyard/contracts/mcp-broker/mcp-auth";
import { findBus, withBus } from "../bus-session.ts";
import { CliError } from "../cli-error.ts";
import { loginAnswer, type LoginAnswer } from "../login-answer.ts";
import { printableLine } from "../printable.ts";
import { writeJson, writeJsonLine, type Terminal } from "../terminal.ts";

export interface LoginOptions {
  readonly json?: true;
  /** False: no browser is opened here, and the person pastes the address that it ends at. */
  readonly browser: boolean;
}

const contracts = { beginLogin, finishLogin, logout: logoutContract };
const CALLBACK_PATH = "/callback";

/** Logs in to a server: the broker supplies the address, a person agrees in the browser, the broker exchanges the code. */
export async function login(
  terminal: Terminal,
  server: string,
  options: LoginOptions,
): Promise<void> {
  const json = options.json === true;
  await withBus(await findBus(terminal.env), async (bus) => {
    const api = client(bus, contracts);
    const callback = await listen();
    try {
      const { port } = callback.address() as AddressInfo; // it listens on TCP
      const redirectUri = `http://127.0.0.1:${port}${CALLBACK_PATH}`;
      const begun = await api.beginLogin({ server, redirectUri });
      const { authorizationUrl, expiresAt } = begun;
      terminal.note(`Open this address and agree (until ${expiresAt}):`);
      // Alone on its line and on stdout, so that a script can take it.
      if (json) writeJsonLine(terminal, { ...lineStart("address"), authorizationUrl, expiresAt });
      else terminal.out(printableLine(authorizationUrl));
      if (options.browser) openBrowser(authorizationUrl);
      const answer = options.browser
        ? await answerOf(callback, begun)
        : await pasted(terminal, begun);
      const { server: info } = await api.finishLogin({ server, state: begun.state, ...answer });
      if (json) writeJsonLine(terminal, { ...lineStart("login"), server: info });
      else terminal.note(`logged in to ${server}; it is ${info.status}`);
    } finally {
      callback.closeAllConnections();
      callback.close();
    }
  });
}

/** The first fields of each line with --json: one line has the address, a later one the result. */
function lineStart(type: "address" | "login") {
  return { schemaVersion: 1, type } as const;
}

export async function logout(
  terminal: Terminal,
  server: string,
  options: Pick<LoginOptions, "json">,
): Promise<void> {
  const reply = await withBus(await findBus(terminal.env), (bus) =>
    client(bus, contracts).logout({ server }),
  );
  if (options.json === true) writeJson(terminal, reply);
  else
    terminal.note(
      reply.wasLoggedIn
        ? `logged out of ${server}${REVOCATION[reply.revocation ?? "revoked"]}`
        : `there was no login to ${server}`,
    );
}

const REVOCATION: Readonly<Record<LoginRevocation, string>> = {
  revoked: "",
  not_offered: "; its tokens live until they end, because they cannot be revoked there",
  failed: "; revoking its tokens failed, so take them back at the authorization server",
};

async function listen(): Promise<Server> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** Waits for the browser's redirect. Other requests to the port, or ones with another state, are ignored. */
async function answerOf(
  callback: Server,
  begun: { state: string; expiresAt: string },
): Promise<LoginAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<LoginAnswer>();
  callback.on("request", (request, response) => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    if (url.pathname !== CALLBACK_PATH || url.searchParams.get("state") !== begun.state) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
    response.end("You can close this window and go back to the terminal.\n");
    try {
      resolve(loginAnswer(url, begun.state));
    } catch (error) {
      reject(error);
    }
  });
  const overdue = timeUntil(begun.expiresAt, () =>
    reject(
      new CliError("timeout", "the login in the browser was not completed in time", {
        hint: AGAIN,
      }),
    ),
  );
  try {
    return await promise;
  } finally {
    clearTimeout(overdue);
  }
}

const AGAIN = "begin again with: ./yard mcp login SERVER";

function timeUntil(expiresAt: string, callback: () => void): NodeJS.Timeout {
  return setTimeout(callback, Date.parse(expiresAt) - Date.now());
}

/** For a machine without a browser: the page at the end does not load, and its address has the code. */
async function pasted(
  terminal: Terminal,
  { state, expiresAt }: { state: string; expiresAt: string },
): Promise<LoginAnswer> {
  terminal.note("The browser ends at an address on 127.0.0.1 that may not load. Paste it here:");
  const lines = createInterface({ input: process.stdin });
  const overdue = timeUntil(expiresAt, () => lines.close());
  try {
    for await (const line of lines) return loginAnswer(addressIn(line), state);
  } finally {
    clearTimeout(overdue);
    lines.close();
  }
  throw new CliError("usage", "no address was pasted", { hint: AGAIN });
}

function addressIn(line: string): URL {
  if (URL.canParse(line.trim())) return new URL(line.trim());
  throw new CliError("usage", "what was pasted is not an address", {
    hint: "copy the whole address from the browser, from http:// to the end",
  });
}

/** Best effort: the address is on the screen anyway. */
function openBrowser(url: string): void {
  if (!process.stdout.isTTY) return;
  const command = process.platform === "darwin" ? "open" : "xdg-open";
  const child = spawn(command, [url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}
