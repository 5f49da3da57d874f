import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { checkedApiKey, readApiKey } from "../api-key.ts";
import { readSecret } from "../read-secret.ts";
import { CliError } from "../cli-error.ts";
import { connectHttp } from "../http-bus.ts";
import { writeSecret } from "../secret-files.ts";
import { serverAddress } from "../server-address.ts";
import { changeSetting, contexts, saveContext, setting, userConfigFile } from "../settings.ts";
import { textOrStandardInput } from "../standard-input.ts";
import { writeJson, type Terminal } from "../terminal.ts";
import { checkContextName } from "./config.ts";

interface Options {
  readonly json?: true;
}

const ANSWER_MS = 10_000;

/** `yard login`: verifies with the gateway whose the key is before storing it, and selects the installation. */
export async function login(
  terminal: Terminal,
  url: string,
  options: { readonly name?: string; readonly keyFile?: string } & Options,
): Promise<void> {
  const http = serverAddress(url);
  const name = options.name ?? nameOf(http);
  checkContextName(name);
  const there = contexts(terminal.env)[name];
  if (there !== undefined && !("http" in there))
    throw new CliError("usage", `context ${name} is an installation on NATS`, {
      hint: "choose another name with --name",
    });
  const key = await keyOf(options.keyFile, http);
  const bus = await connectHttp(http, key, ANSWER_MS);
  await bus.close();
  const keyFile = keyFileOf(name, terminal.env);
  await mkdir(dirname(keyFile), { recursive: true, mode: 0o700 });
  await writeSecret(keyFile, key);
  saveContext(terminal.env, name, { http, keyFile });
  changeSetting(userConfigFile(terminal.env), "context", name);
  if (options.json) return writeJson(terminal, { name, http, keyFile, caller: bus.user });
  terminal.note(
    `signed in at ${http} as ${bus.user}; commands talk to it from now on (context ${name})`,
  );
  terminal.note("back to this machine: ./yard context use local");
}

/** `yard logout`: deletes the local copy of the key; the key stays valid until it is revoked. */
export async function logout(terminal: Terminal, name: string, options: Options): Promise<void> {
  const context = contexts(terminal.env)[name];
  if (context === undefined || !("http" in context))
    throw new CliError("usage", `there is no context ${name} over HTTP`, {
      hint: "see those that there are with: ./yard context list",
    });
  // A file that the person supplied is not deleted.
  if (context.keyFile === keyFileOf(name, terminal.env)) await rm(context.keyFile, { force: true });
  saveContext(terminal.env, name, null);
  if (setting("context", terminal.env).value === name)
    changeSetting(userConfigFile(terminal.env), "context", null);
  if (options.json) return writeJson(terminal, { removed: name });
  terminal.note(`${name} is forgotten; end its key with: ./yard keys api revoke ID`);
}

function keyFileOf(name: string, env: NodeJS.ProcessEnv): string {
  return join(dirname(userConfigFile(env)), "keys", `${name}.key`);
}

/** `switchyard-example-com`, or `localhost-8321`. */
function nameOf(http: string): string {
  const host = new URL(http).host.toLowerCase();
  return host
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 32);
}

async function keyOf(file: string | undefined, http: string): Promise<string> {
  if (file !== undefined && file !== "-") return readApiKey(file);
  if (file === "-" || !process.stdin.isTTY)
    return checkedApiKey(await textOrStandardInput("-"), "standard input");
  return checkedApiKey(await readSecret(`API key for ${http}: `), "what was typed");
}
