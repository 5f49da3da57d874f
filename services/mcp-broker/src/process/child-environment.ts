import { access, constants, mkdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";

/**
 * What a stdio server gets of the broker's environment beside what its entry declares. All else stays away: it holds the keys
 * of models and of other servers. These say how a program runs on this machine and how it reaches the network.
 */
export const PASSED: readonly string[] = [
  ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"],
  ["TZ", "LANG", "LC_ALL", "LC_CTYPE"],
  // Proxies; both spellings are in use.
  ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"],
  ["http_proxy", "https_proxy", "all_proxy", "no_proxy"],
  // Certificate authorities, by the names that Node, OpenSSL, Python's requests, curl and npm read.
  ["NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "npm_config_cafile"],
  // Where npx and uvx get programs: another registry may have another program of the same name.
  ["npm_config_registry", "UV_DEFAULT_INDEX"],
].flat();

export interface ChildEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** The directory that was made for this server because the broker has no home of its own; null where HOME is the broker's. */
  readonly privateHome: string | null;
}

/**
 * The variables that a server's process begins with. HOME is always set, since programs without it write to a directory named
 * `~` or fail: it is the broker's where the broker may write there, else a directory of the server's own below `stateDir`.
 */
export async function childEnvironment({
  env,
  stateDir,
  server,
}: {
  env: Readonly<Record<string, string | undefined>>;
  stateDir: string;
  server: string;
}): Promise<ChildEnvironment> {
  const passed = PASSED.flatMap((name): [string, string][] => {
    const value = env[name];
    return value === undefined || value === "" ? [] : [[name, value]];
  });
  const variables = { PATH: "", ...Object.fromEntries(passed) };
  if (await isWritable(env["HOME"])) return { variables, privateHome: null };
  const privateHome = join(stateDir, "mcp-homes", server);
  await mkdir(privateHome, { recursive: true, mode: 0o700 });
  return { variables: { ...variables, HOME: privateHome }, privateHome };
}

async function isWritable(directory: string | undefined): Promise<boolean> {
  if (directory === undefined || !isAbsolute(directory)) return false;
  return access(directory, constants.W_OK).then(
    () => true,
    () => false,
  );
}
