import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { startYardDev, type DevInstance } from "./yard-dev.ts";

export interface ProtocolsWorld {
  readonly dev: DevInstance;
  readonly url: string;
  /** The credential of the person who runs the instance, an administrator. */
  readonly token: string;
  /** Makes a key of another caller. */
  keyOf(caller: string, roles: readonly string[]): Promise<string>;
  /** A request to `/api/v1` as the administrator. */
  send(path: string, body?: unknown, key?: string): Promise<Record<string, unknown>>;
}

/** `yard dev` with agents that call a tool, wait for an approval, ask a question and take their time. */
export async function startProtocolsWorld(
  env: Readonly<Record<string, string>> = {},
): Promise<ProtocolsWorld> {
  const directory = await mkdtemp(join(tmpdir(), "yard-protocols-"));
  const dev = await startYardDev({
    project: "test/e2e/protocols-project",
    stateDir: join(directory, "state"),
    env,
  });
  after(async () => {
    await dev.stop();
    await rm(directory, { recursive: true, force: true });
  });
  const token = (await readFile(dev.httpTokenFile, "utf8")).trim();
  const send: ProtocolsWorld["send"] = async (path, body, key = token) => {
    const response = await fetch(`${dev.httpUrl}/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  const keyOf = async (caller: string, roles: readonly string[]) =>
    String((await send("/keys", { caller, roles }))["key"]);
  return { dev, url: dev.httpUrl, token, keyOf, send };
}
