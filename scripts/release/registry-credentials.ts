import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

interface DockerConfig {
  readonly auths?: Readonly<Record<string, { readonly auth?: string }>>;
  readonly credsStore?: string;
  readonly credHelpers?: Readonly<Record<string, string>>;
}

/** Docker's own name of its registry. */
const HUB = "https://index.docker.io/v1/";

/** Returns `name:password` as `docker login` stored it for a registry in its file or with a credential helper; null: nothing is stored. */
export async function registryCredentials(host: string): Promise<string | null> {
  const folder = process.env["DOCKER_CONFIG"] ?? join(homedir(), ".docker");
  const text = await readFile(join(folder, "config.json"), "utf8").catch(() => "{}");
  const { auths, credsStore, credHelpers }: DockerConfig = JSON.parse(text);
  const key = host === "registry-1.docker.io" ? HUB : host;
  const helper = credHelpers?.[key] ?? credsStore;
  if (helper !== undefined) return await fromHelper(helper, key);
  const stored = auths?.[key]?.auth;
  return stored === undefined ? null : Buffer.from(stored, "base64").toString();
}

async function fromHelper(helper: string, key: string): Promise<string | null> {
  const asked = promisify(execFile)(`docker-credential-${helper}`, ["get"]);
  asked.child.stdin?.end(key);
  try {
    const found: { Username: string; Secret: string } = JSON.parse((await asked).stdout);
    return `${found.Username}:${found.Secret}`;
  } catch {
    return null;
  }
}
